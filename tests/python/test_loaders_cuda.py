"""Batches on a CUDA device: the same as on the host, and nothing is left there."""

import gc
import itertools

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg
from pipeline_cases import write_world

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    pyg()
    world = write_world(tmp_path_factory.mktemp("world"))
    gz.write_features(f"{world.folder}/half.gd", world.x.astype(np.float16))
    gz.write_features(f"{world.folder}/bf16.gd", torch.from_numpy(world.x).bfloat16())
    gz.convert_features(f"{world.folder}/x.gd", f"{world.folder}/int8.gd", dtype="int8-quantised")
    return world


def loader(world, name="x", **options):
    from graphzero.loaders import NeighborLoader

    stores = {"x": world.store(name), "y": world.store("y")}
    given = {"batch_size": 100, "shuffle": True, "seed": 3, "edge_features": world.store("w"), "memory": "60MB"}
    return NeighborLoader((world.graph, stores), [4, 3], **{**given, **options})


def assert_same_batches(found, expected):
    count = 0
    for one, other in zip(found, expected, strict=True):
        count += 1
        assert one.keys() == other.keys()
        for name in other.keys():  # noqa: SIM118 (a Data is no dict)
            if isinstance(other[name], torch.Tensor):
                assert one[name].is_cuda
                assert one[name].dtype == other[name].dtype, name
                torch.testing.assert_close(one[name].cpu(), other[name], rtol=0, atol=0)
            else:
                assert one[name] == other[name]
    assert count > 0


@pytest.mark.parametrize("name", ["x", "hot", "half", "bf16", "int8"])
@pytest.mark.parametrize("reader", ["mmap", "direct"])
@pytest.mark.parametrize("gpu_cache", [None, "60kB", "1GB", "auto"])
def test_batches_are_those_of_the_host(world, name, reader, gpu_cache):
    ours = loader(world, name, reader=reader, device="cuda", gpu_cache=gpu_cache)
    theirs = loader(world, name, reader=reader)
    for _ in range(2):
        assert_same_batches(ours, theirs)
    stats = ours.stats()
    assert stats["pinned_bytes"] > 0
    assert (stats["gpu_cache_bytes"] > 0) == (gpu_cache is not None)
    assert (stats["on_device_rows"] > 0) == (gpu_cache is not None)


def test_int8_rows_stay_int8_on_the_device(world):
    ours = loader(world, "int8", device="cuda", gpu_cache="1GB")
    next(iter(ours))
    assert ours.stats()["gpu_cache_bytes"] == 2000 * (25 + 4 + 8)  # items, scale, label


def test_rows_come_after_some_batches_and_the_model_goes_on(world):
    """All of them: after that nothing is read, and positions are those of a loader without."""
    gc.collect()  # loaders of other tests, which have rows to share
    options = {"device": "cuda", "edge_features": None}
    ours, theirs = loader(world, reader="direct", **options), loader(world, gpu_cache=None, **options)
    assert ours.stats()["gpu_cache"] == "auto: waits for 8 batches, which show what the model needs"
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert torch.equal(one.x, other.x)
        if number < 19:
            assert ours.state_dict() == theirs.state_dict()
        assert ours.stats()["gpu_cache_rows"] == (0 if number < 8 else 4000)
    stats = ours.stats()
    assert stats["gpu_cache"].startswith("auto: all rows, 216.0 kB; ")
    assert_same_batches(ours, loader_at(theirs, 1))
    assert ours.stats()["device_reads"] == stats["device_reads"]


def loader_at(loader, epoch):
    loader.set_epoch(epoch)
    return (batch.cpu() for batch in loader)


LIMIT, STEP = 1_200_000_000, 16 << 20


def train_growing(graph, store, steps, **options):
    """A model that comes to hold more with every batch; returns the bytes of rows beside it."""
    from graphzero.loaders import NeighborLoader

    ours = NeighborLoader((graph, store), [3], batch_size=1000, seed=1, memory="200MB", device="cuda", **options)
    model, rows = [], []
    batches = iter(ours)
    for _ in range(steps):
        batch = next(batches)
        model.append(torch.zeros(STEP // 4, device="cuda"))
        activations = batch.x.sum() + torch.zeros(STEP // 4, device="cuda").sum()
        assert torch.isfinite(activations)
        rows.append(ours.stats()["gpu_cache_bytes"])
    ours.close()
    return rows


def test_a_model_that_grows_does_not_run_out_of_memory_because_of_rows(tmp_path, monkeypatch):
    """600 MB of rows; torch may have 1.2 GB, which the model comes to need but for what batches take."""
    monkeypatch.setattr("graphzero.loaders._device.gpu_memory._LEAST_MARGIN", 64_000_000)
    monkeypatch.setattr("graphzero.loaders._device.gpu_memory._LEAST_ROOM", 1_000_000)
    count = 300_000
    rng = np.random.default_rng(0)
    gz.write_graph(f"{tmp_path}/g.gl", *rng.integers(0, count, (2, 600_000)), num_nodes=count)
    gz.write_features(f"{tmp_path}/x.gd", np.ones((count, 500), np.float32))
    graph, store = gz.Graph(f"{tmp_path}/g.gl"), gz.FeatureStore(f"{tmp_path}/x.gd")
    gc.collect()
    torch.cuda.empty_cache()
    total = torch.cuda.mem_get_info()[1]
    steps = (LIMIT - 250_000_000) // STEP
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + LIMIT) / total)
    try:
        assert train_growing(graph, store, steps, gpu_cache=None) == [0] * steps
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        rows = train_growing(graph, store, steps)
        assert max(rows) > 300_000_000
        assert rows[-1] < max(rows) / 3
        given_back = [one > two for one, two in itertools.pairwise(rows)]
        taken = [one < two for one, two in itertools.pairwise(rows)]
        assert sum(taken) == 1
        assert sum(given_back) <= 12
        torch.cuda.empty_cache()
        with pytest.raises(torch.cuda.OutOfMemoryError):  # the test would notice
            train_growing(graph, store, steps, gpu_cache=max(rows))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        gc.collect()
        torch.cuda.empty_cache()


def test_links_and_types(world):
    from graphzero.loaders import LinkNeighborLoader, NeighborLoader

    links = (world.src[:500], world.dst[:500])
    for options in ({"neg_sampling": "binary"}, {"neg_sampling": ("triplet", 2)}, {"disjoint": True}):
        made = [
            LinkNeighborLoader(
                (world.graph, world.store("x")), [3, 2], links, batch_size=50, seed=1, device=device, **options
            )
            for device in ("cuda", None)
        ]
        assert_same_batches(*made)
    graphs = {("a", "to", "a"): world.graph, ("a", "rev_to", "a"): world.graph}
    made = [
        NeighborLoader((graphs, {"a": world.store("x")}), [3, 2], "a", batch_size=50, seed=1, device=device, **more)
        for device, more in (("cuda", {"gpu_cache": "50kB"}), (None, {}))
    ]
    for one, other in zip(*made, strict=True):
        torch.testing.assert_close(one["a"].x.cpu(), other["a"].x, rtol=0, atol=0)
        for triple in graphs:
            torch.testing.assert_close(one[triple].edge_index.cpu(), other[triple].edge_index, rtol=0, atol=0)


def test_memory_is_not_used_again_while_the_device_reads_it(world):
    """Slow work on the model's stream, and batches that are dropped at once."""
    sums, busy = [], torch.randn(2048, 2048, device="cuda")
    for batch in loader(world, device="cuda", batch_size=20):
        for _ in range(10):
            busy = torch.nn.functional.normalize(busy @ busy)
        sums.append((batch.x.double().sum(), batch.n_id.clone()))
    for total, ids in sums:
        assert abs(total.item() - world.x[ids.cpu().numpy()].astype(np.float64).sum()) < 1e-6


def test_state_tells_the_batch_that_was_handed_out(world):
    ours = loader(world, device="cuda")
    batches = iter(ours)
    for _ in range(4):
        next(batches)
    state = ours.state_dict()
    assert state["batch"] == 4
    resumed = loader(world, device="cuda")
    resumed.load_state_dict(state)
    rest = list(resumed)
    assert len(rest) == len(ours) - 4
    torch.testing.assert_close(rest[0].n_id, next(batches).n_id)


def test_ten_epochs_leave_nothing_behind(world):
    ours = loader(world, device="cuda", gpu_cache="50kB")

    def held():
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated(), ours.stats()["pinned_bytes"]

    for batch in ours:
        del batch
    before = held()
    for _ in range(9):
        for batch in ours:
            del batch
    device, pinned = held()
    assert device <= before[0] + (4 << 20)
    assert pinned <= 1.3 * before[1]
    ours.close()


def test_a_device_that_is_not_there(world):
    with pytest.raises(ValueError, match=r"device: expected one of \d+ CUDA devices .* found 'cuda:99'"):
        loader(world, device="cuda:99")


def test_a_data_set_on_the_device_as_scripts_use_it(tmp_path):
    from torch_geometric.nn import GraphSAGE

    from graphzero.loaders import NeighborLoader

    torch.manual_seed(0)
    data = pyg().Data(x=torch.randn(300, 8), y=torch.arange(300) % 3, edge_index=torch.randint(300, (2, 2000)))
    gz.convert_dataset(data, tmp_path / "data")
    data = gz.open(tmp_path / "data")[0].to("cuda", "x", "y")
    model = GraphSAGE(8, 8, num_layers=2, out_channels=3).cuda().eval()
    with torch.no_grad():
        whole = model(data.x, data.edge_index)
        for batch in NeighborLoader(data, [-1, -1], batch_size=64):
            assert batch.x.is_cuda
            assert batch.y.is_cuda
            out = model(batch.x, batch.edge_index.to("cuda"))[: batch.batch_size]
            torch.testing.assert_close(out, whole[batch.n_id[: batch.batch_size]], rtol=1e-4, atol=1e-4)
        found = model.inference(NeighborLoader(data, [-1], batch_size=100), device="cuda")
    torch.testing.assert_close(found, whole.cpu(), rtol=1e-4, atol=1e-4)
