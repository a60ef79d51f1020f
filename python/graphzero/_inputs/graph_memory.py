"""The graph beside the rows: what sampling reads through the page cache, and whether there is room for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from graphzero import _core
from graphzero._base.memory_sizes import byte_text, pipeline_budget, reserved_beside
from graphzero._inputs.attributes import Attribute
from graphzero._inputs.sample_request import SampleRequest
from graphzero.graph import as_direction

_log = logging.getLogger("graphzero")
_noted: set[tuple[str, ...]] = set()  # the graphs that this process has been told about
_STEP = 16 << 20  # bytes that are asked for at once: some milliseconds


@dataclass(frozen=True)
class _Part:
    """An array of a topology that is drawn from: an index of one direction, and what else batches need of it."""

    graph: _core.Topology
    offset: int
    length: int


def topology_bytes(sample: SampleRequest, attributes: Collection[Attribute]) -> int:
    """Return the size of all that is drawn from."""
    return sum(part.length for part in _parts(sample, attributes))


def resident_topology(sample: SampleRequest, attributes: Collection[Attribute]) -> int | None:
    """Return how much of it is in the page cache; ``None`` if the kernel does not say."""
    total = 0
    for part in _parts(sample, attributes):
        found = part.graph.resident_part(part.offset, part.length)
        if found is None:
            return None
        total += found
    return total


def page_cache_needed(sample: SampleRequest, attributes: Collection[Attribute]) -> int:
    """Return the page cache that sampling needs here: the topology, and where its rows are stored.

    A page counts in the control group that read it first, so what others brought into memory is not ours to hold.
    """
    needed = topology_bytes(sample, attributes) + sum(attribute.store._core.lookup_bytes for attribute in attributes)
    own = _core.memory_facts().cgroup_page_cache
    if own is None:
        return needed
    return needed - max(0, (resident_topology(sample, attributes) or 0) - own)


def has_room(sample: SampleRequest, attributes: Collection[Attribute], memory: int) -> bool:
    """Return whether all that sampling reads fits beside ``memory`` bytes of rows; if not, say so once."""
    available = _core.available_memory()
    needed = page_cache_needed(sample, attributes)
    missing = needed + memory + reserved_beside(available) - available
    if missing <= 0:
        return True
    paths = tuple(graph.path for graph in sample.relations.graphs.values())
    if paths in _noted:
        return False
    _noted.add(paths)
    here = "this control group" if available < _core.memory_facts().ram_available else "this machine"
    less = pipeline_budget(needed)
    advice = f"give memory='{byte_text(less)}', or " if less < 0.95 * memory else ""
    if memory > available:
        problem = (
            f"memory: rows may take {byte_text(memory)}, more than the {byte_text(available)} that {here} has left: "
            "the process may be killed for that"
        )
    else:
        problem = (
            f"{', '.join(paths)}: sampling reads {byte_text(needed)} through the page cache, topology and row maps, "
            f"but rows may take {byte_text(memory)} of the {byte_text(available)} that {here} has left: what does not "
            "fit is read from the device again and again, which makes batches several times slower"
        )
    _log.warning("%s; %slet %s have %s more", problem, advice, here, byte_text(missing))
    return False


def read_ahead(sample: SampleRequest, attributes: Collection[Attribute], is_over: Callable[[], bool]) -> None:
    """Have the topology read into the page cache from one end to the other, beside what goes on, until ``is_over``.

    Batches that find nothing there would read all of it, too, but page by page. Nothing happens if most is there.
    """
    resident, parts = resident_topology(sample, attributes), _parts(sample, attributes)
    if resident is None or resident > 0.9 * topology_bytes(sample, attributes):
        return

    def request() -> None:
        for part in parts:
            for begin in range(0, part.length, _STEP):
                if is_over():
                    return
                part.graph.request_part(part.offset + begin, min(_STEP, part.length - begin))

    threading.Thread(target=request, name="graphzero topology", daemon=True).start()


def _parts(sample: SampleRequest, attributes: Collection[Attribute]) -> list[_Part]:
    direction = as_direction(sample.direction)
    with_ids = {attribute.of for attribute in attributes}  # rows of edges are found by their ids
    if sample.subgraph_type == "bidirectional":
        with_ids.update(sample.relations.graphs)
    parts = []
    for triple, graph in sample.relations.graphs.items():
        if any(sample.fanouts.by_type[triple]) and graph._core.has(direction):
            arrays = graph._core.drawn_from(
                direction, triple in with_ids, triple in sample.weighted, triple in sample.edge_time
            )
            parts += [_Part(graph._core, *array) for array in arrays]
    return parts
