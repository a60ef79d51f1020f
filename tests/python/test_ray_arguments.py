"""What a conversion on Ray refuses before it needs Ray, or a cluster."""

import os
import pathlib
import socket
import sys
import types

import pytest

import graphzero as gz
from graphzero.cli.command import run
from graphzero.convert import ray_engine, sharded


@pytest.fixture(autouse=True)
def source():
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\n")


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark", "shards": 2}, "engine: expected 'local' or 'ray', found 'spark'"),
        ({"engine": "ray"}, "engine: expected shards= with it, found none"),
        ({"address": "a:1"}, "address: expected shards= with it, found none"),
        ({"work_dir": "w"}, "work_dir: expected shards= with it, found none"),
        ({"address": "a:1", "shards": 2}, "address: expected engine='ray' with it, found engine='local'"),
        ({"engine": "ray", "shards": 0}, "shards: expected at least 1, found 0"),
        ({"engine": "ray", "shards": 2, "threads": 0}, "threads: expected at least 1, found 0"),
    ],
)
def test_wrong_arguments(options, message):
    with raises(ValueError, message):
        gz.convert_edges("edges.csv", "g.gl", **options)
    assert not os.path.exists("w")


def test_a_target_in_storage_needs_a_folder_that_all_nodes_see():
    pytest.importorskip("pyarrow")
    with raises(ValueError, "work_dir: expected a folder that all nodes see, as the target is a URL, found none"):
        gz.convert_edges("edges.csv", f"file://{os.getcwd()}/ds", shards=2, engine="ray")
    assert os.listdir() == ["edges.csv"]


def test_without_ray(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["convert", "edges.csv", "g.gl", "--engine", "ray", "--shards", "2"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "graphzero: expected Ray, which runs the steps of engine='ray', found none: pip install 'graphzero[ray]'\n"
    )


def test_a_cluster_that_takes_no_connection(monkeypatch):
    def init(**options):
        raise ConnectionError("Failed to connect to Ray cluster at 10.0.0.1:6379\nand more")

    module = types.SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setitem(sys.modules, "ray", module)
    message = (
        r"address: expected a Ray cluster at auto that this machine belongs to, found none: Failed to connect to Ray "
        r"cluster at 10\.0\.0\.1:6379; one that asks for a token takes connections with RAY_AUTH_MODE=token in the "
        r"environment, and its token"
    )
    with raises(ConnectionError, message):
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", address="auto")


@pytest.mark.parametrize("address", ["ray://host:10001", "host", ":6379", "host:port"])
def test_what_is_no_address(address):
    with raises(ValueError, f"address: expected host:port of the head of a Ray cluster, or auto, found '{address}'"):
        ray_engine._check_answers(address)


@pytest.mark.parametrize("address", ["http://u:verysecret@h:1", "u:verysecret@h:1", "verysecret@auto"])
def test_a_password_in_an_address_is_not_shown(address, monkeypatch):
    message = "address: expected host:port of the head of a Ray cluster, or auto, found a user and @ before the host"
    with raises(ValueError, message):
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", address=address)
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setenv("RAY_ADDRESS", address)
    with raises(ValueError, message):
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", work_dir="w")


def test_settings_of_an_address_are_not_shown():
    with raises(ValueError, "address: expected host:port of .*, or auto, found 'ray://h:1'"):
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", address="ray://h:1?token=verysecret")


@pytest.mark.parametrize("address", [5, b"h:1", ("h", 1)])
def test_an_address_is_text(address):
    message = f"address: expected host:port of the head of a Ray cluster, or auto, found {type(address).__name__}"
    with raises(TypeError, message):
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", address=address)
    sharded.plan_shards("edges.csv", "steps", shards=1)
    with raises(TypeError, message):
        ray_engine.run_on_ray("steps", "g.gl", address=address)


def test_an_address_where_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = (
            rf"address: expected a Ray cluster at {address}, found none that answers: .*; ray start --head begins.*"
        )
        with raises(ConnectionError, message):
            ray_engine._check_answers(address)


def test_a_cluster_without_cpus():
    with raises(ConnectionError, "address: expected a Ray cluster with CPUs for tasks, found none"):
        ray_engine._check_room([], 1, 1)


def test_a_work_folder_goes_on_with_what_is_there_and_ends_empty():
    gz.convert_edges("edges.csv", "plain.gl")
    sharded.plan_shards("edges.csv", "work", shards=3)  # beside which the files of an older one are ours too
    for name in ("notes", "mine.part", "task-1.records"):
        pathlib.Path("work", name).write_text("of the user")
    killed = ["out-000001.0123456789ab.part", ".in-000000.0123456789ab.part.0123456789abcdef.graphzero-tmp"]
    for name in killed:
        pathlib.Path("work", name).write_text("of an older plan")
    gz.convert_edges("edges.csv", "g.gl", shards=2, work_dir="work")
    assert pathlib.Path("g.gl").read_bytes() == pathlib.Path("plain.gl").read_bytes()
    assert sorted(os.listdir("work")) == ["mine.part", "notes", "task-1.records"]
    gz.convert_edges("edges.csv", "g.gl", shards=2, work_dir="new/work")
    assert not os.path.exists("new/work")
    with pytest.raises(FileNotFoundError):
        gz.convert_edges("none.csv", "g.gl", shards=2, work_dir="new/work")
    assert not os.path.exists("new/work")
