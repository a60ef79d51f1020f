"""``graphzero push``, ``graphzero stage``, and what ``graphzero info`` says of a data set in storage."""

import json

import pytest

import graphzero as gz
from graphzero.cli.command import run
from graphzero.verification import verify

pytest.importorskip("pyarrow.fs")


def out_of(capsys, *words):
    assert run(list(words)) == 0
    return capsys.readouterr().out


def error_of(capsys, *words):
    assert run(list(words)) != 0
    return capsys.readouterr().err


def test_a_data_set_goes_to_storage_and_comes_back(tiny_dataset, storage, capsys):
    assert "transferred" in out_of(capsys, "push", tiny_dataset, f"{storage}/ds")
    report = json.loads(out_of(capsys, "stage", f"{storage}/ds", "here", "--verify", "full", "--json"))
    assert report["num_files"] == 5
    assert report["target"] == "here"
    assert all(check.holds for check in verify("here"))
    again = json.loads(out_of(capsys, "push", tiny_dataset, f"{storage}/ds", "--json"))
    assert again["num_skipped"] == 5


def test_chosen_features(tiny_dataset, capsys):
    out_of(capsys, "stage", tiny_dataset, "here", "--features", " x ,", "--threads", "2")
    with gz.open("here") as ds:
        assert set(ds.nodes["node"].attributes) == {"x", "y"}
    assert "--features: expected some of x, y, found 'z'" in error_of(
        capsys, "stage", tiny_dataset, "there", "--features", "z"
    )


def test_messages_name_options(tiny_dataset, storage, capsys):
    gz.push(tiny_dataset, f"{storage}/ds")
    gz.stage(f"{storage}/ds", "here")
    assert "give --overwrite to replace it" in error_of(capsys, "stage", f"{storage}/ds", "here")
    out_of(capsys, "stage", f"{storage}/ds", "here", "--overwrite")
    assert "--verify: expected 'header' or 'full', found 'all'" in error_of(
        capsys, "stage", f"{storage}/ds", "there", "--verify", "all"
    )
    with gz.edit_dataset("here") as editor:
        editor.set_metadata(new=True)
    assert "has another data set; give --overwrite to replace it" in error_of(capsys, "push", "here", f"{storage}/ds")
    out_of(capsys, "push", "here", f"{storage}/ds", "--overwrite")


def test_info_reads_the_manifest(tiny_dataset, storage, capsys):
    gz.push(tiny_dataset, f"{storage}/ds")
    text = out_of(capsys, "info", f"{storage}/ds")
    assert "4 nodes, label y" in text
    assert "4 edges" in text
    assert "train of node, test of node" in text
    facts = json.loads(out_of(capsys, "info", f"{storage}/ds", "--json"))
    assert facts["nodes"][0]["num_nodes"] == facts["edges"][0]["num_edges"] == 4
    with gz.open(tiny_dataset) as ds:
        assert facts["size"] == ds.nbytes
    assert "stage it first" in error_of(capsys, "info", f"{storage}/ds", "--exact")
    assert "has no graphzero.json: it is not a data set" in error_of(capsys, "info", f"{storage}/other")


def test_convert_and_import_take_urls(storage, capsys):
    from graphzero._files.storage import located, write_stored

    write_stored(located(f"{storage}/edges.csv"), iter([b"src,dst\n0,1\n1,2\n"]))
    assert "2 edges" in out_of(capsys, "convert", f"{storage}/edges.csv", "g.gl")
    assert "about 3" in out_of(capsys, "convert", f"{storage}/edges.csv", "g.gl", "--dry-run")
    out_of(capsys, "import", "ds", "--edges", f"{storage}/edges.csv")
    out_of(capsys, "import", "typed", "--edges", f"a:to:a={storage}/edges.csv")
    with gz.open("ds") as ds, gz.open("typed") as typed:
        assert ds.num_nodes == typed.num_nodes == 3
    assert "expected a name that ends in .gl or .gd" in error_of(capsys, "convert", f"{storage}/edges.csv", "folder")


def test_no_message_of_a_verb_shows_a_secret(capsys):
    url = "s3://key:verysecret@bucket/ds?token=verysecret"
    for words in (["info", url], ["stage", url, "here"], ["convert", url, "g.gl"], ["convert", url, "x.gd"]):
        message = error_of(capsys, *words, "--debug")
        assert "s3://bucket/ds" in message
        assert "verysecret" not in message


def test_attributes_in_parts(tiny_dataset, storage, capsys):
    report = json.loads(out_of(capsys, "push", tiny_dataset, f"{storage}/ds", "--parts", "16", "--json"))
    assert report["num_files"] > 5
    assert "in parts" in out_of(capsys, "info", f"{storage}/ds")
    out_of(capsys, "stage", f"{storage}/ds", "here", "--verify", "full")
    out_of(capsys, "push", tiny_dataset, f"{storage}/ds", "--parts", "none")
    assert "in parts" not in out_of(capsys, "info", f"{storage}/ds")
    assert "--parts: expected" in error_of(capsys, "push", tiny_dataset, f"{storage}/other", "--parts", "many")
