"""A mapped file that shrinks under us is an error that names it, not the end of the process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz

SHRANK = "the file shrank while it was mapped: expected .* bytes, found 4096"


@pytest.fixture
def big_gl(tmp_path):
    gz.write_graph("big.gl", np.zeros(100_000, np.int64), np.arange(100_000))
    return "big.gl"


@pytest.fixture
def big_gd(tmp_path):
    gz.write_features("big.gd", np.ones((100_000, 8), dtype=np.float32))
    return "big.gd"


def test_the_next_engine_call_names_the_graph(big_gl):
    g = gz.Graph(big_gl)
    os.truncate(big_gl, 4096)
    for call in (lambda: g.degree([0]), lambda: g.neighbors(0), lambda: g.indices, lambda: g.get_neighbours(1)):
        with pytest.raises(OSError, match=f"{SHRANK}.*'big.gl'"):
            call()


def test_the_next_engine_call_names_the_features(big_gd):
    fs = gz.FeatureStore(big_gd)
    fs.get_tensor()
    os.truncate(big_gd, 4096)
    for call in (lambda: fs.get_data(99_999), lambda: fs.get_tensor(), lambda: fs.get_tensor(writable=False)):
        with pytest.raises(OSError, match=f"{SHRANK}.*'big.gd'"):
            call()


def run(code, env=None):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize("faulthandler", [True, False])
def test_a_view_reads_zeros_and_the_process_lives(big_gd, writable, faulthandler):
    result = run(f"""
import faulthandler, os, graphzero as gz
if {faulthandler}: faulthandler.enable()
fs = gz.FeatureStore("big.gd")
tensor = fs.get_tensor(writable={writable})
assert tensor[50_000].tolist() == [1] * 8
os.truncate("big.gd", 1 << 20)
assert tensor[99_999].tolist() == [0] * 8
assert tensor[0].tolist() == [1] * 8                # what is still there is still right
if {writable}: tensor[99_998] = 5
try:
    fs.get_data(0)
except OSError as error:
    print(error)
""")
    assert result.returncode == 0, result.stderr
    assert "the file shrank while it was mapped: expected 3207168 bytes, found 1048576" in result.stdout
    assert result.stderr.count("graphzero: big.gd: the mapped file shrank or could not be read") == 1


def test_a_file_that_grew_back_is_still_reported(big_gd):
    result = run("""
import os, graphzero as gz
fs = gz.FeatureStore("big.gd")
tensor = fs.get_tensor(writable=False)
size = os.path.getsize("big.gd")
os.truncate("big.gd", 4096)
tensor[99_999].sum()
os.truncate("big.gd", size)
try:
    fs.get_tensor(writable=False)
except OSError as error:
    print(error)
""")
    assert result.returncode == 0, result.stderr
    assert "a page of the mapped file could not be read" in result.stdout


def test_a_file_cut_during_a_call_fails_that_call(big_gl):
    """The cut happens while verify reads: either the check before or the one after sees it."""
    from sparse import write_sparse_gl

    write_sparse_gl("sparse.gl", num_nodes=1 << 26, num_edges=1 << 26)
    result = run("""
import os, threading, graphzero as gz
threading.Timer(0.1, lambda: os.truncate("sparse.gl", 1 << 20)).start()
try:
    while True: gz.verify("sparse.gl")
except (OSError, gz.FormatError) as error:
    print(error)
""")
    assert result.returncode == 0, result.stderr
    assert "sparse.gl" in result.stdout


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_faults_of_others_reach_their_handler(tmp_path):
    """A SIGBUS that is not ours kills as before, with faulthandler's traceback if that is on."""
    code = """
import faulthandler, mmap, os, graphzero as gz
gz.write_features("x.gd", [1.0]); fs = gz.FeatureStore("x.gd")
{first}
gz.FeatureStore("x.gd")
with open("other", "wb") as f: f.truncate(1 << 16)
with open("other", "rb") as f: m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
os.truncate("other", 0)
m[5000]
"""
    for first in ("", "faulthandler.enable()"):
        result = run(code.format(first=first))
        assert result.returncode == -7
        assert ("Fatal Python error: Bus error" in result.stderr) == bool(first)


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_fault_of_what_is_mapped_next_at_the_same_place_is_not_ours(big_gd, shim):
    """Nothing comes between the end of the guard and the end of the mapping; here another thread is that quick."""
    result = run("import graphzero as gz; gz.FeatureStore('big.gd').close()", shim(f"unmap:{os.path.getsize(big_gd)}"))
    assert (result.returncode, result.stderr) == (-7, "")


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_bus_signal_sent_by_hand_still_kills(tmp_path):
    result = run("""
import os, signal, graphzero as gz
gz.write_features("x.gd", [1.0]); fs = gz.FeatureStore("x.gd")
os.kill(os.getpid(), signal.SIGBUS)
""")
    assert result.returncode == -7


def test_a_worker_of_torch_survives_too(big_gd):
    pytest.importorskip("torch")
    result = run("""
import os, torch, graphzero as gz

class Rows:
    def __init__(self): self.fs = gz.FeatureStore("big.gd")
    def __len__(self): return 1
    def __getitem__(self, i):
        fs = gz.FeatureStore("big.gd")              # opened after torch set its own SIGBUS handler
        tensor = fs.get_tensor(writable=False)
        os.truncate("big.gd", 4096)
        zeros = float(tensor[99_999].sum())
        try:
            fs.get_data(0)
        except OSError as error:
            return str(error), zeros

print(next(iter(torch.utils.data.DataLoader(Rows(), batch_size=None, num_workers=1, multiprocessing_context="fork"))))
""")
    assert result.returncode == 0, result.stderr
    assert "the file shrank" in result.stdout


@pytest.fixture
def with_splits(tmp_path):
    """A data set of which only the splits will be cut; none of them has a 0 behind its first page."""
    with gz.DatasetWriter("cut") as writer:
        writer.add_nodes({"x": np.ones((20_000, 2), dtype=np.float32)})
        writer.add_edges(np.arange(20_000), (np.arange(20_000) + 1) % 20_000)
        writer.add_split("train", np.arange(20_000))
        writer.add_split("links", np.arange(20_000), of=("node", "to", "node"))
    return "cut"


def test_batches_of_a_split_that_shrinks_end_with_an_error(with_splits):
    with gz.open(with_splits) as data, gz.Pipeline(data, "train", [1], batch_size=100, ahead=2) as batches:
        iterator = iter(batches)
        next(iterator)
        os.truncate("cut/splits/train/node.gd", 4096)
        with pytest.raises(OSError, match=f"{SHRANK}.*splits/train/node.gd"):
            for batch in iterator:
                assert batch.sample.node[0] != 0


def test_a_split_that_was_cut_is_no_mask_and_no_list_of_links(with_splits, monkeypatch):
    torch = pytest.importorskip("torch")
    from graphzero._dataset.all_edges import some_edges

    with gz.open(with_splits) as data:
        ids = data.split("links", ("node", "to", "node"))
        os.truncate("cut/splits/links/node__to__node.gd", 4096)
        with pytest.raises(OSError, match=f"{SHRANK}.*splits/links"):
            some_edges(data.graph, ids, "links")
        meant = torch.zeros
        cut = lambda *given, **options: (os.truncate("cut/splits/train/node.gd", 4096), meant(*given, **options))[1]
        monkeypatch.setattr(torch, "zeros", cut)
        with pytest.raises(OSError, match=f"{SHRANK}.*splits/train"):
            data.train_mask  # noqa: B018 (made when it is asked for)
