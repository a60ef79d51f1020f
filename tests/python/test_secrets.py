"""A URL may have credentials in it. Nothing that anybody reads, or that stays on disk, has them."""

import contextlib
import functools
import http.server
import os
import pickle
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
from graphzero._files.storage import located, read_range, shown_url
from graphzero.cli.command import run
from graphzero.convert import sharded, sharded_features
from graphzero.ids import IdBuilder

SECRETS = ("AKIAKEY", "verysecret")
# In the user's place, in the settings, with a slash that should be %2F, and of other schemes.
URLS = {
    "user": "s3://AKIAKEY:verysecret@bucket/x",
    "setting": "s3://bucket/x?secret_key=verysecret&access_key=AKIAKEY",
    "slash": "s3://AKIAKEY:very/verysecret@bucket/x",
    "signed": "https://host.test/x?X-Amz-Credential=AKIAKEY&X-Amz-Signature=verysecret",
    "other": "abfs://AKIAKEY:verysecret@host.test/x",
    "chain": "simplecache::s3://AKIAKEY:verysecret@bucket/x",
    "blank": " s3://AKIAKEY:verysecret@bucket/x",
    "question": "s3://AKIAKEY:verysecret?a=1@bucket/x",
    "question elsewhere": "abfs://AKIAKEY:verysecret?a=1@host.test/x",
}
E = np.array([[0, 1], [1, 2]])
X = np.eye(3, dtype=np.float32)


def text_edges():
    Path("edges.csv").write_text("src,dst\na,b\nb,c\n")
    return "edges.csv"


def edges_plan(folder="steps"):
    sharded.plan_shards(text_edges(), folder, shards=1)
    return folder


def rows_plan(folder="steps"):
    np.save("x.npy", X)
    sharded_features.plan_features("x.npy", folder, shards=1)
    return folder


def edited(change):
    def call(url, folder):
        with gz.edit_dataset(folder) as edit:
            change(edit, url)

    return call


def written(change):
    def call(url, folder):
        with gz.DatasetWriter("new") as writer:
            change(writer, url)

    return call


def built(path, tmp_dir=None):
    with IdBuilder(path, "integer", tmp_dir=tmp_dir) as builder:
        builder.add([1])


# Where a path of this machine is expected: a URL is refused, and the message says which without its secret.
HERE = {
    "open": lambda url, folder: gz.open(url),
    "Graph": lambda url, folder: gz.Graph(url),
    "Graph(filename=)": lambda url, folder: gz.Graph(filename=url),
    "FeatureStore": lambda url, folder: gz.FeatureStore(url),
    "IdDictionary": lambda url, folder: gz.IdDictionary(url),
    "verify": lambda url, folder: gz.verify(url),
    "reorder path": lambda url, folder: gz.reorder(url, "x.gd", order=[0]),
    "reorder out_path": lambda url, folder: gz.reorder("x.gd", url, order=[0]),
    "write_graph": lambda url, folder: gz.write_graph(url, [0], [1]),
    "write_features": lambda url, folder: gz.write_features(url, X),
    "write_ids": lambda url, folder: gz.write_ids(url, [1, 2]),
    "IdBuilder": lambda url, folder: built(url),
    "IdBuilder tmp_dir": lambda url, folder: built("new.gi", url),
    "convert_edges path": lambda url, folder: gz.convert_edges(E, url),
    "convert_edges tmp_dir": lambda url, folder: gz.convert_edges(E, "g.gl", tmp_dir=url),
    "convert_edges ids": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", ids=url),
    "convert_edges ids.gi": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", ids=ending(url, ".gi")),
    "convert_edges pair of ids": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", ids=(url, url)),
    "convert_edges ids_path": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", ids_path=url),
    "convert_edges ids_paths": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", ids_path=(url, url)),
    "convert_edges equal ids_paths": lambda url, folder: gz.convert_edges(
        text_edges(), "g.gl", bipartite=True, ids_path=(url, url)
    ),
    "convert_edges weight": lambda url, folder: gz.convert_edges((E[0], E[1]), "g.gl", weight=url),
    "convert_edges weight.npy": lambda url, folder: gz.convert_edges((E[0], E[1]), "g.gl", weight=ending(url, ".npy")),
    "convert_csv_to_gl path": lambda url, folder: gz.convert_csv_to_gl(text_edges(), url),
    "convert_features path": lambda url, folder: gz.convert_features(X, url),
    "convert_features ids": lambda url, folder: gz.convert_features(
        text_edges(), "x.gd", dtype="float32", id_column=0, ids=url
    ),
    "convert_csv_to_gd path": lambda url, folder: gz.convert_csv_to_gd(text_edges(), url, "float32"),
    "convert_dataset source": lambda url, folder: gz.convert_dataset(url, "new"),
    "convert_dataset folder": lambda url, folder: gz.convert_dataset(folder, url),
    "build_dataset folder": lambda url, folder: gz.build_dataset(url, edges=text_edges()),
    "build_dataset dry_run": lambda url, folder: gz.build_dataset(url, edges=text_edges(), dry_run=True),
    "build_dataset recipe": lambda url, folder: gz.build_dataset("new", recipe=url),
    "build_dataset recipe.json": lambda url, folder: gz.build_dataset("new", recipe=ending(url, ".json")),
    "DatasetWriter": lambda url, folder: gz.DatasetWriter(url),
    "add_nodes": written(lambda writer, url: writer.add_nodes({"x": url}, num_nodes=3)),
    "edit_dataset": lambda url, folder: gz.edit_dataset(url),
    "set_attribute": edited(lambda edit, url: edit.set_attribute("x", url)),
    "synthesize": lambda url, folder: gz.synthesize(url, nodes=20, edges=20),
    "stage folder": lambda url, folder: gz.stage(folder, url),
    "push folder": lambda url, folder: gz.push(url, "copy"),
    "commit_shards ids_path": lambda url, folder: sharded.commit_shards(edges_plan(), "g.gl", ids_path=url),
    "plan_features ids": lambda url, folder: sharded_features.plan_features(
        text_edges(), "steps", shards=1, dtype="float32", id_column=0, ids=url
    ),
}

# Where a URL may be, but this one leads nowhere, or something else than a path is expected.
STORED = {
    "convert_edges source": lambda url, folder: gz.convert_edges(url, "g.gl"),
    "convert_edges sources": lambda url, folder: gz.convert_edges([url, url], "g.gl"),
    "convert_edges in shards": lambda url, folder: gz.convert_edges(url, "g.gl", shards=2),
    "convert_edges path in shards": lambda url, folder: gz.convert_edges(E, url, shards=2),
    "convert_edges work_dir": lambda url, folder: gz.convert_edges(text_edges(), "g.gl", shards=2, work_dir=url),
    "convert_csv_to_gl source": lambda url, folder: gz.convert_csv_to_gl(url, "g.gl"),
    "convert_features source": lambda url, folder: gz.convert_features(url, "x.gd", dtype="float32"),
    "convert_features in shards": lambda url, folder: gz.convert_features(url, "x.gd", dtype="float32", shards=2),
    "convert_features path in shards": lambda url, folder: gz.convert_features(X, url, shards=2),
    "convert_features dry_run": lambda url, folder: gz.convert_features(url, "x.gd", dtype="float32", dry_run=True),
    "convert_csv_to_gd source": lambda url, folder: gz.convert_csv_to_gd(url, "x.gd", "float32"),
    "build_dataset source": lambda url, folder: gz.build_dataset("new", edges=url),
    "build_dataset around it": lambda url, folder: gz.build_dataset(".", edges=url),
    "build_dataset split": lambda url, folder: gz.build_dataset(
        "new", nodes={"source": {"id": [1, 2]}, "split": {"train": ending(url, ".npy")}}
    ),
    "stage source": lambda url, folder: gz.stage(url, "here"),
    "push target": lambda url, folder: gz.push(folder, url),
    "plan_shards source": lambda url, folder: sharded.plan_shards(url, "steps", shards=1),
    "plan_shards ids": lambda url, folder: sharded.plan_shards(text_edges(), "steps", shards=1, ids=url),
    "plan_shards folder": lambda url, folder: edges_plan(url),
    "partition_edges": lambda url, folder: sharded.partition_edges(url, 0),
    "commit_shards": lambda url, folder: sharded.commit_shards(edges_plan(), url),
    "plan_features source": lambda url, folder: sharded_features.plan_features(url, "steps", shards=1),
    "plan_features folder": lambda url, folder: rows_plan(url),
    "commit_features": lambda url, folder: sharded_features.commit_features(rows_plan(), url),
}

VERBS = {
    "convert SOURCE": ["convert", "URL", "g.gl"],
    "convert two SOURCEs": ["convert", "URL", "URL", "new"],
    "convert features": ["convert", "URL", "x.gd", "--dtype", "float32"],
    "convert TARGET": ["convert", "edges.csv", "URL"],
    "convert TARGET.gl": ["convert", "edges.csv", "URL.gl"],
    "convert TARGET.gd": ["convert", "edges.csv", "URL.gd", "--dtype", "float32", "--src", "0"],
    "convert folder": ["convert", "FOLDER", "URL"],
    "convert --tmp-dir": ["convert", "edges.csv", "g.gl", "--tmp-dir", "URL"],
    "convert --ids": ["convert", "edges.csv", "g.gl", "--ids", "URL"],
    "convert --ids-file": ["convert", "edges.csv", "g.gl", "--ids-file", "URL"],
    "convert --hot-order": ["convert", "edges.csv", "x.gd", "--hot-order", "URL"],
    "convert --work-dir": ["convert", "edges.csv", "g.gl", "--shards", "2", "--work-dir", "URL"],
    "edit FOLDER": ["edit", "URL", "--remove", "x"],
    "edit --set": ["edit", "FOLDER", "--set", "x=URL"],
    "edit --split": ["edit", "FOLDER", "--split", "train=URL"],
    "edit --split .npy": ["edit", "FOLDER", "--split", "train=URL.npy"],
    "edit --class-names": ["edit", "FOLDER", "--label", "y", "--class-names", "URL"],
    "import FOLDER": ["import", "URL", "--edges", "edges.csv"],
    "import --edges": ["import", "new", "--edges", "URL"],
    "import typed --edges": ["import", "new", "--edges", "a:to:a=URL"],
    "import --nodes": ["import", "new", "--nodes", "a=URL"],
    "import --recipe": ["import", "new", "--recipe", "URL.json"],
    "info": ["info", "URL"],
    "info --exact": ["info", "URL", "--exact"],
    "info twice": ["info", "edges.csv", "URL"],
    "push FOLDER": ["push", "URL", "copy"],
    "push URL": ["push", "FOLDER", "URL"],
    "sample": ["sample", "URL", "0"],
    "stage URL": ["stage", "URL", "here"],
    "stage FOLDER": ["stage", "FOLDER", "URL"],
    "synth": ["synth", "URL", "--nodes", "20", "--edges", "20"],
    "bench FOLDER": ["bench", "URL", "--quick", "--only", "sampling"],
    "bench --output": ["bench", "FOLDER", "--quick", "--only", "sampling", "--output", "URL"],
    "bench --html": ["bench", "FOLDER", "--quick", "--only", "sampling", "--html", "URL.html"],
    "bench --rivals": ["bench", "FOLDER", "--quick", "--only", "sampling", "--rivals", "URL"],
    "train": ["train", "URL"],
    "train --log": ["train", "FOLDER", "--log", "URL.csv"],
    "train --checkpoints": ["train", "FOLDER", "--checkpoints", "URL"],
    "train --resume": ["train", "FOLDER", "--checkpoints", "URL", "--resume"],
    "train --eval": ["train", "FOLDER", "--eval", "URL.pt"],
    "train --predict": ["train", "FOLDER", "--predict", "URL.gd"],
    "train --save-config": ["train", "FOLDER", "--save-config", "URL.json"],
    "train --embeddings-out": ["train", "FOLDER", "--task", "embeddings", "--embeddings-out", "URL.gd"],
    "train --config": ["train", "FOLDER", "--config", "URL.json"],
    "verify": ["verify", "URL"],
    "verify --json": ["verify", "URL", "--json"],
    "no verb": ["URL"],
}


def ending(url, name):
    """Return a URL whose path ends in a name, before its settings."""
    text = os.fspath(url)
    before, mark, settings = text.partition("?")
    return type(url)(f"{before}{name}{mark}{settings}")


class Unreachable:
    """Storage that tells everybody who asked."""

    type_name = "s3"

    def __getattr__(self, name):
        def refuse(*arguments, **options):
            raise OSError(f"{name}: AKIAKEY is refused with verysecret")

        return refuse


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("graphzero._files.storage._s3", lambda *given: Unreachable())
    monkeypatch.setattr("graphzero._files.storage._fsspec", lambda *given: (Unreachable(), "x"))


def assert_no_secret(*texts):
    for text in texts:
        for secret in SECRETS:
            assert secret not in text


def assert_nothing_written():
    for folder, folders, files in os.walk("."):
        assert_no_secret(*folders, *files)
        for file in files:
            with open(os.path.join(folder, file), "rb") as written:
                assert_no_secret(written.read().decode(errors="replace"))


def message_of(call, url, folder, capfd):
    with pytest.raises((OSError, ValueError, TypeError)) as error:
        call(url, folder)
    output = capfd.readouterr()
    assert_no_secret(str(error.value), repr(error.value.__dict__), repr(error.value.args), output.out, output.err)
    assert_no_secret("".join(traceback.format_exception(error.value)))
    assert_nothing_written()
    return str(error.value)


@pytest.mark.parametrize("name", HERE)
def test_a_url_is_no_path_of_this_machine(name, tiny_dataset, capfd):
    for url in URLS.values():
        for given in (url, Path(url)):
            message = message_of(HERE[name], given, tiny_dataset, capfd)
            assert "expected a path of this machine" in message
            assert message.startswith(shown_url(url))


@pytest.mark.parametrize("name", STORED)
def test_storage_that_does_not_answer(name, tiny_dataset, capfd):
    for url in URLS.values():
        message_of(STORED[name], url, tiny_dataset, capfd)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "sftp", "file", "https"])
@pytest.mark.parametrize("user", ["AKIAKEY:verysecret?a=1", "AKIAKEY:very?a=1&secret", "verysecret?a=1"])
def test_a_question_mark_in_a_password_shows_nothing_of_it(scheme, user):
    url = f"{scheme}://{user}@bucket/x"
    assert shown_url(url) == f"{scheme}://…"
    with pytest.raises(
        ValueError, match=rf"^{scheme}://…: expected \? in a password written as %3F, and @ in a setting as %40, found"
    ):
        located(url)
    assert shown_url(f"{scheme}://AKIAKEY:very/secret?a=1@bucket/x") == f"{scheme}://…"


def test_the_folder_of_the_environment_is_not_a_url(tiny_dataset, monkeypatch, capfd):
    monkeypatch.setenv("GRAPHZERO_TMPDIR", "s3://AKIAKEY:verysecret@bucket/x")
    message = "GRAPHZERO_TMPDIR: expected the path of a folder of this machine, found a URL; name a folder of a disk"
    calls = (
        lambda url, folder: gz.push(folder, "copy", parts="1B"),
        lambda url, folder: gz.convert_edges(E, "g.gl"),
        lambda url, folder: gz.convert_features("x.npy", "file:///nowhere/x.gd", shards=2),
    )
    np.save("x.npy", X)
    for call in calls:
        assert message_of(call, "", tiny_dataset, capfd) == message


@pytest.fixture
def web(monkeypatch, tmp_path):
    """The URL of a server of the current folder, which asks nobody who they are."""
    pytest.importorskip("aiohttp")
    monkeypatch.undo()  # of the stand-in for fsspec, and of the folder
    monkeypatch.chdir(tmp_path)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def handle(self):
            with contextlib.suppress(ConnectionError):  # of a reader that has seen enough
                super().handle()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("url", ["http://AKIAKEY:verysecret@HOST/PATH", "http://HOST/PATH?sig=verysecret&AKIAKEY"])
def test_what_is_told_of_a_web_server_has_no_secret(url, web, tiny_dataset, capfd):
    """The keys of fsspec are URLs there."""
    gz.push(tiny_dataset, "there")
    Path("e.csv").write_text("src,dst\n0,1\n1,2\n")

    def at(path):
        return url.replace("HOST", web).replace("PATH", path)

    place = located(at("there"))
    shown = f"http://{web}/there"
    below = place / "graphzero.json"
    assert (str(place), str(below)) == (shown, f"{shown}/graphzero.json")
    assert (str(below.folder_and_name()[0]), below.folder_and_name()[1]) == (shown, "graphzero.json")
    assert read_range(below, 0, 1) == b"{"
    assert_no_secret(place.address, below.address, repr(below), pickle.dumps(below).decode("latin-1"))
    report = gz.stage(at("there"), "here")
    assert report.source == shown
    report = gz.convert_edges(at("e.csv"), "g.gl")
    assert_no_secret(repr(report), str(report))
    sharded.plan_shards(at("e.csv"), "steps", shards=1)
    assert f"http://{web}/e.csv" in Path("steps/plan.json").read_text()
    assert_nothing_written()
    message = message_of(lambda url, folder: gz.stage(url, "new"), at("none"), tiny_dataset, capfd)
    assert message.endswith(f"'http://{web}/none'")
    message = message_of(lambda url, folder: gz.push(folder, url), at("none"), tiny_dataset, capfd)
    assert f"'http://{web}/none/" in message
    message = message_of(lambda url, folder: gz.convert_edges(url, "g.gl"), at("*.none"), tiny_dataset, capfd)
    assert message.endswith(f"expected files that match, found none: 'http://{web}/*.none'")


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_commands(words, tiny_dataset, capfd):
    text_edges()
    for url in URLS.values():
        given = [word.replace("FOLDER", tiny_dataset).replace("URL", url) for word in words]
        for debug in ([], ["--debug"]):
            assert run([*given, *debug]) != 0
            output = capfd.readouterr()
            assert_no_secret(output.out, output.err)
            assert output.err.splitlines()[-1].startswith("graphzero: ")
        assert_nothing_written()
