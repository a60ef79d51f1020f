"""Training on several hosts, each with a copy of the data set: network namespaces, or the loopback without root."""

import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import time

import numpy as np
import pytest
import torch

import graphzero as gz
import hosts_training
from hosts import Loopback, Namespaces, can_make_namespaces
from loader_cases import write_homogeneous

pytestmark = pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo")
SCRIPT = pathlib.Path(hosts_training.__file__)
START_S = 120  # processes import torch, on a machine that may have much else to do
ANSWER_S = 20  # what a rank may take to notice that another is gone


@pytest.fixture(scope="module")
def hosts():
    with (Namespaces if can_make_namespaces() else Loopback)(3) as made:
        yield made


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(scope="module")
def copies(data, tmp_path_factory):
    """The data set of each host."""
    folder = tmp_path_factory.mktemp("copies")
    return [shutil.copytree(data.dataset.path, folder / f"host {host}") for host in range(3)]


class Run:
    """A process on each of some hosts, and what they leave: ``{rank}.jsonl``, and ``{rank}.txt`` for what they say."""

    def __init__(self, hosts, copies, folder, options, *, num_hosts=2, torchrun=()):
        self.folder, self.num_hosts = folder, num_hosts
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        tests = str(SCRIPT.parent)
        self.processes = []
        for host in range(num_hosts):
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])]),
                "GLOO_SOCKET_IFNAME": hosts.interface,
                "OMP_NUM_THREADS": "1",
                "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # or restarted ranks read addresses of the dead
            }
            command = [sys.executable]
            if torchrun:
                known = {"host": host, "first": int(host == 0), "own": hosts.address(host)}
                words = [word.format(**known, address=hosts.address(0), port=port) for word in torchrun]
                command += ["-m", "torch.distributed.run", f"--nnodes={num_hosts}", "--nproc-per-node=1", *words]
            else:  # as srun starts them
                given = {"RANK": host, "WORLD_SIZE": num_hosts, "MASTER_ADDR": hosts.address(0), "MASTER_PORT": port}
                environment |= {name: str(value) for name, value in given.items()}
            command += [SCRIPT, copies[host], folder, json.dumps(options)]
            with (folder / f"{host}.txt").open("w") as said:
                self.processes.append(hosts.start(host, command, env=environment, stdout=said, stderr=said))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def wait(self, seconds=START_S):
        """Return the exit codes."""
        end = time.monotonic() + seconds
        return [process.wait(max(0.1, end - time.monotonic())) for process in self.processes]

    def said(self, host):
        return (self.folder / f"{host}.txt").read_text()

    def steps(self, rank):
        """Return what a rank has written down so far."""
        log = self.folder / f"{rank}.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def wait_for_steps(self, rank, count):
        end = time.monotonic() + START_S
        while len(self.steps(rank)) < count:
            assert time.monotonic() < end, self.said(rank)
            time.sleep(0.05)


STATIC = ("--node-rank={host}", "--master-addr={address}", "--master-port={port}")
C10D = (
    "--max-restarts=2",
    "--rdzv-backend=c10d",
    "--rdzv-id=one",
    "--rdzv-endpoint={address}:{port}",
    "--rdzv-conf=is_host={first}",
    "--local-addr={own}",
)


def epochs_of(dataset, rank, world_size, **options):
    """Return the hashes that one process with ``rank=`` and ``world_size=`` has, by epoch and batch."""
    with gz.open(dataset) as opened:
        loader = hosts_training.loader(opened, rank=rank, world_size=world_size, **options)
        epochs = range(hosts_training.NUM_EPOCHS)
        return {(epoch, i): hosts_training.hash_of(batch) for epoch in epochs for i, batch in enumerate(loader)}


def hashes(steps):
    return {(step["epoch"], step["batch"]): step["hash"] for step in steps}


@pytest.mark.parametrize("num_hosts", [2, 3])
def test_ranks_on_hosts_have_the_batches_of_one_process(hosts, data, copies, tmp_path, num_hosts):
    with Run(hosts, copies, tmp_path, {}, num_hosts=num_hosts, torchrun=STATIC) as run:
        assert run.wait() == [0] * num_hosts, run.said(0)
    for rank in range(num_hosts):
        expected = epochs_of(data.dataset.path, rank, num_hosts)
        assert hashes(run.steps(rank)) == expected
        assert len(run.steps(rank)) == len(expected) == 2 * -(-90 // num_hosts // 8)


@pytest.mark.parametrize("drop_uneven", [False, True])
def test_uneven_epochs_have_as_many_steps_on_all_hosts(hosts, data, copies, tmp_path, drop_uneven):
    """82 nodes on three hosts in batches of 9: 27 of each are three batches, and 28 are four."""
    options = {"input_nodes": data.train[:82].tolist(), "batch_size": 9, "drop_uneven_inputs": drop_uneven}
    with Run(hosts, copies, tmp_path, {**options, "distributed": True}, num_hosts=3) as run:
        assert run.wait() == [0, 0, 0], run.said(0)
    for rank in range(3):
        assert len(run.steps(rank)) == 2 * (3 if drop_uneven else 4)
        assert hashes(run.steps(rank)) == epochs_of(data.dataset.path, rank, 3, **options)


def test_a_rank_that_breaks_off_disturbs_neither_itself_nor_others(hosts, data, copies, tmp_path):
    with Run(hosts, copies, tmp_path, {"breaks": [1, 0, 1], "together": False}) as run:
        assert run.wait() == [0, 0], run.said(0)
    whole = epochs_of(data.dataset.path, 1, 2)
    assert hashes(run.steps(0)) == epochs_of(data.dataset.path, 0, 2)
    assert hashes(run.steps(1)) == {place: value for place, value in whole.items() if place[0] == 1 or place[1] < 2}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "silent"])
def test_a_peer_that_is_gone_is_an_error_soon(hosts, copies, tmp_path, how):
    """One that is killed closes its connections; one that is silent is noticed by the time limit of the group."""
    options = {"dies": [1, 0, 2], "signal": how, "timeout": 5}
    with Run(hosts, copies, tmp_path, options, num_hosts=3) as run:
        run.wait_for_steps(1, 3)
        for process in (run.processes[0], run.processes[2]):
            assert process.wait(ANSWER_S) == 1
        assert "all_reduce" in run.said(0)
        assert "RuntimeError" in run.said(0)
        assert len(run.steps(0)) == 3


def test_a_run_that_is_restarted_goes_on_with_the_same_batches(hosts, data, copies, tmp_path):
    """Rank 1 dies in the second epoch, once; torchrun starts both again, from the checkpoint of rank 0."""
    with Run(hosts, copies, tmp_path, {"dies": [1, 1, 2]}, torchrun=C10D) as run:
        assert run.wait() == [0, 0], run.said(0) + run.said(1)
    for rank in range(2):
        steps = run.steps(rank)
        _, second = dict.fromkeys(step["process"] for step in steps)
        again = [(step["epoch"], step["batch"]) for step in steps if step["process"] == second]
        assert again == [(1, number) for number in range(2, 6)]
        expected = epochs_of(data.dataset.path, rank, 2)
        assert hashes(steps) == expected
        assert all(step["hash"] == expected[step["epoch"], step["batch"]] for step in steps)


def test_hosts_with_other_data_are_refused(hosts, data, copies, tmp_path):
    """Rows of another conversion on one host: the same names, shapes and counts."""
    other = shutil.copytree(copies[1], tmp_path / "other")
    rows = np.asarray(data.nodes["x"]) + 1
    with gz.edit_dataset(other) as editor:
        editor.set_attribute("x", rows)
    with Run(hosts, [copies[0], other, copies[2]], tmp_path, {}, num_hosts=3, torchrun=STATIC) as run:
        codes = run.wait()
    assert codes.count(0) == 0
    said = "".join(run.said(host) for host in range(3))
    assert "ValueError: data: x of 'node': expected the same on all 3 ranks" in said
    assert "on rank 1 (" in said
    assert "on ranks 0 and 2 (" in said
    assert "give each host a copy of the same data set" in said
    assert not any(run.steps(rank) for rank in range(3))
