"""The command line: what it prints, and which exit code it leaves with."""

import json
import os
import re
import struct
import subprocess

import numpy as np
import pytest

import graphzero as gz
from graphzero.cli.command import run
from systems import IS_WINDOWS
from terminals import COMMAND, shown

# What the core adds to a message that comes from Windows.
BY_WINDOWS = " (Windows error 2)" if IS_WINDOWS else ""


def ran(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def json_of(capsys):
    """Runs a command with --json and returns its exit code and what it printed."""

    def of(*arguments):
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return of


def flip_a_bit_of_data(path):
    with open(path, "r+b") as file:
        file.seek(4096)
        byte = file.read(1)[0]
        file.seek(4096)
        file.write(bytes([byte ^ 1]))


def problems(document):
    return {
        (file["path"], check["name"]): check["problem"]
        for file in document["files"]
        for check in file["checks"]
        if not check["holds"]
    }


def test_version_is_that_of_the_package():
    version = ran("--version")
    assert (version.returncode, version.stdout) == (0, f"graphzero {gz.__version__}\n")


def test_no_verb_shows_help_as_a_usage_error(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grow"], "No such command 'grow'; graphzero --help tells more"),
        (["info"], "Missing argument 'PATH'; graphzero info --help tells more"),
        (["info", "--depth", "x.gd"], "No such option: --depth"),
        (["info", "missing.gl"], "missing.gl: cannot open: No such file or directory"),
        (["verify", "missing.gl"], "missing.gl: cannot open: No such file or directory"),
        (["info", "."], ".: has no graphzero.json: it is not a data set, or its conversion did not finish"),
        (["verify", "."], ".: has no graphzero.json: it is not a data set, or its conversion did not finish"),
    ],
)
def test_bad_command_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"graphzero: {message}")
    assert printed.err.count("\n") == 1


def test_exit_codes_reach_the_shell(tiny_gd):
    assert ran("verify", tiny_gd).returncode == 0
    flip_a_bit_of_data(tiny_gd)
    assert ran("verify", tiny_gd).returncode == 1
    missing = ran("verify", "missing.gd")
    assert (missing.returncode, missing.stderr) == (
        2,
        f"graphzero: missing.gd: cannot open: No such file or directory{BY_WINDOWS}\n",
    )


@pytest.mark.parametrize("arguments", [["--debug", "info", "missing.gl"], ["info", "missing.gl", "--debug"]])
def test_debug_adds_the_traceback_wherever_it_stands(arguments, capsys):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith(f"graphzero: missing.gl: cannot open: No such file or directory{BY_WINDOWS}\n")


def test_what_we_did_not_foresee_names_its_type(tiny_gd, monkeypatch, capsys):
    def fail(path, progress):
        raise RuntimeError("of all\nthings")

    monkeypatch.setattr("graphzero.cli.verify.gz.verify", fail)
    assert run(["verify", tiny_gd]) == 2
    assert capsys.readouterr().err == "graphzero: RuntimeError: of all things; --debug shows where\n"


def test_interrupt_is_told_in_one_line(tiny_gd, monkeypatch, capsys):
    def interrupt(path, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphzero.cli.verify.gz.verify", interrupt)
    assert run(["verify", tiny_gd]) == 130
    assert capsys.readouterr().err.strip() == "graphzero: interrupted"


def test_reader_that_leaves_early_gets_neither_message_nor_verdict(tiny_gd):
    reader = subprocess.Popen([*COMMAND, "info", tiny_gd], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reader.stdout.close()
    assert reader.stderr.read() == b""
    reader.stderr.close()
    assert reader.wait() == 141


def test_info_of_a_graph(tiny_gl, json_of):
    code, facts = json_of("info", tiny_gl)
    distribution = [
        {"min": 0, "max": 0, "num_nodes": 1},
        {"min": 1, "max": 1, "num_nodes": 2},
        {"min": 2, "max": 3, "num_nodes": 1},
    ]
    degrees = {"min": 0, "mean": 1.0, "max": 2, "sampled": False, "distribution": distribution}
    assert code == 0
    assert facts.pop("resident") in (None, *range(os.path.getsize(tiny_gl) + 1))
    assert facts == {
        "kind": "graph",
        "path": tiny_gl,
        "format": "1",
        "size": os.path.getsize(tiny_gl),
        "fingerprint": f"{gz.Graph(tiny_gl).fingerprint:#018x}",
        "num_src_nodes": 4,
        "num_dst_nodes": 4,
        "num_edges": 4,
        "num_input_edges": 4,
        "directed": True,
        "bipartite": False,
        "indexes": ["out", "in"],
        "id_dtype": "int32",
        "sorted": True,
        "weights": False,
        "times": False,
        "weight_range": None,
        "time_range": None,
        "degrees": dict.fromkeys(["out", "in"], degrees),
    }


def test_info_of_features(tiny_gd, json_of):
    code, facts = json_of("info", tiny_gd)
    assert code == 0
    assert facts["kind"] == "features"
    assert facts["size"] == os.path.getsize(tiny_gd)
    assert (facts["shape"], facts["dtype"], facts["row_bytes"]) == ([4, 3], "float32", 12)


def test_info_of_a_data_set(tiny_dataset, json_of):
    code, facts = json_of("info", tiny_dataset)
    assert code == 0
    assert list(facts) == [
        *("kind", "path", "format", "size", "resident", "fingerprint"),
        *("nodes", "edges", "splits", "files", "metadata"),
    ]
    (node,) = facts["nodes"]
    assert (node["type"], node["num_nodes"], node["label"], node["num_classes"]) == ("node", 4, "y", 3)
    assert node["attributes"]["x"]["shape"] == [4, 3]
    (edge,) = facts["edges"]
    assert edge["type"] == ["node", "to", "node"]
    assert edge["graph"]["num_edges"] == 4
    assert facts["splits"] == [
        {"name": "train", "of": "node", "num_ids": 2, "share": 0.5},
        {"name": "test", "of": "node", "num_ids": 2, "share": 0.5},
    ]
    assert facts["size"] == gz.open(tiny_dataset).nbytes


def test_info_without_json_is_plain_where_nobody_looks(tiny_dataset, capsys):
    assert run(["info", tiny_dataset]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == tiny_dataset
    assert "node              4 nodes, label y of 3 classes" in printed
    assert "split train       2 ids of node, 50.0%" in printed
    assert "\x1b" not in printed


def test_info_names_both_sides_of_a_bipartite_graph(capsys):
    gz.write_graph("ratings.gl", [0, 1, 2], [1, 0, 1], num_nodes=(3, 2), weight=[5, 3, 4], time=[7, 8, 9])
    assert run(["info", "ratings.gl"]) == 0
    printed = capsys.readouterr().out
    assert "nodes          3 → 2" in printed
    assert "edge data      weights, times" in printed


def test_info_of_an_undirected_graph_says_how_edges_are_stored(capsys):
    gz.write_graph("path.gl", [0, 1], [1, 2], directed=False)
    assert run(["info", "path.gl"]) == 0
    assert "4, undirected, each stored both ways" in capsys.readouterr().out


def test_features_can_be_converted_to_the_order_of_a_graph(tiny_gd, tiny_gl, json_of, capsys):
    assert run(["convert", tiny_gd, "hot.gd", "--hot-order", tiny_gl]) == 0
    assert gz.FeatureStore("hot.gd").row_map.tolist() == [0, 1, 3, 2]
    assert gz.FeatureStore("hot.gd").gather([2]).tolist() == [[6, 7, 8]]
    capsys.readouterr()
    assert run(["info", "hot.gd"]) == 0
    assert "4, hottest first" in capsys.readouterr().out
    assert [json_of("info", path)[1]["reordered"] for path in ("hot.gd", tiny_gd)] == [True, False]


def test_degrees_of_features_are_a_usage_error(tiny_gd, capsys):
    assert run(["info", tiny_gd, "--degrees"]) == 2
    assert f"--degrees is about graphs, and {tiny_gd} holds features" in capsys.readouterr().err


def test_info_of_a_graphzero02_file(json_of):
    with open("old.gd", "wb") as file:
        file.write(struct.pack("<8sIiQQ", b"GZDATA26", 0, 2, 2, 3) + bytes(24))
    code, facts = json_of("info", "old.gd")
    assert (code, facts["format"], facts["shape"]) == (0, "GraphZero 0.2", [2, 3])


def test_info_of_another_kind_of_file_says_what_it_found(capsys):
    with open("notes.txt", "w") as file:
        file.write("no graph at all")
    assert run(["info", "notes.txt"]) == 1
    assert capsys.readouterr().err.startswith("graphzero: notes.txt: bad magic at byte 0")


@pytest.mark.parametrize("fixture", ["tiny_gl", "tiny_gd", "tiny_dataset"])
def test_verify_of_intact_data(fixture, request, json_of):
    path = request.getfixturevalue(fixture)
    code, document = json_of("verify", path)
    assert (code, document["path"], document["intact"]) == (0, path, True)
    assert problems(document) == {}
    assert all(len(file["checks"]) >= 3 for file in document["files"])


def test_verify_prints_a_line_per_file_where_nobody_looks(tiny_dataset, capsys):
    assert run(["verify", tiny_dataset]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ graphzero.json: ")
    assert lines[-1].startswith(f"{tiny_dataset}: intact, ")
    assert len(lines) == 7


def test_verify_names_the_section_that_changed(tiny_gd, capsys):
    flip_a_bit_of_data(tiny_gd)
    assert run(["verify", tiny_gd]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"✗ {tiny_gd}: checksum of data: expected ")
    assert lines[-1] == f"{tiny_gd}: damaged, 1 of 3 checks failed"


def test_unreadable_header_is_damage_not_an_error(tiny_gl, json_of):
    os.truncate(tiny_gl, 5000)
    code, document = json_of("verify", tiny_gl)
    assert code == 1
    ((place, problem),) = problems(document).items()
    assert place == (tiny_gl, "header")
    assert "bad file size" in problem


def test_verify_of_a_file_that_was_replaced(tiny_dataset, json_of):
    gz.write_features(f"{tiny_dataset}/nodes/node/x.gd", np.ones((4, 3), dtype=np.float32))
    code, document = json_of("verify", tiny_dataset)
    assert code == 1
    ((place, problem),) = problems(document).items()
    assert place == ("nodes/node/x.gd", "fingerprint is the manifest's")
    assert problem.endswith("this is another file")


def test_verify_of_a_missing_file(tiny_dataset, json_of):
    path = os.path.join(tiny_dataset, "nodes/node/y.gd")
    os.remove(path)
    code, document = json_of("verify", tiny_dataset)
    assert code == 1
    assert problems(document) == {("nodes/node/y.gd", "header"): f"expected a file, found none at {path}"}


def edit_manifest(folder, edit):
    path = f"{folder}/graphzero.json"
    with open(path) as file:
        document = json.load(file)
    edit(document)
    with open(path, "w") as file:
        json.dump(document, file)


def test_verify_compares_split_ids_with_their_nodes(tiny_dataset, json_of):
    path = f"{tiny_dataset}/splits/train/node.gd"
    gz.write_features(path, [0, 4])
    fingerprint = f"{gz.FeatureStore(path).fingerprint:#018x}"
    edit_manifest(tiny_dataset, lambda document: document["splits"][0]["ids"].update(fingerprint=fingerprint))
    code, document = json_of("verify", tiny_dataset)
    assert code == 1
    place = ("graphzero.json", "split train: ids of node exist")
    assert problems(document) == {place: "[1]: expected an id below 4, found 4"}


def test_verify_compares_edge_splits_with_edge_ids(json_of):
    triple = ("user", "rates", "movie")
    with gz.DatasetWriter("movies") as writer:
        writer.add_nodes(type="user", num_nodes=9)
        writer.add_nodes(type="movie", num_nodes=2)
        writer.add_edges([0, 1, 2], [1, 0, 1], type=triple)
        writer.add_split("train", [0, 2], of=triple)
    assert json_of("verify", "movies")[0] == 0
    path = "movies/splits/train/user__rates__movie.gd"
    gz.write_features(path, [0, -1])
    fingerprint = f"{gz.FeatureStore(path).fingerprint:#018x}"
    edit_manifest("movies", lambda document: document["splits"][0]["ids"].update(fingerprint=fingerprint))
    code, document = json_of("verify", "movies")
    assert code == 1
    assert list(problems(document).values()) == ["[1]: expected an id below 3, found -1"]


def test_verify_compares_counts_with_the_manifest(tiny_dataset, json_of):
    edit_manifest(tiny_dataset, lambda document: document["nodes"]["node"].update(num_nodes=5))
    code, document = json_of("verify", tiny_dataset)
    assert code == 1
    ((place, problem),) = problems(document).items()
    assert place == ("graphzero.json", "counts agree with the files")
    assert "expected 5 rows, found 4" in problem


def test_verify_of_a_manifest_that_is_no_json(tiny_dataset, json_of):
    with open(f"{tiny_dataset}/graphzero.json", "w") as file:
        file.write("{")
    code, document = json_of("verify", tiny_dataset)
    assert code == 1
    assert problems(document)["graphzero.json", "manifest"].startswith("expected JSON")


def test_of_a_data_set_with_graphzero02_files_the_structure_is_proven_alone(tmp_path, json_of, capsys):
    with open("old.gd", "wb") as file:
        file.write(struct.pack("<8sIiQQ", b"GZDATA26", 0, 2, 2, 3) + bytes(24))
    with gz.DatasetWriter("old") as writer:
        writer.add_nodes({"x": "old.gd"}, num_nodes=2)
        writer.add_edges([0], [1])
    os.utime("old/nodes/node/x.gd", ns=(1, 1))
    code, document = json_of("verify", "old")
    assert (code, document["intact"]) == (3, None)
    states = {file["path"]: file["intact"] for file in document["files"]}
    assert states == {"graphzero.json": True, "nodes/node/x.gd": None, "edges/node__to__node/graph.gl": True}
    unknown = next(file for file in document["files"] if file["intact"] is None)["checks"][-1]
    assert (unknown["name"], unknown["holds"]) == ("content is what was written", None)
    assert run(["verify", "old"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert "? nodes/node/x.gd: content is what was written: cannot be checked: a file of GraphZero 0.2 has" in lines[1]
    assert re.fullmatch(r"old: structure is consistent, \d+ checks; content could not be checked", lines[-1])
    assert shown("verify", "old.gd", code=3).count("?") == 1
    edit_manifest("old", lambda document: document["nodes"]["node"].update(num_nodes=5))
    code, document = json_of("verify", "old")
    assert (code, document["intact"]) == (1, False)


def test_a_terminal_gets_every_check_with_a_mark(tiny_gd):
    text = shown("verify", tiny_gd)
    assert text.count("✓") == 3
    assert "checksum of data" in text


def test_a_mark_that_the_encoding_lacks_is_printed_all_the_same(tiny_gd):
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*COMMAND, "verify", tiny_gd], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout[:7]) == (0, b"\\u2713 ")


def test_convert_makes_edges_features_and_data_sets(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src,dst,w\n0,1,0.5\n3,0,1.5\n")
    (tmp_path / "x.csv").write_text("0.5,1\n2,3\n4,5\n6,7\n")
    assert run(["convert", "e.csv", "g.gl", "--weight", "w", "--memory", "64MB"]) == 0
    assert "g.gl: 2 edges over 4 nodes" in capsys.readouterr().out
    assert gz.Graph("g.gl").weights.tolist() == [0.5, 1.5]
    assert run(["convert", "e.csv", "u.gl", "--undirected", "--src", "1", "--dst", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_edges"] == 4
    assert run(["convert", "e.csv", "d.gl", "--dry-run"]) == 0
    assert "rows            about 3" in capsys.readouterr().out
    assert not (tmp_path / "d.gl").exists()
    assert run(["convert", "x.csv", "x.gd", "--dtype", "float16", "--no-header"]) == 0
    assert gz.FeatureStore("x.gd").dtype == "float16"
    assert run(["convert", "e.csv", "e.csv", "both.gl"]) == 0
    assert gz.Graph("both.gl").num_edges == 4
    (tmp_path / "mag" / "processed" / "paper___cites___paper").mkdir(parents=True)
    np.save("mag/processed/paper___cites___paper/edge_index.npy", [[0, 1], [1, 2]])
    (tmp_path / "mag" / "processed" / "paper").mkdir()
    np.save("mag/processed/paper/node_feat.npy", np.eye(3))
    assert run(["convert", "mag", "ds", "--json"]) == 0
    capsys.readouterr()
    assert gz.open("ds").num_edges == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "g.gl"], "missing.csv: "),
        (["e.csv", "g.txt"], "g.txt: expected a name that ends in .gl or .gd, or a source that is a folder"),
        (["e.csv", "g.gl", "--memory", "much"], "--memory: expected a size such as '2GB'"),
        (["e.csv", "g.gl", "--src", "nope"], "e.csv: --src: expected a column 'nope', found 2 columns"),
        (["bad.csv", "g.gl"], "bad.csv: line 2: expected a node id, found 'x'"),
    ],
)
def test_convert_says_what_is_wrong_in_one_line(tmp_path, capsys, arguments, message):
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "bad.csv").write_text("0,1\n1,x\n")
    assert run(["convert", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"graphzero: {message}")
