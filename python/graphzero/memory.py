"""Where memory goes: what the process owns, what is page cache, what was read from devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphzero import _core
from graphzero._base.html import bars, card
from graphzero._base.memory_sizes import byte_text
from graphzero._files.mounted import Mounted, mounted


@dataclass(frozen=True)
class FileMemory:
    """How much of one mounted file is in the page cache.

    Attributes:
        path: The file.
        size: Its size in bytes.
        resident: Bytes of it in the page cache; ``None`` if the kernel does not say.
    """

    path: str
    size: int
    resident: int | None


@dataclass(frozen=True)
class MemoryReport:
    """Where memory goes. Sizes are in bytes; ``None`` stands for what this system does not say.

    Attributes:
        anonymous: What the process itself holds: what it can be killed for when memory runs out.
        file_backed: Pages of mapped files that count as RSS. The kernel can reclaim them.
        major_faults: How often a page had to be read from a device, since the process began.
        device_bytes_read: Bytes read from devices, since the process began.
        cgroup_limit: The memory limit of the control group; ``None`` if there is none.
        cgroup_used: What the control group uses of it.
        ram_total: The memory of the machine.
        ram_available: What is available of it.
        files: How much of each mounted file the page cache holds, whichever process read it.
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
            return "unknown" if count is None else byte_text(count)

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

    def _repr_html_(self) -> str:
        def share(part: int | None, whole: int) -> float:
            return 0.0 if part is None or not whole else part / whole

        total = self.ram_total
        drawn = [
            ("anonymous", share(self.anonymous, total), byte_text(self.anonymous)),
            ("mapped files", share(self.file_backed, total), byte_text(self.file_backed)),
            ("available", share(self.ram_available, total), f"{byte_text(self.ram_available)} of {byte_text(total)}"),
        ]
        if self.cgroup_limit is not None:
            used = "unknown" if self.cgroup_used is None else byte_text(self.cgroup_used)
            text = f"{used} of {byte_text(self.cgroup_limit)}"
            drawn.append(("control group", share(self.cgroup_used, self.cgroup_limit), text))
        for file in self.files:
            cached = "unknown" if file.resident is None else byte_text(file.resident)
            drawn.append((file.path, share(file.resident, file.size), f"{cached} of {byte_text(file.size)}"))
        return card("MemoryReport", "", bars(drawn))


def memory_report(*stores: Mounted[Any]) -> MemoryReport:
    """Return where memory goes: in this process, in the page cache, and on the machine.

    Args:
        stores: The mounted files to list. Default: all that are open.
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
