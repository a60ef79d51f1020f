"""Changes of trees of lists, dicts and plain values: what JSON, YAML and checkpoints hold."""

import copy

NESTED = 2000  # levels, deeper than Python likes to go
NAMES = [
    "",
    ".",
    "..",
    "../x",
    "/etc/hostname",
    "a\0b",
    "a\nb",
    "x" * 5000,
    "\x1b[31m",
    "é",
    "\ud800",
    "node",
    "x",
    "%",
]
NUMBERS = [0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**53 + 1, 2**59, 2**59 + 1, 2**63 - 1, 2**63, 2**64, 2**70, -(2**63)]
REALS = [0.5, -0.0, 1e300, 5e-324, 1e16]
PLAIN = [None, True, False, [], {}, [[]], [None], {"": None}, {"file": "x"}, ["a", "b", "c"]]
PLAIN += ["0x0123456789abcdef", "0", "-1", "1e3", "nan", "int64", "bool", 10**30, 10**400]


def odd_value(rng, old, tree):
    """Something that is not where ``old`` was expected, or hardly."""
    choice = rng.randrange(10)
    if choice == 0 and isinstance(old, int):
        return old + rng.choice([-1, 1, 2**40])
    if choice == 1 and isinstance(old, (list, tuple)) and old:
        return rng.choice([old[:-1], [*old, old[0]], [*old, *old], list(reversed(old)), tuple(old)])
    if choice == 2 and isinstance(old, dict) and old:
        return rng.choice([list(old), list(old.values()), dict.fromkeys(old, old)])
    if choice == 3 and isinstance(old, str):
        return rng.choice([old + "x", old[:-1], old.upper(), "./" + old, old + "/", f"x/../{old}", old + "\0"])
    if choice == 4:
        return copy.deepcopy(rng.choice(list(places(tree)))[2])  # from elsewhere in the tree
    if choice == 5 and rng.random() < 0.2:
        value = []
        for _ in range(NESTED):
            value = [value] if rng.random() < 0.9 else {"a": value}
        return value
    return rng.choice([rng.choice(NAMES), rng.choice(NUMBERS), rng.choice(REALS), copy.deepcopy(rng.choice(PLAIN))])


def places(tree):
    """Walk over (parent, key, value) of everything below the top."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key, value
        if isinstance(value, (dict, list)):
            yield from places(value)


def change(tree, rng):
    """Return a tree that differs in a few places."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        there = list(places(tree))
        if not there:
            return tree
        parent, key, value = rng.choice(there)
        action = rng.randrange(8)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[rng.choice([*NAMES[:9], "x", "y", "num_nodes"])] = parent.pop(key)
        elif action == 2:
            parent_of = rng.choice(there)
            parent_of[0][parent_of[1]] = copy.deepcopy(value)
        else:
            parent[key] = odd_value(rng, value, tree)
        if _depth(tree) > NESTED // 2:
            return tree  # it cannot be walked over again
    return tree


def _depth(tree):
    level, depth = [tree], 0
    while level:
        level = [item for part in level if isinstance(part, (dict, list)) for item in _items(part)]
        depth += 1
    return depth


def _items(part):
    return part.values() if isinstance(part, dict) else part
