"""Folders of hosts that divide rows: a range for each, and the rows that all have."""

import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
import graphzero._dataset.feature_share
import graphzero._dataset.share_files
import graphzero._files.stored_rows
from graphzero._files.storage import read_range
from graphzero.cli.command import run

pytest.importorskip("pyarrow.fs")

NODES, WIDTH = 500, 16


@pytest.fixture(autouse=True)
def small_requests(monkeypatch):
    """Several requests for each file, and gaps between hot rows."""
    monkeypatch.setattr(graphzero._files.stored_rows, "BLOCK", 4 * WIDTH * 20)
    monkeypatch.setattr(graphzero._files.stored_rows, "_GAP", 4 * WIDTH * 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((NODES, WIDTH)).astype(np.float32)
    gz.convert_features(x, top / "small.gd", dtype="int8-quantised")
    nodes = {
        "x": x,
        "small": gz.FeatureStore(top / "small.gd"),
        "y": rng.integers(0, 3, NODES),
        "time": np.arange(NODES),
    }
    src = (NODES * rng.random(4_000) ** 3).astype(np.int64)
    with gz.DatasetWriter(top / "ds") as writer:
        writer.add_nodes(nodes, label="y", num_classes=3)
        writer.add_edges(src, rng.integers(0, NODES, 4_000))
        writer.add_split("train", np.arange(0, NODES, 7))
    return top / "ds"


@pytest.fixture(scope="module")
def hottest(folder):
    """Ids by how often sampling can meet them."""
    with gz.open(folder) as data:
        times = np.bincount(data.edge_index[0].numpy(), minlength=NODES)
    return np.lexsort((np.arange(NODES), -times))


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_hosts_have_all_rows_together(folder, tmp_path, hosts):
    whole = gz.open(folder)
    rows, scales = whole.features("x").get_tensor(), whole.features("small").scales
    for host in range(hosts):
        report = gz.stage(folder, tmp_path / str(host), host=host, hosts=hosts, verify="full")
        with gz.open(tmp_path / str(host)) as data:
            begin, end = NODES * host // hosts, NODES * (host + 1) // hosts
            assert data.features("x").record.ranges == [NODES * each // hosts for each in range(hosts + 1)]
            assert np.array_equal(data.features("x").own.get_tensor(), rows[begin:end])
            assert np.array_equal(data.features("small").own.scales, scales[begin:end])
            assert data.features("x").hot is None
            assert data.features("x").record.whole == whole.features("x").fingerprint
            for name in ("y", "time"):
                assert np.array_equal(data.features(name).get_tensor(), whole.features(name).get_tensor())
            assert report.num_files == len(list(data.stores()))
            assert report.size == data.nbytes
        assert not [name for _, _, names in os.walk(tmp_path / str(host)) for name in names if "identity" in name]


def test_hot_rows_are_those_that_sampling_meets_most(folder, tmp_path, hottest):
    whole = gz.open(folder)
    for host in range(2):
        gz.stage(folder, tmp_path / str(host), host=host, hosts=2, hot=6_000)
    first, second = (gz.open(tmp_path / str(host)) for host in range(2))
    for name in ("x", "small"):
        one, other = first.features(name), second.features(name)
        count = len(one.hot)
        assert count > 20
        ids = one.hot_ids.get_tensor()
        assert np.array_equal(ids, np.sort(hottest[:count]))
        assert np.array_equal(one.hot.get_tensor(), whole.features(name).get_tensor()[ids])
        assert one.hot.fingerprint == other.hot.fingerprint
        assert one.hot_ids.fingerprint == other.hot_ids.fingerprint
    small = first.features("small")
    assert np.array_equal(small.hot.scales, whole.features("small").scales[small.hot_ids.get_tensor()])
    taken = sum(share.hot.nbytes for share in (first.features("x"), first.features("small")))
    assert taken < 6_000 + 4 * 4_096 * 2


@pytest.mark.parametrize("host", range(3))
@pytest.mark.parametrize("hot", [2_000, 20_000, "1GB"])
def test_no_row_is_read_twice(folder, tmp_path, monkeypatch, host, hot):
    """Hot rows of a host's own range are here when they are written, and lie between others of the other ranges."""
    read = []

    def reading(path, begin, count):
        read.append((path.rpartition("/")[2], begin, begin + count))
        return read_range(path, begin, count)

    monkeypatch.setattr(graphzero._files.stored_rows, "read_range", reading)
    gz.stage(folder, tmp_path / "ds", host=host, hosts=3, hot=hot)
    with gz.open(folder) as data, gz.open(tmp_path / "ds") as here:
        for name in ("x", "small"):
            rows, share = data.features(name), here.features(name)
            ids = share.hot_ids.get_tensor()
            assert np.array_equal(share.hot.get_tensor(), rows.get_tensor()[ids])
            spans = sorted((begin, end) for file, begin, end in read if file == f"{name}.gd" and begin > 0)
            assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
            assert sum(end - begin for begin, end in spans) <= rows.nbytes
        assert np.array_equal(here.features("small").hot.scales, data.features("small").scales[ids])


def test_a_share_is_shown_with_the_version_of_its_manifest(folder, tmp_path, capfd):
    gz.stage(folder, tmp_path / "share", host=0, hosts=2)
    for path, version in ((folder, 1), (tmp_path / "share", 2)):
        assert json.loads((path / "graphzero.json").read_text())["version"] == version
        assert run(["info", str(path), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["format"] == str(version)


def test_a_share_is_not_pushed(folder, tmp_path):
    gz.stage(folder, tmp_path / "share", host=0, hosts=2)
    problem = "folder: expected a whole data set, found the share of one of several hosts: push the data set that it"
    with pytest.raises(ValueError, match=problem):
        gz.push(tmp_path / "share", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_all_rows_may_be_hot(folder, tmp_path):
    gz.stage(folder, tmp_path / "ds", host=0, hosts=4, hot="1GB", features=["x"])
    with gz.open(tmp_path / "ds") as data:
        assert len(data.features("x").hot) == NODES


def test_attributes_may_stay_whole(folder, tmp_path):
    gz.stage(folder, tmp_path / "ds", host=0, hosts=2, whole="node.small")
    with gz.open(tmp_path / "ds") as data, gz.open(folder) as whole:
        assert data.features("small").fingerprint == whole.features("small").fingerprint
        assert len(data.features("x").own) == NODES // 2


def test_what_came_does_not_come_again(folder, tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(graphzero._dataset.share_files.DividedRows, "forget", fail)
        with pytest.raises(KeyboardInterrupt):
            gz.stage(folder, tmp_path / "ds", host=1, hosts=2, hot=3_000)
    assert not (tmp_path / "ds").exists()
    assert gz.stage(folder, tmp_path / "ds", host=1, hosts=2, hot=3_000).transferred == 0
    assert all(check.holds for check in gz.verify(tmp_path / "ds"))
    again = gz.stage(folder, tmp_path / "other", host=0, hosts=2, hot=3_000)
    assert again.transferred > NODES // 2 * WIDTH * 4


def test_a_folder_of_another_host_is_not_taken_for_this_ones(folder, tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(graphzero._dataset.share_files.DividedRows, "forget", fail)
        with pytest.raises(KeyboardInterrupt):
            gz.stage(folder, tmp_path / "ds", host=1, hosts=2)
    gz.stage(folder, tmp_path / "ds", host=0, hosts=2)
    with gz.open(tmp_path / "ds") as data, gz.open(folder) as whole:
        assert np.array_equal(data.features("x").own.get_tensor(), whole.features("x").get_tensor()[: NODES // 2])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"host": 0}, "hosts: expected it beside host, found none; give both or neither"),
        ({"hosts": 2}, "host: expected it beside hosts, found none; give both or neither"),
        ({"host": 2, "hosts": 2}, "host: expected 0 to 1, below hosts, found 2"),
        ({"host": 0, "hosts": 0}, "hosts: expected at least 1, found 0"),
        ({"host": 0, "hosts": 10_001}, "hosts: expected 1 to 10,000, found 10,001"),
        ({"host": 0, "hosts": 10**9}, "hosts: expected 1 to 10,000, found 1,000,000,000"),
        ({"host": 0, "hosts": 2, "hot": "much"}, "hot: expected a size such as '2GB'"),
        ({"host": 0, "hosts": 2, "hot": -1}, "hot: expected a size from 0 on, found -1"),
        ({"hot": "1MB"}, "hosts: expected it beside hot, found none"),
        ({"whole": "x"}, "hosts: expected it beside whole, found none"),
        ({"host": 0, "hosts": 2, "whole": "z"}, "whole: expected some of x, small, y, time, found 'z'"),
        ({"host": 0, "hosts": 2, "features": "time"}, "hosts: expected an attribute of nodes with several items in a row"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(folder, tmp_path, options, problem):
    with pytest.raises(ValueError, match=problem):
        gz.stage(folder, tmp_path / "ds", **options)
    assert not (tmp_path / "ds").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"host": True, "hosts": 2}, "host: expected an integer, found True"),
        ({"host": 0, "hosts": True}, "hosts: expected an integer, found True"),
        ({"host": 0, "hosts": 2, "hot": True}, "hot: expected an integer, found True"),
        ({"threads": True}, "threads: expected an integer, found True"),
        ({"host": 0, "hosts": 2, "whole": 5}, "whole: expected a name, or a list of names, found 5"),
        ({"host": 0, "hosts": 2, "whole": [5]}, "whole: expected names, found 5 among them"),
        ({"features": 5}, "features: expected a name, or a list of names, found 5"),
        ({"features": [None]}, "features: expected names, found None among them"),
    ],
)
def test_an_option_of_the_wrong_kind_is_named(folder, tmp_path, options, problem):
    with pytest.raises(TypeError, match=f"^{problem}$") as caught:
        gz.stage(folder, tmp_path / "ds", **options)
    assert caught.value.argument == problem.partition(":")[0]
    assert not (tmp_path / "ds").exists()


def test_rows_in_another_order_are_refused(tmp_path):
    with gz.DatasetWriter(tmp_path / "hot") as writer:
        gz.write_features(tmp_path / "x.gd", np.eye(4), order=[3, 1, 0, 2])
        writer.add_nodes({"x": gz.FeatureStore(tmp_path / "x.gd")})
        writer.add_edges([0, 1], [2, 3])
    with pytest.raises(
        gz.FormatError, match="x of 'node': expected rows in the order of their ids, found the hottest first"
    ):
        gz.stage(tmp_path / "hot", tmp_path / "ds", host=0, hosts=2)


def test_a_share_is_not_divided_again(folder, tmp_path):
    gz.stage(folder, tmp_path / "one", host=0, hosts=2)
    with pytest.raises(ValueError, match="source: expected a whole data set, found the folder of one of several hosts"):
        gz.stage(tmp_path / "one", tmp_path / "two", host=0, hosts=2)
    gz.stage(tmp_path / "one", tmp_path / "copy", verify="full")  # as it is
    with gz.open(tmp_path / "copy") as data:
        assert len(data.features("x").own) == NODES // 2


def out_of(capsys, *words):
    assert run(list(map(str, words))) == 0
    return capsys.readouterr().out


def test_the_command_does_the_same(folder, tmp_path, capsys):
    options = ("--host", 1, "--hosts", 2, "--hot", "3kB", "--whole", "small")
    out_of(capsys, "stage", folder, tmp_path / "ds", *options)
    gz.stage(folder, tmp_path / "other", host=1, hosts=2, hot=3_000, whole="small")
    first, second = (json.loads(Path(tmp_path, name, "graphzero.json").read_text()) for name in ("ds", "other"))
    assert first == second
    assert "the 250 rows of host 1 of 2 and 41 that all hosts have" in out_of(capsys, "info", tmp_path / "ds")
    told = json.loads(out_of(capsys, "info", tmp_path / "ds", "--json"))
    share = told["nodes"][0]["attributes"]["x"]["share"]
    assert (share["host"], share["hosts"], share["num_rows"]) == (1, 2, NODES // 2)
