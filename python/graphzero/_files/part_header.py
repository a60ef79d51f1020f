"""What the first page of a part of an index says: docs/formats/part.md."""

from __future__ import annotations

from dataclasses import dataclass

MAGIC = b"GRAPHZIP"
HEADER_BYTES = 128


@dataclass(frozen=True)
class PartHeader:
    """Which nodes a part has, and of which graph: its sources and destinations, and the edges that it was made from."""

    fingerprint: int
    size: int
    begin: int
    end: int
    edges: int
    num_duplicates: int
    num_nodes: tuple[int, int]
    num_rows: int


def part_header(page: bytes) -> PartHeader:
    """Return what the first bytes of a file say; its checksum is not proven."""
    fingerprint, size, _, _, _, _, first, count, edges, duplicates, _, src, dst, rows = (
        int.from_bytes(page[at : at + 8], "little") for at in range(16, HEADER_BYTES, 8)
    )
    return PartHeader(fingerprint, size, first, first + count, edges, duplicates, (src, dst), rows)
