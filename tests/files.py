"""The file formats, read and written the slow way: from docs/formats alone, without our code."""

import os
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xxhash

PAGE = 4096
MAGIC = {"gl": b"GRAPHZGL", "gd": b"GRAPHZGD"}
VERSION = 1
BYTE_ORDER = 0x01020304
FIELDS, TABLE, ENTRY = 64, 256, 40
DIRECTED, BIPARTITE = 1, 2
REQUIRED = 1
DATA, SCALE, ROW_MAP = GD_KINDS = 1, 2, 3

DTYPES = ("int32", "int64", "float32", "float64", "float16", "bfloat16", "int8", "int16", "uint8", "bool")
STORED = {name: np.dtype("uint16" if name == "bfloat16" else name) for name in DTYPES}

ROLES = ("indptr", "indices", "edge_ids", "weights", "times")  # what an index shows
KINDS = {
    f"{side}_{role}": base + i
    for side, base in (("out", 1), ("in", 17))
    for i, role in enumerate((*ROLES, "weight_sums"))
}
NAMES = {kind: name for name, kind in KINDS.items()}

# Where the fields of the header page are, and how to pack them.
HEADER = {
    "magic": (0, "8s"),
    "version": (8, "<I"),
    "byte_order": (12, "<I"),
    "header_checksum": (16, "<Q"),
    "file_size": (24, "<Q"),
    "num_sections": (32, "<I"),
    "flags": (36, "<I"),
    "reserved": (40, "24s"),
}
ENTRY_FIELDS = {
    "kind": (0, "<I"),
    "dtype": (4, "<I"),
    "flags": (8, "<I"),
    "reserved": (12, "<I"),
    "offset": (16, "<Q"),
    "length": (24, "<Q"),
    "checksum": (32, "<Q"),
}
GL_FIELDS = {
    "num_src_nodes": (64, "<Q"),
    "num_dst_nodes": (72, "<Q"),
    "num_edges": (80, "<Q"),
    "num_input_edges": (88, "<Q"),
}
GD_FIELDS = {"dtype": (64, "<I"), "num_dimensions": (68, "<I"), **{f"shape{i}": (72 + 8 * i, "<Q") for i in range(16)}}


class BadFile(Exception):
    """What this reader says where graphzero says FormatError."""


def expect(holds, what):
    if not holds:
        raise BadFile(what)


@dataclass
class Section:
    """One section. ``checksum`` is computed unless it is given, ``length`` only if the data is sparse."""

    kind: int
    dtype: str
    data: bytes = b""
    flags: int = REQUIRED
    checksum: int | None = None
    length: int | None = None
    offset: int = 0

    def __post_init__(self):
        if self.length is None:
            self.length = len(self.data)
        if self.checksum is None:
            self.checksum = xxh64(self.data)


@dataclass
class Container:
    magic: bytes
    flags: int
    fields: bytes
    sections: list[Section] = field(default_factory=list)

    def section(self, kind):
        return next((section for section in self.sections if section.kind == kind), None)


def xxh64(data):
    return xxhash.xxh64_intdigest(bytes(data), seed=0)


def round_up(position):
    return -(-position // PAGE) * PAGE


def header_checksum(page):
    return xxh64(page[:16] + bytes(8) + page[24:PAGE])


def sign(data):
    """Put the right header checksum into a file's bytes."""
    struct.pack_into("<Q", data, 16, header_checksum(bytes(data[:PAGE])))
    return data


def header_page(container):
    """The first page; gives every section its place on the way."""
    page = bytearray(PAGE)
    end = PAGE
    for i, section in enumerate(container.sections):
        section.offset = end
        entry = (
            section.kind,
            DTYPES.index(section.dtype),
            section.flags,
            0,
            section.offset,
            section.length,
            section.checksum,
        )
        struct.pack_into("<IIIIQQQ", page, TABLE + i * ENTRY, *entry)
        end = round_up(section.offset + section.length)
    struct.pack_into(
        "<8sIIQQII", page, 0, container.magic, VERSION, BYTE_ORDER, 0, end, len(container.sections), container.flags
    )
    page[FIELDS : FIELDS + len(container.fields)] = container.fields
    return sign(page), end


def build(container):
    """The bytes of a whole file."""
    page, end = header_page(container)
    data = bytearray(end)
    data[:PAGE] = page
    for section in container.sections:
        data[section.offset : section.offset + section.length] = section.data
    return data


def write_sparse(path, container, pieces):
    """Write a file of any size that takes no room: holes, but for ``pieces`` {(kind, byte): array}."""
    page, end = header_page(container)
    with open(path, "wb") as file:
        file.truncate(end)
        file.write(page)
        for (kind, at), array in pieces.items():
            file.seek(container.section(kind).offset + at)
            file.write(array.tobytes())


def gl(arrays, *, num_nodes, num_input_edges, flags=DIRECTED, num_edges=None):
    """A .gl as a container. ``arrays`` are named ``out_indptr``, ``in_weights`` … and stored in that order."""
    num_src, num_dst = num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)
    if num_edges is None:
        num_edges = next(len(array) for name, array in arrays.items() if name.endswith("indices"))
    sections = [
        Section(KINDS[name], array.dtype.name, array.tobytes(), 0 if name.endswith("weight_sums") else REQUIRED)
        for name, array in arrays.items()
    ]
    return Container(MAGIC["gl"], flags, struct.pack("<QQQQ", num_src, num_dst, num_edges, num_input_edges), sections)


def gd(array, dtype=None, scales=None, row_map=None):
    """A .gd as a container. bfloat16 comes as uint16 with ``dtype="bfloat16"``; ``scales`` make it quantised.

    ``array`` and ``scales`` are as they are stored; ``row_map``, an array, tells where the row of each id is.
    """
    name = dtype or array.dtype.name
    fields = struct.pack(f"<II{array.ndim}Q", DTYPES.index(name), array.ndim, *array.shape)
    sections = [Section(DATA, name, array.tobytes())]
    if scales is not None:
        sections.append(Section(SCALE, "float32", np.asarray(scales, np.float32).tobytes()))
    if row_map is not None:
        sections.append(Section(ROW_MAP, row_map.dtype.name, row_map.tobytes()))
    return Container(MAGIC["gd"], 0, fields, sections)


def parse(data, magic, known):
    """Read the container of a file's bytes, checking invariants C1 to C17."""
    expect(len(data) >= PAGE, "C1")
    page = bytes(data[:PAGE])
    found, version, byte_order, checksum, file_size, count, flags = struct.unpack_from("<8sIIQQII", page)
    expect(found == magic, "C2")
    expect(byte_order == BYTE_ORDER, "C3")
    expect(version == VERSION, "C4")
    expect(checksum == header_checksum(page), "C5")
    expect(file_size == len(data), "C6")
    expect(count <= 64, "C7")
    expect(not any(page[40:FIELDS]), "C8")
    expect(not any(page[TABLE + count * ENTRY :]), "C9")
    container = Container(magic, flags, page[FIELDS:TABLE])
    end = PAGE
    for i in range(count):
        kind, dtype, entry_flags, reserved, offset, length, checksum = struct.unpack_from(
            "<IIIIQQQ", page, TABLE + i * ENTRY
        )
        expect(reserved == 0, "C10")
        expect(entry_flags in (0, REQUIRED), "C11")
        expect(kind in known or entry_flags == 0, "C12")
        expect(dtype < len(DTYPES) or kind not in known, "C13")
        expect(offset == end, "C14")
        expect(offset + length <= file_size, "C15")
        expect(container.section(kind) is None, "C16")
        name = DTYPES[dtype] if dtype < len(DTYPES) else "uint8"
        content = bytes(data[offset : offset + length])
        container.sections.append(Section(kind, name, content, entry_flags, checksum, length, offset))
        end = round_up(offset + length)
    expect(end == file_size, "C17")
    return container


@dataclass
class Gl:
    num_src_nodes: int
    num_dst_nodes: int
    num_edges: int
    num_input_edges: int
    directed: bool
    bipartite: bool
    arrays: dict


def read_gl(data):
    """Read the bytes of a .gl, checking the O(1) invariants of docs/formats/gl.md."""
    container = parse(data, MAGIC["gl"], NAMES)
    num_src, num_dst, num_edges, num_input = struct.unpack_from("<QQQQ", container.fields)
    directed, bipartite = bool(container.flags & DIRECTED), bool(container.flags & BIPARTITE)
    expect(container.flags <= DIRECTED + BIPARTITE, "GL1")
    expect(directed or not bipartite, "GL2")
    expect(max(num_src, num_dst, num_edges, num_input) <= 2**59, "GL3")
    expect(bipartite or num_src == num_dst, "GL4")
    expect(num_edges <= num_input * (1 if directed else 2), "GL5")
    expect(not any(container.fields[32:]), "GL6")
    sections = {NAMES[section.kind]: section for section in container.sections if section.kind in NAMES}
    for role, num_ids in (("indices", max(num_src, num_dst)), ("edge_ids", num_input)):
        dtypes = {section.dtype for name, section in sections.items() if name.endswith(role)}
        expect(dtypes <= {"int32", "int64"} and len(dtypes) <= 1, "GL7")
        expect("int32" not in dtypes or num_ids <= 2**31, "GL8")
    for name, section in sections.items():
        role = name.split("_", 1)[1]
        wanted = {"indptr": "int64", "weights": "float32", "times": "int64", "weight_sums": "float64"}
        expect(section.dtype == wanted.get(role, section.dtype), "GL9")
        num_lists = num_src if name.startswith("out") else num_dst
        count = {"indptr": num_lists + 1, "weight_sums": -(-num_edges // 16)}.get(role, num_edges)
        expect(section.length == count * STORED[section.dtype].itemsize, "GL10")
    sides = [side for side in ("out", "in") if any(name.startswith(side) for name in sections)]
    for side in sides:
        expect(f"{side}_indptr" in sections and f"{side}_indices" in sections, "GL11")
        expect(f"{side}_edge_ids" in sections or num_edges <= num_input, "GL15")
        expect(f"{side}_weights" in sections or f"{side}_weight_sums" not in sections, "GL26")
    expect(sides, "GL12")
    expect(directed or sides == ["out"], "GL13")
    for role in ("weights", "times", "weight_sums"):
        expect(len({f"{side}_{role}" in sections for side in sides}) == 1, "GL14")
    arrays = {name: np.frombuffer(section.data, STORED[section.dtype]) for name, section in sections.items()}
    return Gl(num_src, num_dst, num_edges, num_input, directed, bipartite, arrays)


def read_gd(data):
    """Read the bytes of a .gd, checking the O(1) invariants of docs/formats/gd.md: (dtype name, stored array)."""
    container = parse(data, MAGIC["gd"], GD_KINDS)
    code, num_dimensions = struct.unpack_from("<II", container.fields)
    expect(container.flags == 0, "GD1")
    expect(code < len(DTYPES), "GD2")
    expect(1 <= num_dimensions <= 16, "GD3")
    expect(not any(container.fields[8 + 8 * num_dimensions :]), "GD4")
    shape = struct.unpack_from(f"<{num_dimensions}Q", container.fields, 8)
    dtype = DTYPES[code]
    size = bound = STORED[dtype].itemsize
    for extent in shape:
        size, bound = size * extent, bound * max(extent, 1)
    expect(bound <= 2**62, "GD5")
    section = container.section(DATA)
    expect(section is not None, "GD6")
    expect(section.dtype == dtype, "GD7")
    expect(section.length == size, "GD8")
    scale = container.section(SCALE)
    if scale is not None:
        expect(dtype == "int8", "GD10")
        expect(scale.dtype == "float32", "GD11")
        expect(scale.length == 4 * shape[0], "GD12")
    row_map = container.section(ROW_MAP)
    if row_map is not None:
        expect(row_map.dtype == "int64" or (row_map.dtype == "int32" and shape[0] <= 2**31), "GD14")
        expect(row_map.length == STORED[row_map.dtype].itemsize * shape[0], "GD15")
    return dtype, np.frombuffer(section.data, STORED[dtype]).reshape(shape)


def read_scales(data):
    """The stored scales of a .gd that ``read_gd`` has read; None if it is not quantised."""
    section = parse(data, MAGIC["gd"], GD_KINDS).section(SCALE)
    return None if section is None else np.frombuffer(section.data, np.float32)


def read_row_map(data):
    """The row map of a .gd that ``read_gd`` has read; None if it has none."""
    section = parse(data, MAGIC["gd"], GD_KINDS).section(ROW_MAP)
    return None if section is None else np.frombuffer(section.data, STORED[section.dtype])


def read_graphzero02_gl(data):
    """Read the bytes of a GraphZero 0.2 .gl, checking ZL1 to ZL7."""
    expect(len(data) >= 64, "ZL1")
    size_indptr, size_indices, at_indptr, at_indices, num_nodes, num_edges, flags = struct.unpack_from("<7Q", data, 8)
    expect(max(num_nodes, num_edges) <= 2**59, "ZL2")
    expect(size_indptr == 8 * (num_nodes + 1), "ZL3")
    expect(size_indices == 8 * num_edges, "ZL4")
    expect(at_indptr == 64, "ZL5")
    expect(at_indices == -(-(64 + size_indptr) // 64) * 64, "ZL6")
    end = at_indices + size_indices
    if flags & 1:
        at_weights = -(-end // 64) * 64
        end = at_weights + 4 * num_edges
    expect(len(data) == end, "ZL7")
    arrays = {
        "out_indptr": np.frombuffer(data, np.int64, num_nodes + 1, 64),
        "out_indices": np.frombuffer(data[at_indices:], np.int64, num_edges),
    }
    if flags & 1:
        arrays["out_weights"] = np.frombuffer(data[at_weights:], np.float32, num_edges)
    return Gl(num_nodes, num_nodes, num_edges, num_edges, True, False, arrays)


def read_graphzero02_gd(data):
    """Read the bytes of a GraphZero 0.2 .gd, checking ZD1 to ZD4: (dtype name, array)."""
    expect(len(data) >= 32, "ZD1")
    code, num_nodes, feature_dim = struct.unpack_from("<iQQ", data, 12)
    expect(0 <= code <= 3, "ZD2")
    dtype = DTYPES[code]
    itemsize = STORED[dtype].itemsize
    expect(itemsize * max(num_nodes, 1) * max(feature_dim, 1) <= 2**62, "ZD3")
    expect(len(data) == 32 + itemsize * num_nodes * feature_dim, "ZD4")
    return dtype, np.frombuffer(data[32:], STORED[dtype]).reshape(num_nodes, feature_dim)


def graphzero02_gl(indptr, indices, weights=None):
    """The bytes of a GraphZero 0.2 .gl."""
    at_indices = -(-(64 + 8 * len(indptr)) // 64) * 64
    sizes = (8 * len(indptr), 8 * len(indices), 64, at_indices, len(indptr) - 1, len(indices), int(weights is not None))
    data = struct.pack("<8s7Q", b"graphlit", *sizes) + np.asarray(indptr, np.int64).tobytes()
    data = data.ljust(at_indices, b"\0") + np.asarray(indices, np.int64).tobytes()
    if weights is not None:
        data = data.ljust(-(-len(data) // 64) * 64, b"\0") + np.asarray(weights, np.float32).tobytes()
    return data


def patched(data, changes, *, resign=True):
    """A copy of a file's bytes with ``changes`` {(offset, format): value} and a header checksum to match."""
    copy = bytearray(data)
    for (offset, code), value in changes.items():
        struct.pack_into(code, copy, offset, value)
    return sign(copy) if resign else copy


def entry_field(i, name):
    """Where field ``name`` of the ``i``-th table entry is, for ``patched``."""
    offset, code = ENTRY_FIELDS[name]
    return TABLE + i * ENTRY + offset, code


def reseal(data):
    """Give every section the checksum its bytes have now, then sign: damage that only a full check finds."""
    copy = bytearray(data)
    for i in range(struct.unpack_from("<I", copy, 32)[0]):
        offset, length = struct.unpack_from("<QQ", copy, TABLE + i * ENTRY + 16)
        struct.pack_into("<Q", copy, TABLE + i * ENTRY + 32, xxh64(copy[offset : offset + length]))
    return sign(copy)


@dataclass
class Broken:
    """One way to be wrong: the invariant it breaks, the bytes, and what the error must say."""

    invariant: str
    what: str
    data: bytes
    message: str

    def __str__(self):
        return f"{self.invariant}: {self.what}"


DOCS = Path(__file__).parent.parent / "docs" / "formats"


def invariants(page, kind):
    """The numbers of the invariants a format page marks as ``O(1)`` or ``full``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^- \*\*([A-Z]+[0-9]+)\*\* \({re.escape(kind)}\)", text, re.MULTILINE)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return os.fspath(path)
