"""Whatever takes ``progress`` takes ``True`` for a bar, and a function to call."""

import os
import pathlib
import threading

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
    called = threading.Event()

    def fail(done, total):
        called.set()
        raise kind

    with pytest.raises(kind), watching(fail, "working", 7, "rows", lambda: 3):
        assert called.wait(20)


def test_what_a_function_raises_is_raised():
    called = threading.Event()

    def fail(done, total):
        called.set()
        raise LookupError(f"{done} of {total}")

    with pytest.raises(LookupError, match="^3 of 7$"), watching(fail, "working", 7, "rows", lambda: 3):
        assert called.wait(20)
    with pytest.raises(LookupError, match="^[012] of 2$"):
        gz.convert_edges(([0, 1], [1, 2]), "o.gl", progress=fail)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_function_that_raises_at_the_end_leaves_the_old_files(steps):
    pathlib.Path("e.csv").write_text("a,b\nb,c\n")
    np.save("x.npy", np.eye(3))
    gz.write_features("y.gd", np.eye(3))
    left = [steps]

    def fail(done, total):  # in the last step of all
        if done == total:
            left[0] -= 1
            if not left[0]:
                raise LookupError("stopped")

    verbs = {
        "g.gl": lambda: gz.convert_edges(([0, 1], [1, 2]), "g.gl", progress=fail),
        "l.gl": lambda: gz.convert_edges("e.csv", "l.gl", header=False, progress=fail),
        "x.gd": lambda: gz.convert_features("x.npy", "x.gd", progress=fail),
        "o.gd": lambda: gz.convert_features("x.npy", "o.gd", order=[2, 1, 0], progress=fail),
        "r.gd": lambda: gz.reorder("y.gd", "r.gd", order=[2, 1, 0], progress=fail),
    }
    for name, verb in verbs.items():
        if steps > 1 and name in ("x.gd", "r.gd"):
            continue  # they have one
        pathlib.Path(name).write_bytes(b"old")
        pathlib.Path("l.gi").write_bytes(b"old")
        left[0] = steps
        with pytest.raises(LookupError, match="stopped"):
            verb()
        assert pathlib.Path(name).read_bytes() == pathlib.Path("l.gi").read_bytes() == b"old", name
    assert not [name for name in os.listdir() if name.endswith(".graphzero-tmp")]
