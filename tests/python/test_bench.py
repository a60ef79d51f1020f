"""The document of ``graphzero bench`` is complete: every figure has a value or says why not, every rival is told."""

import dataclasses
import json
import os

import numpy as np
import pytest

from data_sets import pyg
from graphzero._tools.machine import machine, versions
from graphzero.bench import plan
from graphzero.cli.bench import run as run_bench

# Features of 31 MB: four fifths of that are enough for batches of eight seeds.
TINY = dataclasses.replace(
    plan.QUICK, nodes=60_000, edges=300_000, sampled_batches=2, sampled_seeds=64, starts=500, gathered_rows=2000,
    converted_edges=5000, seconds=0.05, patience=60.0, batch_size=8, caps=(80,),
)  # fmt: skip

NUMBER, COUNT, TEXT = (int, float), (int,), (str,)
OPTIONAL = (type(None),)
DOCUMENT = {
    "graphzero_bench": COUNT, "started": TEXT, "seconds": NUMBER, "quick": (bool,), "command": TEXT, "machine": (dict,),
    "versions": (dict,), "data": (dict,), "settings": (dict,), "parts": (list,), "notes": (list,),
}  # fmt: skip
MACHINE = {
    "cpu": TEXT, "architecture": TEXT, "cores": COUNT, "ram_bytes": COUNT, "ram_available_bytes": COUNT,
    "free": (dict,), "kernel": TEXT, "os": TEXT, "disk": (dict,), "cgroup_version": COUNT + OPTIONAL,
    "control_groups": (bool, str),
}  # fmt: skip
DISK = {
    "device": TEXT, "model": TEXT, "file_system": TEXT, "read_ahead_kb": COUNT + OPTIONAL,
    "rotational": (bool, type(None)), "free_bytes": COUNT,
}  # fmt: skip
VERSIONS = {
    "graphzero": TEXT, "commit": TEXT + OPTIONAL, "python": TEXT, "numpy": TEXT, "torch": TEXT + OPTIONAL,
    "torch_geometric": TEXT + OPTIONAL,
}  # fmt: skip
DATA = {
    "path": TEXT, "kind": TEXT, "num_nodes": COUNT, "num_edges": COUNT, "num_features": COUNT,
    "feature_dtype": TEXT + OPTIONAL, "feature_bytes": COUNT, "graph_bytes": COUNT, "num_classes": COUNT + OPTIONAL,
    "seconds_to_make": NUMBER + OPTIONAL,
}  # fmt: skip
SETTINGS = {"fanouts": (list,), "batch_size": COUNT, "threads": COUNT, "caps": (list,), "seed": COUNT}
PART = {
    "name": TEXT, "title": TEXT, "question": TEXT, "seconds": NUMBER, "resident_before": COUNT + OPTIONAL,
    "resident_after": COUNT + OPTIONAL, "conditions": (dict,), "rows": (list,),
}  # fmt: skip
ROW = {
    "task": TEXT, "what": TEXT, "ours": (bool,), "rival": TEXT + OPTIONAL, "value": NUMBER + OPTIONAL, "unit": TEXT, "higher_is_better": (bool,),
    "runs": (list,), "threads": COUNT, "cache": TEXT + OPTIONAL, "cap_bytes": COUNT + OPTIONAL,
    "limit_bytes": COUNT + OPTIONAL, "cap_proven": (bool, type(None)), "peak_anonymous_bytes": COUNT + OPTIONAL, "peak_group_bytes": COUNT + OPTIONAL,
    "rss_bytes": COUNT + OPTIONAL, "device_bytes": COUNT + OPTIONAL, "device_reads": COUNT + OPTIONAL,
    "iops": NUMBER + OPTIONAL, "hit_rate": NUMBER + OPTIONAL, "checked": TEXT, "note": TEXT + OPTIONAL,
    "x_best_rival": NUMBER + OPTIONAL,
}  # fmt: skip
MAY_HAVE = {"scaling", "memory", "stages"}

# A sanitizer takes more than the caps of these runs.
pytestmark = [pytest.mark.no_asan, pytest.mark.no_tsan]


def unlike(found, fields):
    """The fields that are not there, or not of their type, or not known."""
    wrong = [name for name, kinds in fields.items() if name not in found or not isinstance(found[name], kinds)]
    return wrong + [name for name in found if name not in fields and name not in MAY_HAVE]


def in_folder(path, body):
    before = os.getcwd()
    os.chdir(path)
    try:
        return body()
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """All parts on tiny data, with the rivals that this Python has."""
    pyg()
    folder = tmp_path_factory.mktemp("bench")
    found = in_folder(
        folder,
        lambda: run_bench(TINY, folder=None, parts=list(plan.PARTS), rivals=None, graphzero02=None, threads=2),
    )
    assert list(folder.iterdir()) == []  # what it made is gone
    return found


def rows_of(document, part):
    return next(found["rows"] for found in document["parts"] if found["name"] == part)


def test_document_has_every_field_of_its_description(document):
    json.dumps(document, allow_nan=False)
    assert unlike(document, DOCUMENT) == []
    for name, fields in {"machine": MACHINE, "versions": VERSIONS, "data": DATA, "settings": SETTINGS}.items():
        assert unlike(document[name], fields) == []
    assert unlike(document["machine"]["disk"], DISK) == []
    assert [part["name"] for part in document["parts"]] == list(plan.PARTS)
    for part in document["parts"]:
        assert unlike(part, PART) == []
        assert all(isinstance(text, str) for text in part["conditions"].values())
        for row in part["rows"]:
            assert unlike(row, ROW) == [], row


def test_parts_with_rows_of_one_thread_tell_that_they_had_one_core(document):
    parts = {part["name"]: part for part in document["parts"]}
    assert parts["sampling"]["conditions"]["one thread"] == "each contestant pinned to one core"
    assert "one thread" not in parts["batches"]["conditions"]


def test_sampling_tells_which_file_it_has(document):
    layout = "both indexes, stored edge ids, as convert_edges writes by default"
    assert document["parts"][0]["conditions"]["file"] == layout


def test_every_row_has_a_value_or_says_why_not(document):
    rows = [row for part in document["parts"] for row in part["rows"]]
    assert [row for row in rows if row["value"] is None and not row["note"]] == []
    assert [row for row in rows if row["value"] is not None and (row["value"] <= 0 or not row["runs"])] == []
    assert [row for row in rows if row["ours"] and row["value"] is None] == []


def test_rivals_that_are_not_installed_are_told(document):
    rows = {row["what"]: row for row in rows_of(document, "sampling")}
    assert rows["GraphZero 0.2"]["note"] == "not installed"
    assert "GraphZero 0.2: not installed" in document["notes"]


def test_rivals_of_this_python_are_measured_and_compared_with(document):
    rows = {(row["task"], row["what"]): row for row in rows_of(document, "gather")}
    for task in ("from memory", "from the device"):
        best = max(row["value"] for (of, what), row in rows.items() if of == task and what != "graphzero")
        assert rows[task, "graphzero"]["x_best_rival"] == pytest.approx(rows[task, "graphzero"]["value"] / best)
    assert rows["from the device", "graphzero"]["device_reads"] > 0
    assert {row["what"] for row in rows_of(document, "conversion") if row["value"]} >= {"graphzero", "NumPy"}


def test_rivals_with_a_value_are_told_with_their_versions(document):
    rivals = {row["what"]: row["rival"] for row in rows_of(document, "gather")}
    assert rivals["graphzero"] is None
    assert rivals["np.memmap"] == f"np.memmap of NumPy {np.__version__}"
    assert rivals["torch, all in RAM"] == f"torch {versions()['torch'].split('+')[0]}"
    rows = [row for part in document["parts"] for row in part["rows"]]
    assert [row for row in rows if (row["rival"] is None) != (row["ours"] or row["value"] is None)] == []


def test_a_cap_is_proven_by_what_the_group_held(document):
    rows = [
        row for part in ("batches", "training") for row in rows_of(document, part) if row["ours"] and row["cap_bytes"]
    ]
    assert [row["task"] for row in rows] == ["80 % of the features' size"] * 2
    for row in rows:
        assert row["cap_bytes"] == document["data"]["feature_bytes"] * 80 // 100
        assert row["device_bytes"] > 0
        if document["machine"]["control_groups"] is True:
            assert row["cap_proven"] is True
            assert 0 < row["peak_group_bytes"] <= row["limit_bytes"]
            assert row["cap_bytes"] < row["limit_bytes"]
            assert row["note"] is None
        else:
            assert row["cap_proven"] is False
            assert row["note"].startswith("limited by its budget alone: ")


def test_stages_memory_and_scaling_are_recorded_for_the_plots(document):
    ours = rows_of(document, "batches")[0]
    assert set(ours["stages"]) == {"sampling", "reading", "assembling", "waiting"}
    assert all(len(point) == 3 for point in ours["memory"])
    sampling = document["parts"][0]["scaling"]
    assert sampling["threads"][0]["x"] == [1, 2]
    sizes = sampling["size"][0]
    assert sizes["x"] == sorted(sizes["x"])
    assert sizes["x"][-1] == document["data"]["num_edges"]
    assert len(sizes["x"]) == len(sizes["y"]) == 3


def test_machine_facts_are_all_there():
    facts = machine()
    assert unlike(facts, MACHINE) == []
    assert set(facts["free"]) == {"total", "used", "free", "shared", "buff/cache", "available"}
    assert facts["ram_bytes"] > 0
    assert unlike(versions(), VERSIONS) == []
