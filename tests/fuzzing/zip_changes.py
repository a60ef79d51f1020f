"""Changes of zip files, ``.npz`` and ``.pt``: of a member, with sizes and checksums to match, or of the directory."""

import io
import zipfile

from fuzzing import byte_changes


def change(data, rng, change_member):
    """Return another zip file. ``change_member(name, data, rng)`` returns other contents of a member."""
    choice = rng.random()
    if choice < 0.15:
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info), info.compress_type) for info in archive.infolist()]
    victim = rng.randrange(len(members))
    name, content, method = members[victim]
    if choice < 0.8:
        members[victim] = (name, change_member(name, content, rng), method)
    elif choice < 0.85:
        del members[victim]
    elif choice < 0.9:
        members.append((name, rng.choice(members)[1], method))
    elif choice < 0.94:
        members[victim] = (rng.choice(["../x.npy", "/x", "", "a" * 300, "x.npy", name.upper()]), content, method)
    elif choice < 0.97:
        members[victim] = (name, content, rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    else:
        members[victim] = (name, content + bytes(rng.choice([1 << 10, 1 << 24])), zipfile.ZIP_DEFLATED)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for filename, content, method in members:
            archive.writestr(zipfile.ZipInfo(filename), content, method)
    return target.getvalue()
