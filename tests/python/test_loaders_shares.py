"""Hosts that divide rows of nodes: batches equal those of one process that has all, and nobody waits for ever."""

import functools
import json
import pathlib
import re
import signal
import time

import numpy as np
import pytest
import torch

import graphzero as gz
import share_ranks
from hosts import Loopback, Namespaces, can_make_namespaces
from loader_cases import write_heterogeneous, write_homogeneous
from started_ranks import C10D, Torchrun, running, starter_of

pytestmark = [
    pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo"),
    pytest.mark.no_tsan,  # ranks are forked from a process that has threads
]
SCRIPT = pathlib.Path(share_ranks.__file__)
TIMEOUT_S = 2


def write_kinds(folder):
    """Rows of all kinds: quantised, of half precision, whole numbers, booleans, matrices."""
    rng = np.random.default_rng(3)
    count = 90
    nodes = {
        "x": rng.standard_normal((count, 7)).astype(np.float32),
        "half": rng.standard_normal((count, 3)).astype(np.float16),
        "brain": torch.from_numpy(rng.standard_normal((count, 2))).to(torch.bfloat16),
        "codes": rng.integers(-9, 9, (count, 2)).astype(np.int32),
        "matrix": rng.standard_normal((count, 2, 3)),
        "flags": rng.random((count, 3)) < 0.5,
        "nothing": np.empty((count, 0), dtype=np.float32),
        "y": rng.integers(0, 4, count),
        "year": rng.integers(0, 4, count),
    }
    gz.convert_features(nodes["x"], f"{folder}/x.gd", dtype="int8-quantised")
    nodes["x"] = gz.FeatureStore(f"{folder}/x.gd")
    with gz.DatasetWriter(f"{folder}/kinds") as writer:
        writer.add_nodes(nodes, label="y", num_classes=4)
        writer.add_edges(rng.integers(0, count, 700), rng.integers(0, count, 700))
        writer.add_split("train", rng.permutation(count)[:40])


def write_few(folder):
    """Fewer nodes than hosts, so that some ranges are empty."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    gz.convert_features(x, f"{folder}/small.gd", dtype="int8-quantised")
    with gz.DatasetWriter(f"{folder}/few") as writer:
        writer.add_nodes({"x": x, "small": gz.FeatureStore(f"{folder}/small.gd")})
        writer.add_edges([0, 1, 1], [1, 0, 1])


def write_alike(folder):
    """Attributes that only their values tell apart."""
    rows = np.arange(60, dtype=np.float32).repeat(2).reshape(60, 2)
    with gz.DatasetWriter(f"{folder}/alike") as writer:
        writer.add_nodes({"second": 1000 + rows, "first": rows})
        writer.add_edges(np.arange(60), (np.arange(60) * 7 + 1) % 60)


NAMES = ("homogeneous", "heterogeneous", "kinds", "few", "alike")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    write_homogeneous(folder)
    write_heterogeneous(folder)
    write_kinds(folder)
    write_few(folder)
    write_alike(folder)
    return folder


def stage_all(whole, folder, host, hosts, **options):
    for name in NAMES:
        keep = {"whole": "author.x"} if name == "heterogeneous" else {}
        gz.stage(whole / name, folder / name, host=host, hosts=hosts, **{"hot": 800, **keep, **options})
    return str(folder)


def stage_shares(whole, folder, **options):
    return {
        hosts: [stage_all(whole, folder / f"{host} of {hosts}", host, hosts, **options) for host in range(hosts)]
        for hosts in (2, 3)
    }


@pytest.fixture(scope="module")
def shares(whole, tmp_path_factory):
    """Folders by number of hosts and host."""
    return stage_shares(whole, tmp_path_factory.mktemp("shares"))


@pytest.fixture(scope="module")
def cold_shares(whole, tmp_path_factory):
    """The same without rows that all hosts have."""
    return stage_shares(whole, tmp_path_factory.mktemp("cold"), hot=0)


@pytest.fixture(scope="module")
def hosts():
    with (Namespaces if can_make_namespaces() else Loopback)(3) as made:
        yield made


@pytest.fixture(scope="module")
def starter(hosts):
    with starter_of(hosts, SCRIPT) as made:
        yield made


@pytest.fixture
def run(hosts, starter, tmp_path):
    with running(hosts, starter, tmp_path) as start:
        yield lambda call, data, **order: start(data, call=call, **order)


@functools.cache
def expected(case, whole, rank, world_size, **options):
    return share_ranks.hashes(case, whole, rank=rank, world_size=world_size, **options)


@pytest.mark.parametrize("has_hot", [True, False], ids=["hot rows", "no hot rows"])
@pytest.mark.parametrize("count", [2, 3])
def test_batches_are_those_of_one_process_that_has_all_rows(whole, shares, cold_shares, run, count, has_hot):
    cases, folders = list(share_ranks.CASES), (shares if has_hot else cold_shares)[count]
    for folder in folders:
        assert (gz.open(f"{folder}/homogeneous").features("x").hot is not None) == has_hot
    ranks = run("all_cases", folders, cases=cases)
    for rank in range(count):
        found = ranks.found(rank)
        for case in cases:
            options = {} if "distributed" not in share_ranks.CASES[case][3] else {"distributed": None}
            assert found[case] == expected(case, whole, rank, count, **options), (case, rank)


on_gpu = pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs a CUDA device")
# Ways that rows go through a group of torch.distributed.
GROUPS = [
    pytest.param({"options": {"exchange": "gloo"}}, id="gloo"),
    pytest.param({"options": {"exchange": "nccl", "device": "cuda"}}, id="nccl", marks=on_gpu),
]
# For a model whose gradients cross through nccl.
ON_GPU = pytest.param({"backend": "nccl", "options": {"device": "cuda"}}, id="tcp on a GPU", marks=on_gpu)


@pytest.mark.parametrize("through", [*GROUPS, ON_GPU])
@pytest.mark.parametrize("count", [2, 3])
def test_rows_may_come_through_a_group(whole, shares, run, count, through):
    cases = list(share_ranks.CASES)
    ranks = run("all_cases", shares[count], cases=cases, **through)
    for rank in range(count):
        found = ranks.found(rank)
        for case in cases:
            options = {} if "distributed" not in share_ranks.CASES[case][3] else {"distributed": None}
            assert found[case] == expected(case, whole, rank, count, **options), (case, rank)


@pytest.mark.parametrize("through", GROUPS)
@pytest.mark.parametrize(
    ("told", "kind", "problem"),
    [
        ("kill", "ConnectionError", r"rank 1 \(.+, which has the rows of host 1\) is gone: rows that are there cannot"),
        ("stop", "TimeoutError", r"rank 1 \(.+, which has the rows of host 1\) has not answered for 2 s: rows that"),
    ],
)
def test_a_rank_that_is_lost_is_named_by_groups_too(shares, run, told, kind, problem, through):
    ranks = run("trouble", shares[3], timeout=TIMEOUT_S, after=5, told={"1": told}, **through)
    for rank in (0, 2):
        found = ranks.found(rank, after=ranks.trouble(1))
        assert found["kind"] == kind, found
        assert re.match(problem, found["error"]), found


def test_rows_that_a_group_does_not_bring_are_an_error(shares, run):
    ranks = run("refused", shares[2], broken=True, options={"exchange": "gloo"})
    problem = "rows did not cross through gloo: unhandled system error; exchange='tcp' does without"
    for rank in range(2):
        found = ranks.found(rank, after=ranks.ready())
        assert found["kind"] == "ConnectionError", found
        assert problem in found["error"], found


def test_a_rank_that_is_lost_while_a_group_is_made_is_named(shares, run):
    options = {"exchange": "gloo", "exchange_timeout": TIMEOUT_S, "distributed": False}
    ranks = run("refused", shares[2], dies_making_a_group=1, options=options)
    found = ranks.found(0, after=ranks.trouble(1))
    assert found["kind"] == "ConnectionError", found
    assert re.match(
        r"rank 1 \(.+, which has the rows of host 1\) is gone: rows that are there cannot", found["error"]
    ), found


def test_ranks_that_exchange_in_different_ways_are_refused_and_may_try_again(whole, shares, run):
    ranks = run("second_try", shares[2], of_rank={"1": {"exchange": "gloo"}})
    for rank in range(2):
        found = ranks.found(rank, after=ranks.ready())
        assert found["kind"] == "ValueError", found
        problem = r"exchange: expected the same on all 2 ranks, found 'gloo' on rank 1 \(.+\) and 'tcp' on rank 0"
        assert re.match(problem, found["error"]), found
        assert found["batches"] == expected("plain", whole, rank, 2)


def test_a_rank_that_has_no_address_tells_the_others(shares, run):
    wrong = {"1": {"GLOO_SOCKET_IFNAME": "nothing7"}}
    ranks = run("refused", shares[2], options={"distributed": False}, environment_of_rank=wrong)
    problem = "GLOO_SOCKET_IFNAME: expected a network interface with an address, of .+, found 'nothing7' .+"
    found = ranks.found(0, after=ranks.ready())
    assert found["kind"] == "ConnectionError", found
    assert re.match(rf"rank 1 \(.+\) is gone: ValueError: {problem} before all ranks had made", found["error"])
    found = ranks.found(1, after=ranks.ready())
    assert found["kind"] == "ValueError", found
    assert re.match(problem, found["error"]), found


@pytest.mark.parametrize(
    ("options", "before"),
    [
        ({"features": ["y"]}, "made the same loader"),
        ({"distributed": False, "exchange_timeout": TIMEOUT_S}, "made a loader of the same data set"),
    ],
)
def test_a_store_that_does_not_answer_is_named(shares, run, options, before):
    ranks = run("keeper_stops", shares[2], options=options, answer_s=TIMEOUT_S, group_timeout=3)
    found = ranks.found(1, after=ranks.trouble(0))
    assert found["kind"] == "TimeoutError", found
    keeper = "the process that keeps the store of torch.distributed, of rank 0 or of torchrun, has not answered for"
    assert re.match(rf"{keeper} [23] s, before this rank knew that all had {before}", found["error"]), found


def test_attributes_need_not_be_in_one_order(run, shares):
    """Rows are as wide as each other: one that is taken for another would not be noticed."""
    ranks = run("any_order", shares[2])
    for rank in range(2):
        found = ranks.found(rank)
        for nodes, first, second in found["batches"]:
            assert first == [[node, node] for node in nodes]
            assert second == [[1000 + node] * 2 for node in nodes]
        assert found["shuffled"]["first"] == [[node, node] for node in range(5, 25)]
        assert found["shuffled"]["second"] == [[1000 + node] * 2 for node in range(20)]


def test_ranks_need_not_iterate_alike(whole, shares, run):
    """Loaders in any order, early ends, failures that are caught, restarts, and long pauses disturb nobody."""
    ranks = run("peace", shares[2], timeout=TIMEOUT_S)
    for rank in range(2):
        found = ranks.found(rank)
        plain = expected("plain", whole, rank, 2, epochs=4)
        val = expected("all nodes", whole, rank, 2)
        assert [found[f"train {turn}"] for turn in range(2)] == plain[:2]
        assert [found[f"val {turn}"] for turn in range(2)] == val
        assert found["left"] == plain[2][: 2 if rank == 1 else None]
        assert found["next"] == plain[3]
        assert found["caught"] if rank == 1 else "caught" not in found
        assert found["anew"] == plain[:2]
        assert found["restarted"] == plain[0]
        assert found["epoch"] == 1
        assert found["tight"] == found["slow"] == plain[0]
        assert len(found["listed"]) == -(-9 * rank // 8)
        assert found["memory"]["budget"] == 20_000_000
        assert 0 <= found["memory"]["exchange"] <= found["memory"]["budget"]
        assert min(found["stats"]["received_rows"], found["stats"]["sent_rows"]) > 0
        assert found["pickled"].startswith(
            "NeighborLoader: expected to stay in the process that made it, as hosts divide"
        )
        assert "num_workers: expected 0, as hosts divide rows" in found["workers"]
    assert (found["position"]["epoch"], found["position"]["batch"]) == (2, 2)
    with gz.open(whole / "homogeneous") as data:
        alone = share_ranks.NeighborLoader(data, [3, 2], "train", **share_ranks.COMMON, form="torch")
        assert ranks.found(0)["alone"] == [share_ranks.hash_of(batch) for batch in alone]


@pytest.mark.parametrize(
    ("told", "kind", "problem"),
    [
        ("kill", "ConnectionError", r"rank 1 \(.+, which has the rows of host 1\) is gone: rows that are there cannot"),
        ("kill and leave a child", "ConnectionError", r"rank 1 \(.+\) is gone: rows that are there cannot be had"),
        ("stop", "TimeoutError", r"rank 1 \(.+, which has the rows of host 1\) has not answered for 2 s: rows that"),
        ("raise", "ConnectionError", r"rank 1 \(.+\) is gone: it ended with ZeroDivisionError: mine: rows that"),
        ("interrupt", "ConnectionError", r"rank 1 \(.+\) is gone: it ended with KeyboardInterrupt"),
    ],
)
def test_a_rank_that_is_lost_is_named(shares, run, told, kind, problem):
    ranks = run("trouble", shares[3], timeout=TIMEOUT_S, after=5, told={"1": told})
    trouble = ranks.trouble(1)
    for rank in (0, 2):
        found = ranks.found(rank, after=trouble)
        assert found["kind"] == kind, found
        assert re.match(problem, found["error"]), found
    if told != "stop":
        killed = {"kill": -signal.SIGKILL, "kill and leave a child": -signal.SIGKILL}
        assert ranks.code(1, after=trouble) == {**killed, "raise": 1, "interrupt": -signal.SIGINT}[told]


@pytest.mark.parametrize("exchange", ["tcp", "gloo"])
def test_a_cable_that_is_pulled_is_an_error_at_both_ends(shares, hosts, run, exchange):
    """Connections stay open, and nobody is told: ranks notice by the silence, whatever time the group of the model has."""
    if not isinstance(hosts, Namespaces):
        pytest.skip("needs the rights to make network namespaces: processes on the loopback have no cable")
    options = {"timeout": TIMEOUT_S, "group_timeout": 60, "options": {"exchange": exchange}}
    ranks = run("trouble", shares[3], after=5, told={"1": "lose the network"}, **options)
    ranks.trouble(1)
    pulled = time.monotonic()
    hosts.cut(1)
    try:
        found = [ranks.found(rank, after=pulled) for rank in range(3)]
    finally:
        hosts.mend(1)
    for rank, lost in ((0, "1"), (1, "[02]"), (2, "1")):
        assert found[rank]["kind"] == "TimeoutError", found
        problem = (
            rf"rank {lost} \(.+, which has the rows of host {lost}\) has not answered for {TIMEOUT_S} s: rows that"
        )
        assert re.match(problem, found[rank]["error"]), found


@pytest.mark.parametrize("told", ["exit", "exit after an error at a prompt"])
def test_a_rank_that_has_ended_goes_on_serving_the_others(shares, run, told):
    ranks = run("trouble", shares[2], timeout=TIMEOUT_S, after=2, epochs=3, told={"1": told})
    assert [ranks.found(rank)["numbers"] for rank in range(2)] == [18, 2]


def test_a_rank_that_has_ended_does_not_wait_for_others_for_ever(shares, run):
    ranks = run("trouble", shares[2], timeout=1, after=6, epochs=2, pause=4, told={"1": "exit"})
    trouble = ranks.trouble(1)
    found = ranks.found(0, after=trouble)
    assert found["kind"] == "ConnectionError"
    assert re.match(r"rank 1 \(.+\) is gone: its script had ended", found["error"]), found
    assert ranks.found(1, after=trouble) == {"numbers": 6}


def test_ranks_of_one_host_share_its_folder(whole, shares, run):
    first, second = shares[2]
    ranks = run("all_cases", [first, second, first, first], cases=["plain"])
    for rank in range(4):
        assert ranks.found(rank)["plain"] == expected("plain", whole, rank, 4)


def test_folders_that_do_not_belong_together_are_refused(whole, shares, run, tmp_path):
    other = stage_all(whole, tmp_path / "other", 1, 2, hot=400)
    without = stage_all(whole, tmp_path / "without", 1, 2, hot=0)
    first = shares[2][0]
    cases = {
        "hot": ([first, other], r"data: x of 'node': rows that all hosts have: expected the same on all 2 ranks, which "),
        "none": ([first, without], r"data: x of 'node': rows that all hosts have: .+; found 0x.+ on rank 0 \(.+\); none on"),
        "ranges": ([first, shares[3][1]], r"data: rows of x of 'node': expected the same .+ found divided among 2 hosts on rank 0 .+ 3 hosts on"),
        "twice": ([first, first], r"data: expected ranks with the rows of all 2 hosts, found none with those of host 1, but "
                  r"host 0 on ranks 0 and 1 \(.+\); start a rank on each host"),
    }  # fmt: skip
    for folders, problem in cases.values():
        ranks = run("refused", folders)
        for rank in range(2):
            found = ranks.found(rank, after=ranks.ready())
            assert found["kind"] == "ValueError", found
            assert re.match(problem, found["error"]), found


def test_ranks_of_which_some_have_all_rows_are_refused(whole, shares, run):
    """Someone forgot --host on one of the machines."""
    ranks = run("refused", [str(whole), shares[2][1]])
    problem = (
        r"data: rows of x of 'node': expected the same on all 2 ranks, .+ all on each host on rank 0 \(.+\); divided "
        r"among 2 hosts on rank 1 .+ or stage a share of it on each with the same hosts="
    )
    for rank in range(2):
        found = ranks.found(rank, after=ranks.ready())
        assert found["kind"] == "ValueError", found
        assert re.match(problem, found["error"]), found


def test_a_rank_that_ends_before_all_have_come_is_named(shares, run):
    ranks = run("ends_early", shares[3], timeout=TIMEOUT_S)
    trouble = ranks.trouble(1)
    assert ranks.found(1, after=trouble) == {"numbers": 0}
    for rank in (0, 2):
        found = ranks.found(rank, after=trouble)
        assert found["kind"] == "ConnectionError", found
        problem = (
            r"rank 1 \(.+, which has the rows of host 1\) is gone: its script had ended before all ranks had made a"
        )
        assert re.match(problem, found["error"]), found


def test_a_forked_process_does_not_go_on_with_an_iteration(shares, run):
    ranks = run("forks", shares[2])
    for rank in range(2):
        found = ranks.found(rank, after=ranks.ready())
        assert found["child"].startswith("this iteration is that of another process: begin one of this process"), rank


def test_a_rank_without_a_loader_is_named(shares, run):
    ranks = run("refused", shares[2], absent=[1], group_timeout=2, options={"distributed": False})
    found = ranks.found(0, after=ranks.ready())
    assert found["kind"] == "TimeoutError"
    assert re.match(r"rank 1: expected a loader of the same data set on all 2 ranks, which send each", found["error"])


def test_a_budget_that_holds_no_batch_is_refused(shares, run):
    ranks = run("refused", shares[2], options={"memory": 900_000})
    for rank in range(2):
        found = ranks.found(rank, after=ranks.ready())
        assert found["kind"] == "ValueError"
        problem = (
            r"memory: expected at least \d+ MB, found 900.0 kB, of which sampling gets 450.0 kB and needs \d MB; give"
        )
        assert re.match(problem, found["error"]), found


def test_too_little_room_for_messages_is_refused(shares, run):
    ranks = run("too_little_room", shares[2])
    for rank in range(2):
        problem = "memory: expected room for a row of 32 bytes for each of 1 other ranks, found 12 B"
        assert ranks.found(rank, after=ranks.ready())["error"].startswith(problem)


@pytest.fixture(scope="module")
def alone(whole, tmp_path_factory):
    """The folder of the only host there is: no rows are elsewhere."""
    return stage_all(whole, tmp_path_factory.mktemp("alone"), 0, 1)


@pytest.mark.parametrize("case", [case for case in share_ranks.CASES if "link" not in case])
def test_one_host_needs_no_other(whole, alone, case):
    assert share_ranks.hashes(case, alone) == share_ranks.hashes(case, whole)


def test_workers_of_one_host_have_the_same_batches(whole, alone):
    loader = share_ranks.loader_of("plain", alone)
    workers = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=1)
    assert [share_ranks.hash_of(batch) for batch in workers] == share_ranks.hashes("plain", whole, epochs=1)[0]


def test_rows_of_a_batch_that_exceed_the_budget_are_refused(alone):
    from graphzero.loaders._epoch.ahead import AheadBatches

    loader = share_ranks.loader_of("plain", alone)
    feed = loader._open()
    batches = AheadBatches(feed.pipeline.share(0, 1), feed._shared, 200, None)
    problem = (
        r"memory: expected at least 1 MB, found 200 B, of which 75 B are for batches whose rows hosts divide: one takes"
    )
    with pytest.raises(ValueError, match=problem):
        next(batches)
    batches.close()
    with pytest.raises(RuntimeError, match="this iteration is over: another one began, or the loader was set"):
        next(batches)


def test_a_process_alone_is_told_to_use_torchrun(shares):
    data = gz.open(f"{shares[2][1]}/homogeneous")
    problem = (
        r"data: x of 'node': expected the rows of all hosts, found those of host 1 of 2: ranks send each other the rest; "
        r"start one on each host with torchrun"
    )
    with pytest.raises(ValueError, match=problem):
        share_ranks.NeighborLoader(data, [2], "train")
    batch = next(iter(share_ranks.NeighborLoader(data, [2], "train", features=["y"], form="torch")))
    assert "y" in batch
    assert "x" not in batch


def test_rows_that_are_here_can_be_read(whole, shares):
    data, all_rows = gz.open(f"{shares[2][1]}/homogeneous"), gz.open(whole / "homogeneous")
    x, expected_rows = data.features("x"), all_rows.features("x").get_tensor()
    hot = x.hot_ids.get_tensor()
    here = np.concatenate([hot, np.arange(150, 300), hot[:1]])
    assert np.array_equal(x.gather(here), expected_rows[here])
    out = np.empty((3, 6), dtype=np.float16)
    x.gather(here[:3], out, dtype="float16")
    assert np.array_equal(out, expected_rows[here[:3]].astype(np.float16))
    assert np.array_equal(x.get_data(299), expected_rows[299])
    elsewhere = min(set(range(150)) - set(hot.tolist()))
    with pytest.raises(
        ValueError, match=f"row {elsewhere} is on host 0, and here are those of host 1: loaders bring rows"
    ):
        x.gather([200, elsewhere])
    with pytest.raises(ValueError, match=r"out: expected shape \(1, 6\) of float32, found \(2, 6\) of float32"):
        x.gather([200], np.empty((2, 6), dtype=np.float32))
    with pytest.raises(IndexError, match="expected a row below 300, found 300"):
        x.gather([300])
    for refused in (x.get_tensor, x.as_torch, lambda: np.asarray(x), lambda: data.x, lambda: x.scales_of([200])):
        with pytest.raises(
            ValueError, match="expected all rows, found those of host 1 of 2: loaders bring those of other"
        ):
            refused()
    with pytest.raises(ValueError, match="expected all rows, found those of host 1 of 2"):
        gz.Pipeline(data, [0], [2])
    assert x.shape == (300, 6)
    assert "150 of 300 rows of 6 × float32, those of host 1 of 2" in repr(x)
    assert "x 6 × float32" in repr(data)
    assert data.graph.num_edges == all_rows.graph.num_edges
    data.close()
    assert repr(x).endswith("closed)")


def test_options_of_an_exchange_are_checked(shares, monkeypatch):
    data = gz.open(f"{shares[2][1]}/homogeneous")
    with pytest.raises(ValueError, match="exchange: expected one of .*, found 'mpi'"):
        share_ranks.NeighborLoader(data, [2], "train", exchange="mpi")
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: False)
    with pytest.raises(ValueError, match="exchange: expected 'tcp' or None, found 'nccl', which torch .+ lacks"):
        share_ranks.NeighborLoader(data, [2], "train", exchange="nccl")
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    for device, found in ((None, "no device"), ("cpu", "device='cpu'")):
        problem = f"exchange: expected a CUDA device with 'nccl', such as device='cuda', found {found}"
        with pytest.raises(ValueError, match=problem):
            share_ranks.NeighborLoader(data, [2], "train", exchange="nccl", device=device)
    for wrong in (0, 1e-9, -1, 1e6, float("nan"), True, "3", [1], np.ones(2)):
        problem = rf"exchange_timeout: expected a number of seconds, from 0.1 to less than 1000000, found {re.escape(repr(wrong))}"
        with pytest.raises(ValueError, match=problem):
            share_ranks.NeighborLoader(data, [2], "train", exchange_timeout=wrong)
    for right in (0.1, 3, np.float32(3), np.int64(3)):
        share_ranks.NeighborLoader(data, [2], "train", features=["y"], exchange_timeout=right)


def test_gloo_is_refused_by_a_torch_without_it(shares, monkeypatch):
    data = gz.open(f"{shares[2][1]}/homogeneous")
    monkeypatch.setattr(torch.distributed, "is_gloo_available", lambda: False)
    with pytest.raises(ValueError, match="exchange: expected 'tcp' or None, found 'gloo', which torch .+ lacks"):
        share_ranks.NeighborLoader(data, [2], "train", exchange="gloo")


def test_rows_come_whatever_the_backend_of_the_group_of_the_model(whole, shares, run):
    """As with nccl, which needs GPUs: the default group here sends nothing at all, and only its store is used."""
    ranks = run("all_cases", shares[2], cases=["plain"], backend="fake")
    for rank in range(2):
        assert ranks.found(rank)["plain"] == expected("plain", whole, rank, 2)


def test_a_share_is_not_edited(shares):
    with pytest.raises(
        ValueError, match="path: expected a whole data set, found a host's share of x: change the data set"
    ):
        gz.edit_dataset(f"{shares[2][0]}/homogeneous")


def test_a_restart_goes_on_where_the_last_one_ended(whole, shares, hosts, tmp_path):
    """Torchrun starts all ranks again when one is killed, and the batches are those that would have come."""
    order = {"call": "training", "timeout": 5, "dies": [1, 0, 3]}
    with Torchrun(hosts, SCRIPT, tmp_path, C10D, shares[2], **order) as ranks:
        assert ranks.wait_for_restart(dies=1) == [0, 0], ranks.said()
    for rank in range(2):
        steps = [json.loads(line) for line in (tmp_path / f"{rank}.jsonl").read_text().splitlines()]
        found = {(epoch, number): digest for epoch, number, digest in steps}
        assert len(steps) <= len(found) + 2  # a step or two again, not the whole epoch
        of_all = expected("plain", whole, rank, 2)
        assert found == {(epoch, number): one for epoch, each in enumerate(of_all) for number, one in enumerate(each)}
        for epoch, number, digest in steps:
            assert digest == of_all[epoch][number]
