"""Text: edge lists and tables of features with quotes, odd bytes, long lines and compression."""

import gzip
import lzma

import graphzero as gz
from fuzzing import byte_changes
from fuzzing.promises import REFUSED, attempt

# Text, and options that suit it.
EDGES = [
    (
        b"0,1\n0,2\n1,2\n3,0\n" * 4,
        [{}, {"header": False}, {"delimiter": ","}, {"duplicates": "drop"}, {"src": 1, "dst": 0}],
    ),
    (
        b"src,dst,weight,time\n0,1,0.5,3\n0,2,1e-3,4\n1,2,2,5\n3,0,.25,6\n",
        [{"weight": "weight", "time": "time"}, {"src": "src", "dst": "dst"}, {"bad_lines": "skip"}, {"header": True}],
    ),
    (b"# a comment\n0\t1\n0\t2\n7\t3\n", [{}, {"directed": False, "self_loops": "drop"}, {"ids": "dense"}]),
    (b'"a","b"\n"b","c, d"\n"a ""quoted""","e"\n', [{"ids": "map", "header": False}]),
    (b"0 1 0.5\n1 2 0.25\n2 0 0.125\n", [{"weight": 2}, {"weight": 2, "delimiter": " "}]),
    (
        b"alice;bob\nbob;carol\nd\xc3\xa9j\xc3\xa0;vu\n",
        [{"ids": "map", "header": False}, {"ids": "map", "header": True}],
    ),
]
ROWS = [
    (b"id,x,y\n0,1.5,2\n1,-3,4e2\n2,0.125,7\n", [{}, {"columns": ["x", "y"]}, {"id_column": "id"}]),
    (b"1.5,2\n-3,4e2\n0.125,7\n", [{"header": False}, {"bad_lines": "skip"}, {"columns": [0, 1]}]),
    (b"0 1 0.5\n1 2 0.25\n2 0 0.125\n", [{"delimiter": " "}, {"id_column": 0, "num_rows": 50}, {"columns": 2}]),
]
TYPES = ["float32", "float32", "float16", "int64", "int8-quantised"]
WORDS = [
    b"",
    b"0",
    b"-1",
    b"1",
    b"9" * 19,
    b"9" * 25,
    b"9" * 400,
    b"0.5",
    b"1e400",
    b"nan",
    b"inf",
    b"-0",
    b"+1",
    b"0x1",
]
WORDS += [
    b"1_0",
    b" 1 ",
    b"true",
    b"a",
    b'"',
    b'""',
    b'"1"',
    b'"a\nb"',
    b"'",
    b"\0",
    b"\xff\xfe",
    b"\xc3",
    b"\xe2\x80\xa8",
]
WORDS += [
    b"x" * 70_000,
    b"1," * 5000,
    b"#",
    b"%",
    b"\\",
    b"\r",
    b"\x1b[2J",
    "١".encode(),
    b"1e",
    b".",
    b"e5",
    b"2147483648",
]
DELIMITERS = [b",", b"\t", b" ", b";", b"|", b",,", b"\0"]


def change_text(data, rng):
    """Change words, delimiters or lines."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        delimiter = next((mark for mark in (b",", b"\t", b";", b" ") if mark in lines[at]), b",")
        words = lines[at].split(delimiter)
        action = rng.randrange(9)
        if action <= 3:
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            lines[at] = delimiter.join(words)
        elif action == 4:
            lines[at] = rng.choice(DELIMITERS).join(words)
        elif action == 5:
            lines.insert(at, rng.choice([b"", lines[at], b",", b"\r", b"# x", b'"', b"a,b,c,d,e,f", rng.randbytes(20)]))
        elif action == 6:
            data = rng.choice([b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b""])
            continue
        elif action == 7:
            copy = bytearray(data)
            byte_changes.change_once(copy, rng)
            data = bytes(copy)
            continue
        else:
            lines[at] = delimiter.join([*words, *words]) if rng.random() < 0.5 else delimiter.join(words[:-1])
        data = b"\n".join(lines)
    return data


class Target:
    """Text through both converters, plain or compressed."""

    def __init__(self, folder):
        self._folder = folder

    def __call__(self, rng):
        convert, texts = rng.choice([(_edges, EDGES), (_edges, EDGES), (_rows, ROWS)])
        text, options = rng.choice(texts)
        data = change_text(text, rng)
        ending = rng.choice(["", "", "", ".gz", ".xz"])
        if ending:
            data = gzip.compress(data, 1) if ending == ".gz" else lzma.compress(data, preset=0)
            if rng.random() < 0.3:
                copy = bytearray(data)
                byte_changes.change_once(copy, rng)
                data = bytes(copy)
        path = self._folder / f"mutated{rng.choice(['.csv', '.tsv', '.txt'])}{ending}"
        path.write_bytes(data)
        found = attempt(convert, path, rng, dict(rng.choice(options)))
        path.unlink()
        return "refused" if found is REFUSED else "read"


def _edges(path, rng, options):
    if rng.random() < 0.5 and "ids" not in options:
        options["num_nodes"] = 1000
    report = gz.convert_edges(path, "out.gl", memory="64MB", **options)
    with gz.Graph("out.gl", verify="full") as graph:
        assert report.num_edges == graph.num_edges


def _rows(path, rng, options):
    gz.convert_features(path, "out.gd", memory="64MB", dtype=rng.choice(TYPES), **options)
    gz.FeatureStore("out.gd", verify="full").close()
