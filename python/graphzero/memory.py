"""Honest memory: what the process owns, what is page cache, what the device was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphzero import _core
from graphzero._base.memory_sizes import byte_text
from graphzero._files.mounted import Mounted, mounted


@dataclass(frozen=True)
class FileMemory:
    """How much of one mounted file is in the page cache. ``None``: the kernel will not tell."""

    path: str
    size: int
    resident: int | None


@dataclass(frozen=True)
class MemoryReport:
    """All sizes in bytes. ``None``: this system does not tell.

    ``anonymous`` is what the process itself holds and what an out-of-memory kill is made of.
    ``file_backed`` are pages of mapped files that show in RSS; the kernel takes them back when memory
    is short. ``files`` tell how much of each mounted file the page cache holds, whoever read it.
    """

    anonymous: int
    file_backed: int
    major_faults: int
    device_bytes_read: int | None
    cgroup_limit: int | None
    cgroup_used: int | None
    ram_total: int
    ram_available: int
    files: tuple[FileMemory, ...]

    def __str__(self) -> str:
        def text(count: int | None) -> str:
            return "not told" if count is None else byte_text(count)

        group = "none" if self.cgroup_limit is None else f"{text(self.cgroup_used)} of {text(self.cgroup_limit)}"
        lines = [
            f"anonymous memory    {text(self.anonymous):>10}   owned by this process",
            f"mapped file pages   {text(self.file_backed):>10}   in RSS, but the kernel can take them back",
            f"read from device    {text(self.device_bytes_read):>10}   since start, {self.major_faults:,} major faults",
            f"RAM available       {text(self.ram_available):>10}   of {text(self.ram_total)}",
            f"cgroup limit        {group:>10}",
        ]
        for file in self.files:
            lines.append(f"{file.path}: {text(file.resident)} of {text(file.size)} in the page cache")
        return "\n".join(lines)


def memory_report(*stores: Mounted[Any]) -> MemoryReport:
    """Tell where memory goes: in this process, in the page cache, and on the machine.

    Lists the given stores, or every store that is mounted now.
    """
    facts = _core.memory_facts()
    listed = stores or tuple(sorted((store for store in mounted if not store.closed), key=lambda s: s.path))
    return MemoryReport(
        anonymous=facts.anonymous_rss,
        file_backed=facts.file_rss,
        major_faults=facts.major_faults,
        device_bytes_read=facts.device_bytes_read,
        cgroup_limit=facts.cgroup_limit,
        cgroup_used=facts.cgroup_used,
        ram_total=facts.ram_total,
        ram_available=facts.ram_available,
        files=tuple(FileMemory(store.path, store.nbytes, store.resident_bytes()) for store in listed),
    )
