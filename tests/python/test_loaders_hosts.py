"""Training on several hosts, each with a copy of the data set: network namespaces, or the loopback without root."""

import json
import pathlib
import shutil
import signal

import numpy as np
import pytest
import torch

import graphzero as gz
import hosts_training
from hosts import Loopback, Namespaces, can_make_namespaces
from loader_cases import write_homogeneous
from started_ranks import C10D, STATIC, Torchrun, running, starter_of

pytestmark = pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo")
SCRIPT = pathlib.Path(hosts_training.__file__)


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
    return [str(shutil.copytree(data.dataset.path, folder / f"host {host}")) for host in range(3)]


@pytest.fixture(scope="module")
def starter(hosts):
    with starter_of(hosts, SCRIPT) as made:
        yield made


@pytest.fixture
def run(hosts, starter, tmp_path):
    """Start ranks on some hosts, as srun does."""
    with running(hosts, starter, tmp_path) as start:
        yield lambda copies, **options: start(copies, options=options)


def steps_of(folder, rank):
    """Return what a rank has written down."""
    log = folder / f"{rank}.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


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
    with Torchrun(hosts, SCRIPT, tmp_path, STATIC, copies[:num_hosts], options={}) as ranks:
        assert ranks.wait() == [0] * num_hosts, ranks.said()
    for rank in range(num_hosts):
        expected, steps = epochs_of(data.dataset.path, rank, num_hosts), steps_of(tmp_path, rank)
        assert hashes(steps) == expected
        assert len(steps) == len(expected) == 2 * -(-90 // num_hosts // 8)


@pytest.mark.parametrize("drop_uneven", [False, True])
def test_uneven_epochs_have_as_many_steps_on_all_hosts(data, copies, run, drop_uneven):
    """82 nodes on three hosts in batches of 9: 27 of each are three batches, and 28 are four."""
    options = {"input_nodes": data.train[:82].tolist(), "batch_size": 9, "drop_uneven_inputs": drop_uneven}
    ranks = run(copies, **options, distributed=True)
    assert [ranks.code(rank) for rank in range(3)] == [0, 0, 0], ranks.said(0)
    for rank in range(3):
        steps = steps_of(ranks.folder, rank)
        assert len(steps) == 2 * (3 if drop_uneven else 4)
        assert hashes(steps) == epochs_of(data.dataset.path, rank, 3, **options)


def test_a_rank_that_breaks_off_disturbs_neither_itself_nor_others(data, copies, run):
    ranks = run(copies[:2], breaks=[1, 0, 1], together=False)
    assert [ranks.code(rank) for rank in range(2)] == [0, 0], ranks.said(0)
    whole = epochs_of(data.dataset.path, 1, 2)
    assert hashes(steps_of(ranks.folder, 0)) == epochs_of(data.dataset.path, 0, 2)
    first = {place: value for place, value in whole.items() if place[0] == 1 or place[1] < 2}
    assert hashes(steps_of(ranks.folder, 1)) == first


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "silent"])
def test_a_peer_that_is_gone_is_an_error_soon(copies, run, how):
    """One that is killed closes its connections; one that is silent is noticed by the time limit of the group."""
    ranks = run(copies, dies=[1, 0, 2], signal=how, timeout=5)
    for rank in (0, 2):
        assert ranks.code(rank, after=ranks.trouble(1)) == 1
    assert "all_reduce" in ranks.said(0)
    assert "RuntimeError" in ranks.said(0)
    assert len(steps_of(ranks.folder, 0)) == 3


def test_a_run_that_is_restarted_goes_on_with_the_same_batches(hosts, data, copies, tmp_path):
    """Rank 1 dies in the second epoch, once; torchrun starts both again, from the checkpoint of rank 0."""
    options = {"dies": [1, 1, 2]}
    with Torchrun(hosts, SCRIPT, tmp_path, C10D, copies[:2], options=options) as ranks:
        assert ranks.wait_for_restart(dies=1) == [0, 0], ranks.said()
    for rank in range(2):
        steps = steps_of(tmp_path, rank)
        _, second = dict.fromkeys(step["process"] for step in steps)
        again = [(step["epoch"], step["batch"]) for step in steps if step["process"] == second]
        assert again == [(1, number) for number in range(2, 6)]
        expected = epochs_of(data.dataset.path, rank, 2)
        assert hashes(steps) == expected
        assert all(step["hash"] == expected[step["epoch"], step["batch"]] for step in steps)


@pytest.mark.parametrize("leaves", [False, True], ids=["raises", "leaves at once"])
def test_hosts_with_other_data_are_refused(data, copies, run, tmp_path, leaves):
    """Rows of another conversion on one host: the same names, shapes and counts. Every rank says so."""
    other = str(shutil.copytree(copies[1], tmp_path / "other"))
    rows = np.asarray(data.nodes["x"]) + 1
    with gz.edit_dataset(other) as editor:
        editor.set_attribute("x", rows)
    ranks = run([copies[0], other, copies[2]], leaves=leaves)
    assert 0 not in [ranks.code(rank, after=ranks.ready()) for rank in range(3)]
    for rank in range(3):
        said = ranks.said(rank)
        assert "ValueError: data: x of 'node': expected the same on all 3 ranks" in said
        assert "on rank 1 (" in said
        assert "on ranks 0 and 2 (" in said
        assert "give each host a copy of the same data set" in said
    assert not any(steps_of(ranks.folder, rank) for rank in range(3))


def test_a_group_that_the_script_has_ended_is_named(copies, run):
    """Nobody takes it for a rank that died: the loader was made, and its first epoch comes too late."""
    ranks = run(copies[:2], ends_its_group=True)
    said = [ranks.said(rank) for rank in range(2) if ranks.code(rank, after=ranks.ready()) != 0]
    for each in said:
        assert "was gone before this rank knew that all had made the same loader: " in each
        assert (
            "; a script that ends the group of its ranks does so after the first epoch has begun on all of them" in each
        )
    assert said
