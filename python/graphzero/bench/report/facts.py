"""The machine and the conditions of a run, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero.bench.report.markup import Markup
from graphzero.bench.report.number_text import bytes_text, seconds_text
from graphzero.bench.report.readings import Part, mapping, number
from graphzero.bench.report.tables import bytes_fact, facts_table


def machine_table(document: Mapping[str, Any]) -> Markup | None:
    """Return what the run had to work with."""
    machine = mapping(document, "machine")
    groups = machine.get("control_groups")
    version = machine.get("cgroup_version")
    return facts_table(
        "Machine",
        [
            ("CPU", machine.get("cpu")),
            ("Architecture", machine.get("architecture")),
            ("Cores", machine.get("cores")),
            ("Memory", bytes_fact(machine, "ram_bytes")),
            ("Available at the start", bytes_fact(machine, "ram_available_bytes")),
            ("free", _free(machine.get("free"))),
            ("Kernel", machine.get("kernel")),
            ("System", machine.get("os")),
            ("Control groups", f"version {version}" if version is not None else None),
            ("Memory caps", "enforced by the kernel" if groups is True else groups),
        ],
    )


def _free(free: Any) -> str | None:
    if isinstance(free, Mapping):
        return ", ".join(f"{name} {bytes_fact(free, name) or 'not known'}" for name in free)
    return None if free is None else str(free)


def disk_table(document: Mapping[str, Any]) -> Markup | None:
    """Return where the data lay."""
    disk = mapping(mapping(document, "machine"), "disk")
    ahead, rotational = number(disk, "read_ahead_kb"), disk.get("rotational")
    return facts_table(
        "Disk",
        [
            ("Device", disk.get("device")),
            ("Model", disk.get("model")),
            ("Kind", None if rotational is None else "rotating" if rotational else "solid state"),
            ("File system", disk.get("file_system")),
            ("Read-ahead", None if ahead is None else bytes_text(ahead * 1024)),
            ("Free", bytes_fact(disk, "free_bytes")),
        ],
    )


def data_table(document: Mapping[str, Any]) -> Markup | None:
    """Return what was measured on."""
    data = mapping(document, "data")
    made = number(data, "seconds_to_make")
    return facts_table(
        "Data",
        [
            ("Path", data.get("path")),
            ("Kind", data.get("kind")),
            ("Nodes", _whole(data, "num_nodes")),
            ("Edges", _whole(data, "num_edges")),
            ("Features of a node", _whole(data, "num_features")),
            ("Type of a feature", data.get("feature_dtype")),
            ("Classes", _whole(data, "num_classes")),
            ("Size of the features", bytes_fact(data, "feature_bytes")),
            ("Size of the graph", bytes_fact(data, "graph_bytes")),
            ("Time to make it", None if made is None else seconds_text(made)),
        ],
    )


def _whole(facts: Mapping[str, Any], name: str) -> str | None:
    value = number(facts, name)
    return None if value is None else f"{value:,.0f}"


def settings_table(document: Mapping[str, Any]) -> Markup | None:
    """Return the options of the run."""
    settings = dict(mapping(document, "settings"))
    caps = settings.pop("caps", None)
    if isinstance(caps, list):
        settings["caps"] = ", ".join(f"{cap} %" for cap in caps) + " of the features" if caps else "none"
    return facts_table("Settings", [(name.replace("_", " ").capitalize(), value) for name, value in settings.items()])


def versions_table(document: Mapping[str, Any]) -> Markup | None:
    """Return what was measured with; what is not installed is told."""
    versions = mapping(document, "versions")
    absent = {"commit": "not known"}
    return facts_table(
        "Versions",
        [(name, absent.get(name, "not installed") if value is None else value) for name, value in versions.items()],
    )


def cache_table(parts: list[Part]) -> Markup | None:
    """Return how much of the data files was in the page cache before and after each part."""
    facts = []
    for part in parts:
        before, after = bytes_fact(part, "resident_before"), bytes_fact(part, "resident_after")
        if before is not None or after is not None:
            facts.append((str(part.get("name")), f"{before or 'not known'} before, {after or 'not known'} after"))
    return facts_table("Data files in the page cache", facts)
