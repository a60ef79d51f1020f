"""Ranks that divide rows, started quickly: a process for each host, which forks when told to. Also what they do.

A line of standard input is an order as JSON: ``{"call": name, "folder": …, "environment": {…}, …}``. The forked process
writes what the call returns to ``{folder}/{rank}.json``, what it says to ``{rank}.txt``; its exit code is in
``{rank}.rc``.
"""

import datetime
import gc
import hashlib
import importlib
import json
import os
import pathlib
import pickle
import select
import signal
import sys
import time

import numpy as np
import torch

import graphzero as gz
from data_sets import pyg
from graphzero._dataset.feature_share import RowBuffer
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from graphzero.loaders._exchange import meeting
from graphzero.loaders._exchange.meeting import Meeting
from graphzero.loaders._exchange.service import WantedRows, exchange_of

pyg()  # before processes are forked, each of which would take its time for it

COMMON = {"batch_size": 8, "shuffle": True, "seed": 5, "memory": "20MB", "threads": 1}


def _same(output):
    return output


# Loaders whose batches must be the same wherever rows are: data set, class, arguments, options.
CASES = {
    "plain": ("homogeneous", NeighborLoader, ([3, 2], "train"), {"form": "torch"}),
    "pyg": ("homogeneous", NeighborLoader, ([3, 2], "train"), {"form": "pyg"}),
    "all nodes": ("homogeneous", NeighborLoader, ([2],), {"form": "torch", "batch_size": 40}),
    "one feature": ("homogeneous", NeighborLoader, ([3], "train"), {"form": "torch", "features": ["x"]}),
    "stored": ("kinds", NeighborLoader, ([3, 2], "train"), {"form": "torch", "dtype": "stored"}),
    "converted": ("kinds", NeighborLoader, ([3, 2], "train"), {"form": "torch"}),
    "labels of seeds": ("homogeneous", NeighborLoader, ([3, 2], "train"), {"form": "pyg", "labels": "seeds"}),
    "late": ("kinds", NeighborLoader, ([3, 2], "train"), {"form": "pyg", "transform_sampler_output": _same}),
    "links": (
        "homogeneous", LinkNeighborLoader, ([3, 2], (("node", "to", "node"), "held out")),
        {"form": "pyg", "neg_sampling": "binary", "distributed": True},
    ),
    "types": ("heterogeneous", NeighborLoader, ([3, 2], ("paper", "train")), {"form": "pyg"}),
    "types of links": (
        "heterogeneous", LinkNeighborLoader, ([3, 2], (("author", "writes", "paper"), "held out")),
        {"form": "torch", "neg_sampling": "triplet", "distributed": True},
    ),
}  # fmt: skip


def loader_of(case, folder, **more):
    name, kind, arguments, options = CASES[case]
    return kind(gz.open(f"{folder}/{name}"), *arguments, **{**COMMON, **options, **more})


def hash_of(batch):
    digest = hashlib.sha256()

    def add(value):
        if isinstance(value, torch.Tensor):
            digest.update(f"{value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.cpu().contiguous().view(torch.uint8).numpy().tobytes() if value.numel() else b"")
        elif isinstance(value, dict):
            for key in value:
                digest.update(str(key).encode())
                add(value[key])
        else:
            digest.update(repr(value).encode())

    add(batch.to_dict() if hasattr(batch, "to_dict") else dict(batch))
    return digest.hexdigest()[:16]


def hashes(case, folder, *, epochs=2, **more):
    loader = loader_of(case, folder, **more)
    return [[hash_of(batch) for batch in loader] for _ in range(epochs)]


# What ranks are told to do. Each gets the rank, the folder of its data sets, and the order.


def all_cases(rank, data, order):
    return {case: hashes(case, data, **order.get("options", {})) for case in order["cases"]}


def peace(rank, data, order):
    """All that must not disturb others, one after the other on the same exchange."""
    found = {}
    train, val = loader_of("plain", data), loader_of("all nodes", data)
    # In another order on each rank, and one more epoch on rank 0.
    for turn in range(2):
        for name, loader in [("train", train), ("val", val)][:: 1 if rank == 0 else -1]:
            found[f"{name} {turn}"] = [hash_of(batch) for batch in loader]
    if rank == 0:
        found["alone"] = [hash_of(batch) for batch in loader_of("plain", data, distributed=False)]
    # Rank 1 leaves early; then all go on with the next epoch.
    found["left"] = [hash_of(batch) for number, batch in zip(range(2 if rank == 1 else 99), train, strict=False)]
    found["position"] = train.state_dict()
    found["next"] = [hash_of(batch) for batch in train]
    # A loop that fails on one rank, and is caught.
    try:
        for _ in loader_of("plain", data):
            if rank == 1:
                raise KeyError("mine")
    except KeyError:
        found["caught"] = True
    # Made anew for each epoch.
    found["anew"] = []
    for epoch in range(2):
        loader = loader_of("plain", data)
        loader.set_epoch(epoch)
        found["anew"].append([hash_of(batch) for batch in loader])
        loader.close()
    # Goes on in the middle of an epoch.
    loader = loader_of("plain", data)
    batches = iter(loader)
    begun = [hash_of(next(batches)) for _ in range(2)]
    state = loader.state_dict()
    del batches, loader
    gc.collect()
    other = loader_of("plain", data)
    other.load_state_dict(state)
    found["restarted"] = begun + [hash_of(batch) for batch in other]
    found["epoch"] = other.epoch
    # Two iterations at once.
    first, second = iter(train), iter(train)
    found["at once"] = [[hash_of(next(first)), hash_of(next(second))] for _ in range(3)]
    # Seeds of one rank alone, and none at all.
    listed = NeighborLoader(gz.open(f"{data}/homogeneous"), [2], list(range(9 * rank)), **{**COMMON, "form": "torch"})
    found["listed"] = [hash_of(batch) for batch in listed]
    found["called"] = hash_of(train([0, 3]))
    found["stats"] = train.stats()["exchange"]
    try:
        pickle.dumps(train)
    except ValueError as error:
        found["pickled"] = str(error)
    try:
        list(torch.utils.data.DataLoader(train, batch_size=None, num_workers=1))
    except ValueError as error:
        found["workers"] = str(error)
    # One batch at a time.
    found["tight"] = [hash_of(batch) for batch in loader_of("plain", data, ahead=1)]
    # Rank 1 takes its time, longer than the others wait for an answer.
    slow = loader_of("plain", data)
    for number, batch in enumerate(slow):
        if rank == 1 and number == 1:
            time.sleep(order["timeout"] + 1)
        found.setdefault("slow", []).append(hash_of(batch))
    return found


def trouble(rank, data, order):
    """Iterate for long, until another rank does what it is told to."""
    loader = loader_of("plain", data, exchange_timeout=order["timeout"], **order.get("options", {}))
    told = order.get("told", {}).get(str(rank))
    numbers = 0
    try:
        for epoch in range(order.get("epochs", 10**6)):
            if epoch == 1 and told is None:
                time.sleep(order.get("pause", 0))
            for _ in loader:
                numbers += 1
                if numbers == 1:
                    pathlib.Path(order["folder"], f"{rank}.began").touch()
                if numbers == order["after"] and told == "kill and leave a child" and os.fork() == 0:
                    time.sleep(15)
                    os._exit(0)
                if numbers == order["after"] and told in ("kill", "kill and leave a child"):
                    os.kill(os.getpid(), signal.SIGKILL)
                if numbers == order["after"] and told == "stop":
                    os.kill(os.getpid(), signal.SIGSTOP)
                if numbers == order["after"] and told == "raise":
                    raise ZeroDivisionError("mine")
                if numbers == order["after"] and told == "exit after an error at a prompt":
                    sys.ps1 = ">>> "
                    sys.last_exc = sys.last_value = ZeroDivisionError("seen and forgotten")
                if numbers == order["after"] and told in ("exit", "exit after an error at a prompt"):
                    return {"numbers": numbers}
                if numbers == order["after"] and told == "interrupt":
                    signal.signal(signal.SIGINT, signal.default_int_handler)  # what began the tests may ignore it
                    os.kill(os.getpid(), signal.SIGINT)
    except OSError as error:
        return {"numbers": numbers, "kind": type(error).__name__, "error": str(error)}
    return {"numbers": numbers}


def refused(rank, data, order):
    """Make a loader and take a batch, which some reason forbids."""
    time.sleep(order.get("late", {}).get(str(rank), 0))
    if rank in order.get("absent", []):
        time.sleep(5)
        return {}
    os.environ.update(order.get("environment_of_rank", {}).get(str(rank), {}))
    try:
        next(iter(loader_of("plain", data, **order.get("options", {}), **order.get("of_rank", {}).get(str(rank), {}))))
    except Exception as error:
        return {"kind": type(error).__name__, "error": str(error)}
    return {"kind": None}


def second_try(rank, data, order):
    """Make a loader that is refused, then one that is not."""
    first = refused(rank, data, order)
    return {**first, "batches": hashes("plain", data)}


def keeper_stops(rank, data, order):
    """Stop the process that keeps the store before other ranks have made a loader."""
    meeting._ANSWER_S = order["answer_s"]
    torch.distributed.barrier()
    if rank == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.5)
    return refused(rank, data, order)


def ends_early(rank, data, order):
    """End on rank 1 before rank 2 has made its loader. Rank 0 keeps the store, so it ends last."""
    torch.distributed.barrier()
    if rank == 2:
        _await(order, "1.rc")
    loader = loader_of("plain", data, exchange_timeout=order["timeout"], distributed=False)
    if rank == 1:
        return {"numbers": 0}
    try:
        found = {"kind": None, "numbers": len(list(loader))}
    except OSError as error:
        found = {"kind": type(error).__name__, "error": str(error)}
    if rank == 0:
        _await(order, "2.rc")
    return found


def _await(order, file):
    """Wait until a rank has written a file."""
    end = time.monotonic() + 60
    while not pathlib.Path(order["folder"], file).exists() and time.monotonic() < end:
        time.sleep(0.02)


def forks(rank, data, order):
    """Go on with an iteration in a forked process."""
    batches = iter(loader_of("plain", data))
    next(batches)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except RuntimeError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    found = {"child": os.read(reading, 1000).decode() if select.select([reading], [], [], 15)[0] else "it hangs"}
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found["rest"] = len(list(batches))
    return found


def too_little_room(rank, data, order):
    """Exchange rows in messages that hold none."""
    share = gz.open(f"{data}/homogeneous").features("x")
    exchange = exchange_of({"x": share}, 100, None, None)
    row = np.zeros(1, dtype=np.int64)
    try:
        exchange.ask([WantedRows(0, 1 - rank, row, RowBuffer(share, 1), 0)]).wait()
    except ValueError as error:
        return {"error": str(error)}


def any_order(rank, data, order):
    """Ask for attributes in another order on each rank. Their rows are as wide as each other."""
    stored = gz.open(f"{data}/alike")
    names = ["first", "second"][:: 1 if rank == 0 else -1]
    loader = NeighborLoader((stored.graph, {name: stored.features(name) for name in names}), [2], **COMMON)
    shared, ids = loader._shared, {("node", "second"): np.arange(20), ("node", "first"): np.arange(5, 25)}
    shuffled = {key: shared.fetch(ids).finish()[key].tolist() for key in ids}
    return {
        "batches": [[batch.n_id.tolist(), batch.first.tolist(), batch.second.tolist()] for batch in loader],
        "shuffled": {name: rows for (_, name), rows in shuffled.items()},
    }


def training(rank, data, order):
    """Train with restarts: a state_dict after each step, and a rank that dies once."""
    folder = pathlib.Path(order["folder"])
    loader = loader_of("plain", data, exchange_timeout=order["timeout"])
    checkpoint, log, died = folder / "checkpoint.json", folder / f"{rank}.jsonl", folder / "died"
    state = [json.loads(checkpoint.read_text()) if rank == 0 and checkpoint.exists() else None]
    torch.distributed.broadcast_object_list(state, src=0)
    if state[0] is not None:
        loader.load_state_dict(state[0])
    while loader.epoch < 2:
        epoch, number = loader.epoch, loader.state_dict()["batch"]
        for batch in loader:
            with log.open("a") as file:
                file.write(json.dumps([epoch, number, hash_of(batch)]) + "\n")
            if order["dies"] == [rank, epoch, number] and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            torch.distributed.all_reduce(torch.ones(1))
            if rank == 0:
                new = checkpoint.with_suffix(".new")
                new.write_text(json.dumps(loader.state_dict()))
                new.rename(checkpoint)
            number += 1
    return {}


class BrokenGroup:
    """The network of a group is gone, and no rank is."""

    def allreduce(self, tensors):
        return self

    send = recv = lambda self, tensors, rank, tag: self

    def wait(self):
        raise RuntimeError("unhandled system error\nmore of it")


def run(order):
    rank = int(os.environ["RANK"])
    if order.get("broken"):
        Meeting.group = lambda self, backend, timeout_s: BrokenGroup()
    if order.get("dies_making_a_group") == rank:
        Meeting.group = lambda self, backend, timeout_s: os.kill(os.getpid(), signal.SIGKILL)
    timeout = datetime.timedelta(seconds=order.get("group_timeout", 15))
    if order.get("backend") == "fake":
        importlib.import_module("torch.testing._internal.distributed.fake_pg")  # registers it
        address, count = os.environ["MASTER_ADDR"], int(os.environ["WORLD_SIZE"])
        store = torch.distributed.TCPStore(address, int(os.environ["MASTER_PORT"]), count, rank == 0)
        torch.distributed.init_process_group("fake", store=store, rank=rank, world_size=count)
    else:
        torch.distributed.init_process_group(order.get("backend", "gloo"), timeout=timeout)
    found = globals()[order["call"]](rank, order["data"][rank], order)
    pathlib.Path(order["folder"], f"{rank}.json").write_text(json.dumps(found))


def child(order):
    """Become the process of a rank; what it raises ends it as it would a script."""
    os.environ.update(order["environment"])
    said = os.open(f"{order['folder']}/{os.environ['RANK']}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if torch.cuda.device_count() > 0:  # a process cannot fork one that uses CUDA once anything in it has
        os.execv(sys.executable, [sys.executable, __file__, json.dumps(order)])
    torch.set_num_threads(1)
    run(order)


def main():
    waiting, ranks = "", {}
    while True:
        while ranks and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            rank_file = ranks.pop(ended[0])
            rank_file.with_suffix(".new").write_text(str(os.waitstatus_to_exitcode(ended[1])))
            rank_file.with_suffix(".new").rename(rank_file)
        if not select.select([0], [], [], 0.02)[0]:
            continue
        text = os.read(0, 1 << 16).decode()
        if not text:
            return
        *lines, waiting = (waiting + text).split("\n")
        for order in map(json.loads, lines):
            process = os.fork()
            if process == 0:
                return child(order)
            print(process, flush=True)
            ranks[process] = pathlib.Path(order["folder"], f"{order['environment']['RANK']}.rc")


if __name__ == "__main__":
    if len(sys.argv) > 1:  # as torchrun starts it
        run(json.loads(sys.argv[1]))
    else:
        main()
