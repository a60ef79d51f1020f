"""What ranks that divide rows are told to do, in processes that tests/started_ranks.py starts."""

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
from started_ranks import main, mark, marks

if len(sys.argv) == 1 or __name__ != "__main__":
    pyg()  # before processes are forked, each of which would take its time for it; those of torchrun need none

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
    found["memory"] = train.stats()["memory"]
    try:
        pickle.dumps(train)
    except TypeError as error:
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
                if told is None or numbers != order["after"]:
                    continue
                mark(order["folder"], f"{rank}.trouble")
                if told == "kill and leave a child" and os.fork() == 0:
                    time.sleep(15)
                    os._exit(0)
                if told in ("kill", "kill and leave a child"):
                    os.kill(os.getpid(), signal.SIGKILL)
                if told == "stop":
                    os.kill(os.getpid(), signal.SIGSTOP)
                if told == "raise":
                    raise ZeroDivisionError("mine")
                if told == "exit after an error at a prompt":
                    sys.ps1 = ">>> "
                    sys.last_exc = sys.last_value = ZeroDivisionError("seen and forgotten")
                if told in ("exit", "exit after an error at a prompt"):
                    return {"numbers": numbers}
                if told == "interrupt":
                    signal.signal(signal.SIGINT, signal.default_int_handler)  # what began the tests may ignore it
                    os.kill(os.getpid(), signal.SIGINT)
    except OSError as error:
        return {"numbers": numbers, "kind": type(error).__name__, "error": str(error)}
    return {"numbers": numbers}


def refused(rank, data, order):
    """Make a loader and take a batch, which some reason forbids."""
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
        mark(order["folder"], "0.trouble")
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
        mark(order["folder"], "1.trouble")
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
    checkpoint, log = folder / "checkpoint.json", folder / f"{rank}.jsonl"
    state = [json.loads(checkpoint.read_text()) if rank == 0 and checkpoint.exists() else None]
    torch.distributed.broadcast_object_list(state, src=0)
    if state[0] is not None:
        loader.load_state_dict(state[0])
    while loader.epoch < 2:
        epoch, number = loader.epoch, loader.state_dict()["batch"]
        for batch in loader:
            with log.open("a") as file:
                file.write(json.dumps([epoch, number, hash_of(batch)]) + "\n")
            if order["dies"] == [rank, epoch, number] and not marks(folder, f"{rank}.trouble"):
                mark(folder, f"{rank}.trouble")
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


def die(rank, order):
    mark(order["folder"], f"{rank}.trouble")
    os.kill(os.getpid(), signal.SIGKILL)


def run(order):
    rank = int(os.environ["RANK"])
    mark(order["folder"], f"{rank}.ready")
    torch.set_num_threads(1)
    if order.get("broken"):
        Meeting.group = lambda self, backend, timeout_s: BrokenGroup()
    if order.get("dies_making_a_group") == rank:
        Meeting.group = lambda self, backend, timeout_s: die(rank, order)
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


if __name__ == "__main__":
    main(run, forks=torch.cuda.device_count() == 0)  # a process cannot fork one that uses CUDA once anything in it has
