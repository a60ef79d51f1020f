"""A process of several: epochs of batches, each written down as a hash."""

import datetime
import hashlib
import json
import os
import pathlib
import signal
import time

import torch

import graphzero as gz
from graphzero.loaders import NeighborLoader
from started_ranks import main, mark, marks

NUM_EPOCHS = 2


def loader(dataset, **options):
    given = {"batch_size": 8, "shuffle": True, "form": "torch", "seed": 5, "memory": "20MB", "threads": 1, **options}
    fanouts = given.pop("num_neighbors", [3, 2])
    return NeighborLoader(dataset, fanouts, given.pop("input_nodes", "train"), **given)


def hash_of(batch):
    parts = (batch.input_id, batch.n_id, batch.edge_index, batch.x, batch.y)
    return hashlib.sha256(b"".join(part.numpy().tobytes() for part in parts)).hexdigest()[:16]


def train(order):
    """Iterate, go on where a checkpoint says, and do as told: stop early, or die."""
    folder, options = pathlib.Path(order["folder"]), order["options"]
    mark(folder, f"{os.environ['RANK']}.ready")
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=options.pop("timeout", 15))
    breaks, dies, steps_together = options.pop("breaks", None), options.pop("dies", None), options.pop("together", True)
    how = options.pop("signal", signal.SIGKILL)
    torch.distributed.init_process_group("gloo", timeout=timeout)
    rank = torch.distributed.get_rank()
    ends_its_group = options.pop("ends_its_group", False)
    batches = loader(gz.open(order["data"][rank]), **options)
    if ends_its_group:
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
        time.sleep(rank)  # the store is with rank 0, which ends
        return list(batches) if rank else None
    checkpoint, log = folder / "checkpoint.json", folder / f"{rank}.jsonl"
    state = [json.loads(checkpoint.read_text()) if rank == 0 and checkpoint.exists() else None]
    torch.distributed.broadcast_object_list(state, src=0)  # hosts may have no folder in common
    if state[0] is not None:
        batches.load_state_dict(state[0])
    first = batches.state_dict()
    for epoch in range(first["epoch"], NUM_EPOCHS):
        for number, batch in enumerate(batches, first["batch"] if epoch == first["epoch"] else 0):
            step = {"process": os.getpid(), "epoch": epoch, "batch": number, "hash": hash_of(batch)}
            with log.open("a") as file:
                file.write(json.dumps(step) + "\n")
            if dies == [rank, epoch, number] and not marks(folder, f"{rank}.trouble"):
                mark(folder, f"{rank}.trouble")
                os.kill(os.getpid(), how)
            if steps_together:
                torch.distributed.all_reduce(torch.ones(4))
                if rank == 0:
                    whole = checkpoint.with_suffix(".new")
                    whole.write_text(json.dumps(batches.state_dict()))
                    whole.rename(checkpoint)
            if breaks == [rank, epoch, number]:
                break
    torch.distributed.barrier()  # nobody leaves a group that another still uses
    torch.distributed.destroy_process_group()


def train_or_leave(order):
    """End as processes do that close nothing, such as those that multiprocessing forks."""
    if not order["options"].pop("leaves", False):
        return train(order)
    try:
        train(order)
    except Exception as error:
        print(type(error).__name__, error, sep=": ", flush=True)
    os._exit(1)


if __name__ == "__main__":
    main(train_or_leave)
