"""The demo from its beginning to its end: makes a data set, trains on it in little memory, and shows that it was so."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphzero import _core
from graphzero._base.memory_sizes import byte_text
from graphzero._tools.child import Child
from graphzero._tools.memory_limit import MemoryLimit, memory_limit
from graphzero._tools.page_cache import drop_from_page_cache
from graphzero._tools.user_scope import UserScope
from graphzero.dataset import open_dataset
from graphzero.demo.damage import flipped_bit_found
from graphzero.demo.data import Sizes, features_alone, files_of, make_data
from graphzero.demo.opening import open_large_file
from graphzero.demo.places import in_memory
from graphzero.demo.proof import Proof, Training
from graphzero.demo.table import result_table
from graphzero.demo.view import Screen, Watching
from graphzero.memory import memory_report

# Every thread of torch and of the engine has buffers, so more cores would need a higher limit.
_MOST_THREADS = 4

_SETTINGS = {"model": "sage", "fanouts": (10, 5), "hidden": 64, "batch_size": 512, "learning_rate": 0.01, "seed": 0}


def prove(screen: Screen, path: str, sizes: Sizes) -> Proof:
    """Run the demo up to the table of results."""
    proof, begin = Proof(sizes), time.perf_counter()
    screen.heading("1. A data set")
    _make(screen, path, proof)
    screen.heading("2. A budget")
    with _limited(screen, proof) as group:
        screen.heading("3. Train")
        for file in files_of(path):
            drop_from_page_cache(file)
        screen.say(
            "GraphSAGE, two layers, on batches that the engine samples from the mapped graph and fills with rows from "
            "the disk. The files have just been dropped from the page cache."
        )
        _train_out_of_core(screen, path, proof, group)
        screen.heading("4. The proof")
        if group is not None:
            _load_it_all(screen, path, proof, group)
    _train_in_memory(screen, path, proof)
    proof.seconds = time.perf_counter() - begin
    return proof


def start(request: dict[str, Any], group: MemoryLimit | None = None) -> Child:
    """Start a process that does what is asked: demo/child.py."""
    command = [sys.executable, "-W", "ignore", "-m", "graphzero.demo.child", json.dumps(request)]
    return Child(command, group, {**os.environ, "CUDA_VISIBLE_DEVICES": ""})  # to know of a GPU takes memory


def events(child: Child) -> Iterator[dict[str, Any] | None]:
    """Yield the events that a process prints until it ends; ``None`` while there is none."""
    for line in child.lines():
        event = None if line is None else json.loads(line)
        if event is not None and event["event"] == "error":
            error = ChildProcessError(event["message"])
            error.__dict__["argument"] = event["argument"]
            raise error
        yield event


def how_it_ended(child: Child) -> str:
    """Say how a process ended, in a line."""
    code, last = child.wait(), child.last_error_line()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"a process of the demo ended with {how}" + (f": {last}" if last else "")


def _make(screen: Screen, path: str, proof: Proof) -> None:
    sizes, begin = proof.sizes, time.perf_counter()
    make_data(path, sizes, progress=screen.console.is_terminal)
    proof.bytes_on_disk = sum(file.stat().st_size for file in files_of(path))
    screen.say(
        f"{sizes.nodes:,} nodes with {sizes.features} features each and {sizes.edges:,} edges: "
        f"{byte_text(proof.bytes_on_disk)} on disk, made in {time.perf_counter() - begin:.1f} s."
    )
    if in_memory(path):
        screen.say("Note: this folder is in memory, not on a disk, so that less is proven; see --folder.")
    screen.say(
        f"Loading it for PyG would take {byte_text(sizes.loading_bytes)}: features {byte_text(sizes.feature_bytes)}, "
        f"edge_index {byte_text(sizes.edge_index_bytes)}, and {byte_text(sizes.csc_bytes)} for the sorted copy that "
        "its loader samples from."
    )
    proof.features_alone = features_alone(path)
    _open_and_verify(screen, path, proof)


def _open_and_verify(screen: Screen, path: str, proof: Proof) -> None:
    beside = os.path.dirname(path)
    proof.opening = open_large_file(os.path.join(beside, "hole.gd"))
    if proof.opening is not None:
        screen.say(
            "Opening maps files and reads only their headers, so size does not matter: one of "
            f"{byte_text(proof.opening.bytes)}, all hole, took {proof.opening.seconds * 1000:.1f} ms and "
            f"{byte_text(proof.opening.memory)} of memory."
        )
    proof.flipped_bit = flipped_bit_found(_labels_file(path), os.path.join(beside, "damaged.gd"))
    screen.say(f"Files have checksums. With one bit of the labels flipped in a copy: {proof.flipped_bit}.")


def _labels_file(path: str) -> str:
    with open_dataset(path) as data:
        return data.labels().path


@contextmanager
def _limited(screen: Screen, proof: Proof) -> Iterator[MemoryLimit | None]:
    """Yield what limits the training by the kernel, or nothing where this process may use no such thing."""
    sizes = proof.sizes
    with start({"do": "measure_software", "torch_threads": _torch_threads()}) as child:
        for event in events(child):
            if event is not None:
                proof.software = event["anonymous"]
        if child.wait() != 0:
            raise ChildProcessError(how_it_ended(child))
    screen.say(
        f"The engine gets {byte_text(sizes.memory)} for rows that stay and batches ahead, "
        f"1/{sizes.loading_bytes / sizes.memory:.0f} of what loading would take."
    )
    limit = proof.software + sizes.memory + sizes.room
    try:
        group = memory_limit(limit)
    except PermissionError as error:
        proof.why_no_limit = str(error)
        screen.say(f"No limit by the kernel: {error}. The engine keeps the budget by itself.")
        yield None
        return
    proof.limit = limit
    proof.limited_by = "systemd-run --user" if isinstance(group, UserScope) else "control group"
    screen.say(
        f"The kernel gets a limit to enforce, page cache included: {byte_text(limit)}. That is the budget, "
        f"{byte_text(proof.software)} that Python, torch and PyG hold before they have seen any data, and "
        f"{byte_text(sizes.room)} for the model and pages of the graph. Who needs more is killed."
    )
    if isinstance(group, UserScope):
        screen.say("Without root it is systemd that sets it: each process runs in a scope of systemd-run --user.")
    with group:
        yield group


def _torch_threads() -> int:
    """Leave one core to the engine: threads of torch that are never all running wait for each other in turns."""
    return max(1, min(_MOST_THREADS, _core.num_threads()) - 1)


def _request(path: str, sizes: Sizes, *, memory: int, reader: str, in_memory: bool) -> dict[str, Any]:
    threads = min(_MOST_THREADS, _core.num_threads())
    return {
        "do": "train",
        "path": path,
        "settings": {**_SETTINGS, "epochs": sizes.epochs, "threads": threads, "memory": memory, "reader": reader},
        "torch_threads": _torch_threads(),
        "in_memory": in_memory,
    }


def _train_out_of_core(screen: Screen, path: str, proof: Proof, group: MemoryLimit | None) -> None:
    sizes = proof.sizes
    request = _request(path, sizes, memory=sizes.memory, reader="direct", in_memory=False)
    ceiling = sizes.loading_bytes if proof.limit is None else proof.limit
    name = "loading" if group is None else "limit"
    with screen.watching(ceiling, name, "starting torch and PyG", sizes.epochs) as shown:
        proof.out_of_core = _train(request, shown, group)
    if group is not None:
        proof.kills = group.usage().kills


def _train_in_memory(screen: Screen, path: str, proof: Proof) -> None:
    sizes = proof.sizes
    needed = proof.bytes_on_disk + proof.software + 2 * sizes.room
    report = memory_report()
    there = report.ram_available
    if report.cgroup_limit is not None:
        there = min(there, report.cgroup_limit)
    if there < needed:
        proof.why_not_in_memory = f"needs {byte_text(needed)}, and {byte_text(there)} are available"
        screen.say(f"The same training with everything in memory: left out, it {proof.why_not_in_memory}.")
        return
    screen.say("The same model, seeds and batches with all files in memory and no limit:")
    request = _request(path, sizes, memory=there // 4, reader="mmap", in_memory=True)
    with screen.watching(sizes.loading_bytes, "loading", "reading all files", sizes.epochs) as shown:
        proof.in_memory = _train(request, shown, None)


def _train(request: dict[str, Any], shown: Watching, group: MemoryLimit | None) -> Training:
    epochs, done = [], None
    with start(request, group) as child:
        for event in events(child):
            if group is not None:
                usage = group.usage()
                shown.look(usage.anonymous, usage.page_cache)
            elif event is not None:
                shown.look(event["anonymous"], event["files_cached"])
            if event is not None:
                shown.tell(event)
                if event["event"] == "epoch":
                    epochs.append(event)
                elif event["event"] == "done":
                    done = event
        if child.wait() != 0 or done is None:
            why = how_it_ended(child)
            if group is not None and group.usage().kills:
                why += f"; it needed more than its limit, {byte_text(group.limit)}, which is a defect: please report it"
            raise ChildProcessError(why)
    peak = None if group is None else group.usage().peak
    return Training(
        test_accuracy=done["test_accuracy"],
        losses=[event["loss"] for event in epochs],
        epoch_seconds=[event["seconds"] for event in epochs],
        batches=epochs[-1]["batches"],
        hit_rate=done["hit_rate"],
        device_bytes=done["device_bytes"],
        reader=done["reader"],
        peak_anonymous=max(shown.peak_anonymous, done["peak_anonymous"]),
        peak_memory=max(shown.history) if peak is None else peak,
        files_cached=done["files_cached"],
    )


def _load_it_all(screen: Screen, path: str, proof: Proof, group: MemoryLimit) -> None:
    """Do the usual first step of a training under the same limit, and see what the kernel makes of it."""
    before = group.usage().kills
    screen.say("Another process under the same limit begins as usual: it loads the features.")
    with (
        screen.watching(group.limit, "limit", "loading features") as shown,
        start({"do": "load", "path": path}, group) as child,
    ):
        for _ in events(child):
            usage = group.usage()
            shown.look(usage.anonymous, usage.page_cache)
        code = child.wait()
        if code == 0:
            proof.loading = "ended"
        elif group.usage().kills > before:
            proof.loading = "killed"
        else:
            raise ChildProcessError(how_it_ended(child))
    outcome = {"killed": "The kernel killed it.", "ended": "It was not killed: this system has swapped it out."}
    screen.say(outcome[proof.loading])


def end(screen: Screen, proof: Proof, kept: str | None) -> None:
    """Print the table, what it says, and what to do next."""
    screen.console.print()
    screen.console.print(result_table(proof))
    screen.say("")
    if proof.same_losses:
        screen.say("Both saw the same batches: the losses of all epochs are equal to the last bit.")
    screen.say(
        f"The features alone, by the nearest class mean, give an accuracy of {proof.features_alone:.3f}. In memory "
        "means: the engine with every file in the page cache before it begins, and no budget."
    )
    if not proof.holds:
        screen.say("The proof has failed: both trainings should agree, and nothing be killed. Please report it.")
    screen.heading("5. What next")
    if kept is None:
        screen.say("The files are gone; graphzero demo --folder here keeps them.")
    data = "here/graphzero-demo" if kept is None else kept
    for command, what in (
        (f"graphzero info {data}", "what is in it"),
        (f"graphzero train {data} --memory 200MB", "train on it"),
        ("graphzero convert edges.csv graph.gl", "compile your own graph"),
    ):
        screen.say(f"  {command:<50} {what}")
    screen.say(f"Done in {proof.seconds:.0f} s.")
