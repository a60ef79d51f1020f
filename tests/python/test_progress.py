"""Whatever takes ``progress`` takes ``True`` for a bar, and a function to call."""

import threading
import time

import numpy as np
import pytest

import data_sets
import graphzero as gz
from graphzero._files.progress import watching


def source():
    np.save("x.npy", np.zeros((4, 3), np.float32))
    return "x.npy"


def dataset(path):
    with gz.DatasetWriter(path) as writer:
        writer.add_nodes({"x": np.zeros((4, 3), np.float32)})
        writer.add_edges([0, 0, 1, 3], [1, 2, 2, 0])
    return gz.open(path)


def iterate(batches):
    for _ in batches:
        pass


def loader(progress):
    data_sets.pyg()
    iterate(gz.loaders.NeighborLoader(dataset("ds"), [2], batch_size=2, progress=progress))


def inference(progress):
    data_sets.pyg()
    gz.inference(None, dataset("ds"), "y.gd", layers=[lambda x, edge_index: x], progress=progress)


# What is told, and all there is of each step.
RUNS = {
    "convert_edges": (lambda told: gz.convert_edges(([0, 1], [1, 2]), "o.gl", progress=told), [2, 4]),
    "convert_edges, labels": (lambda told: gz.convert_edges((["a"], ["b"]), "o.gl", progress=told), [None, 1, 2]),
    "convert_features": (lambda told: gz.convert_features(source(), "o.gd", progress=told), [48]),
    "convert_features, order": (
        lambda told: gz.convert_features(source(), "o.gd", order=[3, 1, 2, 0], progress=told),
        [48, None, 96],
    ),
    "convert_dataset": (
        lambda told: gz.convert_dataset(data_sets.pyg_data(), "o", progress=told),
        [60, 40, 5, 6, 12, 48],
    ),
    "reorder": (lambda told: gz.reorder("tiny.gd", "o.gd", order=[3, 1, 2, 0], progress=told), [None, 96]),
    "synthesize": (lambda told: gz.synthesize("o", 100, 500, features=4, progress=told), [500, 1000, 100]),
    "verify": (lambda told: gz.verify("tiny.gl", progress=told), [49_152]),
    "inference": (inference, [4]),
    "Pipeline": (lambda told: iterate(gz.Pipeline(gz.Graph("tiny.gl"), None, [2], batch_size=2, progress=told)), [2]),
    "NeighborLoader": (loader, [2]),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_function_is_told_each_step_to_its_end(name, tiny_gl, tiny_gd, capfd):
    job, totals = RUNS[name]
    told = []
    job(lambda done, total: told.append((done, total)))
    steps = {total: [done for done, of in told if of == total] for _, total in told}
    assert list(steps) == totals
    for total, done in steps.items():
        assert done[-1] == (done[-1] if total is None else total) >= max(done)
    assert capfd.readouterr().err == ""


def test_a_function_is_called_while_a_step_runs():
    told, seen = [], threading.Event()

    def tell(done, total):
        told.append((done, total))
        seen.set()

    with watching(tell, "working", 7, "rows", lambda: 3):
        assert seen.wait(10)
    assert (told[0], told[-1]) == ((3, 7), (7, 7))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_raised_too(kind):
    def fail(done, total):
        raise kind

    with pytest.raises(kind), watching(fail, "working", 7, "rows", lambda: 3):
        time.sleep(0.3)


def test_what_a_function_raises_is_raised():
    def fail(done, total):
        raise LookupError(f"{done} of {total}")

    with pytest.raises(LookupError, match="^3 of 7$"), watching(fail, "working", 7, "rows", lambda: 3):
        time.sleep(0.3)
    with pytest.raises(LookupError, match="^2 of 2$"):
        gz.convert_edges(([0, 1], [1, 2]), "o.gl", progress=fail)
