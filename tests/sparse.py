"""Files of any size that take no room on the disk: valid headers over holes."""

import struct

import numpy as np

import files


def write_sparse_gd(path, *, shape, dtype):
    """A .gd whose items are all zero."""
    fields = struct.pack(f"<II{len(shape)}Q", files.DTYPES.index(dtype), len(shape), *shape)
    length = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    section = files.Section(files.DATA, dtype, length=length, checksum=0)
    files.write_sparse(path, files.Container(files.MAGIC["gd"], 0, fields, [section]), {})


def write_sparse_gl(path, *, num_nodes, num_edges):
    """A .gl in whose only list, that of the last node, all neighbours are 0."""
    width = "int32" if num_nodes <= 2**31 else "int64"
    sections = [
        files.Section(files.KINDS["out_indptr"], "int64", length=8 * (num_nodes + 1), checksum=0),
        files.Section(files.KINDS["out_indices"], width, length=num_edges * np.dtype(width).itemsize, checksum=0),
    ]
    fields = struct.pack("<QQQQ", num_nodes, num_nodes, num_edges, num_edges)
    container = files.Container(files.MAGIC["gl"], files.DIRECTED, fields, sections)
    last = {(files.KINDS["out_indptr"], 8 * num_nodes): np.array([num_edges], dtype=np.int64)}
    files.write_sparse(path, container, last)
