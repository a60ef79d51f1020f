"""Changes of pickles, opcode by opcode, so that most of the rest still loads."""

import pickletools

from fuzzing import byte_changes

NUMBERS = [0, 1, 2, 255, 256, 2**31 - 1, -1, -(2**31)]
WORDS = ["", "x", "cpu", "cuda:0", "meta", "0", "1", "99", "node", "edge_index", "numpy", "torch", "FloatStorage", "\n"]


def change(data, rng):
    """Return another pickle."""
    if rng.random() < 0.2:
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    parts = split(data)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if len(parts) < 4:
            break
        at = rng.randrange(1, len(parts) - 1)
        action = rng.randrange(6)
        if action == 0:
            del parts[at]
        elif action == 1:
            parts.insert(at, rng.choice(parts))
        elif action == 2:
            other = rng.randrange(1, len(parts) - 1)
            parts[at], parts[other] = parts[other], parts[at]
        else:
            wanted = [i for i, part in enumerate(parts) if part[:1] in b"KMJX\x8c" and part[:1] != b""] or [at]
            at = rng.choice(wanted)
            parts[at] = odd(rng)
    return b"".join(parts)


def split(data):
    """The opcodes with their arguments."""
    try:
        begins = [at for _, _, at in pickletools.genops(data)]
    except Exception:  # several pickles in a row, or none: as far as it goes
        begins = [0]
    return [data[begin:end] for begin, end in zip(begins, [*begins[1:], len(data)], strict=True)]


def odd(rng):
    """A number, a word or something else, as an opcode."""
    choice = rng.randrange(4)
    if choice == 0:
        return b"J" + rng.choice(NUMBERS).to_bytes(4, "little", signed=True)
    if choice == 1:
        text = rng.choice(WORDS).encode()
        return b"X" + len(text).to_bytes(4, "little") + text
    if choice == 2:
        value = rng.choice([2**62, 2**63 - 1, -(2**63), 2**100])
        size = (value.bit_length() + 8) // 8
        return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)
    return rng.choice([b"N", b"\x88", b"\x89", b"]", b"}", b")", b"G" + b"\x7f\xf8" + bytes(6), b"G?\xe0" + bytes(6)])
