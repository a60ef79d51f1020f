"""Changes of bytes: of any file, and of our containers, whose checksums are made right again."""

import struct

import files

VALUES = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 40, 64, 65, 4095, 4096, 4097, 8192, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]
VALUES += [2**32, 2**59, 2**59 + 1, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1]


def is_container(data):
    """Whether it begins as our files do."""
    return data[:6] == b"GRAPHZ"


def change(data, rng):
    """Return another file, and whether it is a container whose header was signed anew."""
    ours = is_container(data)
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change_once(data, rng, ours)
    forged = ours and len(data) >= files.PAGE and rng.random() < 0.7
    if forged:
        if rng.random() < 0.5:
            struct.pack_into("<Q", data, 24, len(data))
        num_sections = struct.unpack_from("<I", data, 32)[0]
        if rng.random() < 0.5 and num_sections <= 64:
            data = files.reseal(data)
        files.sign(data)
    return bytes(data), forged


def change_contents(data, rng):
    """Return a container whose header is as it was and whose numbers are not: what only a full check finds."""
    copy = bytearray(data)
    num_sections = struct.unpack_from("<I", copy, 32)[0]
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = files.TABLE + files.ENTRY * rng.randrange(num_sections)
        dtype = struct.unpack_from("<I", copy, at + 4)[0]
        offset, length = struct.unpack_from("<QQ", copy, at + 16)
        size = files.STORED[files.DTYPES[dtype]].itemsize
        if length < size:
            continue
        place = offset + rng.choice([0, length // size - 1, rng.randrange(length // size)]) * size
        old = int.from_bytes(copy[place : place + size], "little")
        few = rng.randrange(50)
        value = rng.choice([*VALUES, old + 1, old - 1, old * 2, old ^ 1 << 8 * size - 1, few, -few]) % (1 << 8 * size)
        copy[place : place + size] = value.to_bytes(size, "little")
    return bytes(files.reseal(copy))


def change_once(data, rng, ours=False):
    """Change something, more often where it matters: the header, the table, the start of a section."""
    if not data:
        return
    if ours and rng.random() < 0.6:
        area = rng.choice([(0, 64), (64, 128), (256, 256 + 40 * 12)])
    elif ours and rng.random() < 0.7:
        start = rng.randrange(1, max(2, len(data) // 4096)) * 4096
        area = (start, start + 128)
    else:
        area = (0, len(data))
    begin = min(area[0], len(data) - 1)
    at = rng.randrange(begin, max(begin + 1, min(area[1], len(data))))
    action = rng.randrange(8)
    if action <= 1:
        data[at] ^= 1 << rng.randrange(8)
    elif action <= 4:
        size = rng.choice([4, 8])
        at = at // size * size
        old = int.from_bytes(data[at : at + size], "little")
        value = rng.choice([*VALUES, old + 1, old - 1, old * 2, old + 4096, len(data)]) % (1 << 8 * size)
        data[at : at + size] = value.to_bytes(size, "little")[: len(data) - at]
    elif action == 5:
        length = min(rng.choice([1, 8, 40, 4096]), len(data) - at)
        data[at : at + length] = rng.choice([bytes(length), rng.randbytes(length)])
    elif action == 6:
        length = rng.choice([0, at, len(data) - 1, len(data) // 4096 * 4096 - 4096, len(data) + 1, len(data) + 4096])
        del data[max(0, length) :]
        data.extend(bytes(max(0, length - len(data))))
    elif ours:
        source, target = 256 + 40 * rng.randrange(12), 256 + 40 * rng.randrange(12)
        if len(data) > 4096:
            data[target : target + 40] = data[source : source + 40]
    else:
        length = rng.choice([1, 2, 8, 40])
        source = rng.randrange(len(data))
        data[at : at + rng.choice([0, length])] = data[source : source + length]
