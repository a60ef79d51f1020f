"""Two processes that torch.distributed joins: each takes its part, and together they train as one would."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch

import ddp_training
from loader_cases import write_homogeneous

pytestmark = pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


NCCL = pytest.param("nccl", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"))


@pytest.fixture(scope="module", params=["gloo", NCCL])
def reports(data, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("reports")
    outs = [folder / f"{rank}.json" for rank in range(2)]
    script, init = pathlib.Path(ddp_training.__file__), folder / "init"
    processes = [
        subprocess.Popen([sys.executable, script, str(rank), "2", init, data.dataset.path, out, request.param])
        for rank, out in enumerate(outs)
    ]
    try:
        assert [process.wait(timeout=120) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    return [json.loads(out.read_text()) for out in outs]


def test_ranks_agree_on_a_seed(reports):
    assert reports[0]["seed"] == reports[1]["seed"]


def test_ranks_share_each_epoch(reports):
    """90 seeds in batches of 16: 45 seeds and three steps for each rank."""
    orders = []
    for epoch in range(ddp_training.NUM_EPOCHS):
        steps = [report["steps"][3 * epoch : 3 * epoch + 3] for report in reports]
        assert [[len(step["input_id"]) for step in part] for part in steps] == [[16, 16, 13]] * 2
        taken = [place for part in steps for step in part for place in step["input_id"]]
        assert sorted(taken) == list(range(90))
        orders.append(taken)
    assert orders[0] != orders[1]
    assert [len(report["steps"]) for report in reports] == [6, 6]


def test_gradients_are_equal_at_all_ranks(reports):
    for one, other in zip(reports[0]["steps"], reports[1]["steps"], strict=True):
        assert one["gradients"] == other["gradients"]
        assert any(value != 0 for values in one["gradients"] for value in values)
    assert reports[0]["weights"] == reports[1]["weights"]


def test_ranks_train_as_one_process_would_on_the_batches_of_both(data, reports):
    model = ddp_training.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"world_size": 2, "seed": reports[0]["seed"]}
    parts = [ddp_training.loader(data.dataset, rank=rank, **options) for rank in range(2)]
    for _ in range(ddp_training.NUM_EPOCHS):
        for batches in zip(*parts, strict=True):
            optimizer.zero_grad()
            (sum(ddp_training.loss_of(model, batch) for batch in batches) / 2).backward()
            optimizer.step()
    for found, expected in zip(ddp_training.weights(model), reports[0]["weights"], strict=True):
        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected))
