"""A tour of graphzero: write a data set, mount it, watch where memory goes, prove it intact.

python examples/demo.py [FOLDER]    keeps the files in FOLDER; without it they are removed at the end
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import struct
import sys
import tempfile
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import graphzero as gz

NUM_NODES = 300_000
NUM_EDGES = 4_000_000
NUM_CLASSES = 8
NUM_FEATURES = 64
ROWS_TO_READ = 10_000
BIG_ROWS = 117_187_500  # of 128 float32: 60 GB

console = Console(highlight=False, soft_wrap=True)


def main() -> None:
    started = time.perf_counter()
    keep = len(sys.argv) > 1
    folder = sys.argv[1] if keep else tempfile.mkdtemp(prefix="graphzero-demo-")
    try:
        tour(os.path.join(folder, "communities"), folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    say(f"\nDone in {time.perf_counter() - started:.0f} s. ", end="")
    if keep:
        say(f"The files are in {folder}; try: graphzero info {os.path.join(folder, 'communities')}")
    else:
        say("The files are gone. Next: README.md and docs/guide/.")


def tour(path: str, folder: str) -> None:
    title("1. Write")
    say(f"A graph of {NUM_NODES:,} nodes in {NUM_CLASSES} communities, with features that give the community away.")
    # In a process of its own, so that what it leaves on the heap is not counted below.
    writer = multiprocessing.get_context("spawn").Process(target=write_dataset, args=(path,))
    writer.start()
    writer.join()
    if writer.exitcode != 0:
        sys.exit(1)

    title("2. Mount")
    moments = [("before mounting", gz.memory_report())]
    seconds = time.perf_counter()
    ds = gz.open(path)
    seconds = time.perf_counter() - seconds
    moments.append(("after mounting", ds.memory_report()))
    say(f"gz.open took {seconds * 1000:.1f} ms. It maps the files and reads only their headers.")
    say(f"{ds}\n{ds.graph!r}\n{ds.features('x')!r}".replace(folder, "…"))
    node = int(ds.split("train")[0])
    say(f"Node {node} has {ds.graph.get_degree(node)} neighbours: {ds.graph.neighbors(node)[:6]} …")
    labels = ds.labels().get_tensor()
    same = np.mean(labels[ds.graph.neighbors(node)] == labels[node])
    say(f"{same:.0%} of them are of its own community, {labels[node]}.")

    title("3. Watch the memory")
    features = ds.features("x").get_tensor()
    rows = np.random.default_rng(1).choice(NUM_NODES, ROWS_TO_READ, replace=False)
    batch = features[rows]
    moments.append((f"after reading {ROWS_TO_READ:,} rows", ds.memory_report()))
    show_memory(moments)
    say(
        f"The {size(batch.nbytes)} of rows we copied are ours: anonymous memory. The pages they came from, and those\n"
        "the kernel mapped around them, are the kernel's: it drops them when it needs room. The files are in the page\n"
        "cache because we have just written them."
    )

    title("4. Mount 60 GB")
    mount_sparse_file(os.path.join(folder, "sparse.gd"))

    title("5. Prove it intact")
    for store in (ds.graph, ds.features("x")):
        checks = gz.verify(store.path)
        verdict = "[green]✓[/] all hold" if all(check.holds for check in checks) else "[red]✗[/] damaged"
        say(f"{os.path.basename(store.path)}: {len(checks)} checks, {verdict}", markup=True)
    copy = os.path.join(folder, "damaged.gd")
    shutil.copyfile(ds.features("x").path, copy)
    flip_one_bit(copy)
    problem = next(check for check in gz.verify(copy) if not check.holds)
    say("A copy of x.gd with one bit flipped:")
    say(f"[red]✗[/] {problem.name}: {problem.problem}", markup=True)
    os.remove(copy)
    ds.close()


def write_dataset(path: str) -> None:
    """Most edges stay within a community; a node's features are its community's centre plus noise."""
    rng = np.random.default_rng(0)
    label = rng.integers(NUM_CLASSES, size=NUM_NODES)
    members = np.argsort(label, kind="stable")
    first = np.searchsorted(label[members], np.arange(NUM_CLASSES + 1))
    src = rng.integers(NUM_NODES, size=NUM_EDGES)
    of = label[src]
    dst = members[rng.integers(first[of], first[of + 1])]
    stray = rng.random(NUM_EDGES) < 0.2
    dst[stray] = rng.integers(NUM_NODES, size=int(stray.sum()))
    centre = rng.standard_normal((NUM_CLASSES, NUM_FEATURES), dtype=np.float32)
    x = centre[label] + rng.standard_normal((NUM_NODES, NUM_FEATURES), dtype=np.float32)
    order = rng.permutation(NUM_NODES)

    started = time.perf_counter()
    with console.status("") as status, gz.DatasetWriter(path, overwrite=True) as writer:
        status.update(f"writing {NUM_NODES:,} rows of features")
        writer.add_nodes({"x": x, "y": label}, label="y", num_classes=NUM_CLASSES)
        status.update(f"sorting and writing {NUM_EDGES:,} edges")
        writer.add_edges(src, dst)
        writer.add_split("train", order[: NUM_NODES // 2])
        writer.add_split("test", order[NUM_NODES // 2 :])
    total = sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(path) for name in names)
    say(f"{NUM_EDGES:,} edges sorted both ways and {size(total)} written in {time.perf_counter() - started:.1f} s.")


def mount_sparse_file(path: str) -> None:
    """Make a file that is all hole: 60 GB to read, nothing on disk. GraphZero 0.2's header is 32 bytes."""
    try:
        with open(path, "wb") as file:
            file.write(struct.pack("<8sIiQQ", b"GZDATA26", 0, 2, BIG_ROWS, 128))
            file.truncate(32 + BIG_ROWS * 128 * 4)
    except OSError as error:
        say(f"This file system takes no such file ({error.strerror}); skipped.")
        return
    before = gz.memory_report()
    seconds = time.perf_counter()
    store = gz.FeatureStore(path)
    tensor = store.get_tensor()
    seconds = time.perf_counter() - seconds
    after = gz.memory_report(store)
    say(f"{store!r}".replace(os.path.dirname(path), "…"))
    say(
        f"It is a sparse file, so it takes {size(os.stat(path).st_blocks * 512)} of your disk. This machine has "
        f"{size(after.ram_total)} of RAM.\nOpening it and taking the whole tensor, shape {tensor.shape}, took "
        f"{seconds * 1000:.2f} ms and {size(max(0, after.anonymous - before.anonymous))} of memory."
    )
    if tensor.flags.writeable:  # a system with strict overcommit gives a read-only view
        tensor[BIG_ROWS // 2, 0] = 1
        grown = size(max(0, gz.memory_report().anonymous - after.anonymous))
        kept = store.get_data(BIG_ROWS // 2)[0]
        say(
            f"Writing a number to its middle costs this process a page or two: {grown}. The file still says {kept:.0f}."
        )
    del tensor
    store.close()
    os.remove(path)


def flip_one_bit(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def show_memory(moments: list[tuple[str, gz.MemoryReport]]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for column in ("anonymous", "mapped file pages", "files in page cache"):
        table.add_column(column, justify="right")
    for name, report in moments:
        cached = [file.resident for file in report.files]
        text = "" if not cached else "not told" if None in cached else size(sum(count or 0 for count in cached))
        table.add_row(name, size(report.anonymous), size(report.file_backed), text)
    console.print(table)


def size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def title(text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def say(text: str, *, end: str = "\n", markup: bool = False) -> None:
    console.print(text, end=end, markup=markup)


if __name__ == "__main__":
    main()
