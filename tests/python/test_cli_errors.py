"""Every mistake at the shell is one line that names it, and an exit code; nothing is written and no traceback shown."""

import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
import typer

import faults
import graphzero as gz
from graphzero.cli.command import make_app, run
from graphzero.cli.convert import OPTIONS_OF_TARGET
from graphzero.cli.errors import one_line
from systems import IS_WINDOWS, NO_CALLS, NO_DEVICES, NO_MODES, interrupt, posix_only, start
from terminals import COMMAND


def ran(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def world(tiny_gl, tiny_gd, tiny_dataset):
    """A folder with a file for every mistake; returns what is in it."""
    junk = np.random.default_rng(0).bytes(5000)
    with open(tiny_gl, "rb") as file:
        whole = file.read()
    texts = {"e.csv": b"0,1\n1,2\n", "bad.csv": b"0,1\n1,x\n", "empty": b"", "x.csv": b"1,2\n"}
    texts |= {f"empty.{ending}": b"" for ending in ("gl", "gd", "npy", "npz", "parquet", "pt")}
    texts |= {f"junk.{ending}": junk for ending in ("csv", "gl", "gd", "npy", "npz", "parquet", "pt", "mtx", "csv.gz")}
    texts |= {
        "cut.gl": whole[:5000],
        "version.gl": whole[:8] + b"\x07" + whole[9:],
        "flip.gl": whole[:4096] + b"\xff" + whole[4097:],
    }
    for name, content in texts.items():
        with open(name, "wb") as file:
            file.write(content)
    for name, manifest in (
        ("half", None),
        ("broken", b"{"),
        ("list", b"[]"),
        ("deep", b"[" * 100_000),
        ("binary", junk),
    ):
        shutil.copytree("tiny", name)
        os.remove(f"{name}/graphzero.json")
        if manifest is not None:
            with open(f"{name}/graphzero.json", "wb") as file:
                file.write(manifest)
    shutil.copytree("tiny", "lacking")
    os.remove("lacking/nodes/node/x.gd")
    os.mkdir("nothing")
    os.mkdir("folder.gl")
    if not IS_WINDOWS:
        os.symlink("loop", "loop")
    return sorted(os.listdir("."))


# What no verb that reads can make sense of: the path, the exit code, and what the line says of it.
UNREADABLE = [
    ("missing.gl", 2, "missing.gl: cannot open: No such file"),
    ("e.csv/x.gl", 2, "e.csv/x.gl: cannot open: Not a directory"),
    ("loop", 2, "loop: cannot open: Too many levels"),
    ("nothing", 2, "nothing: has no graphzero.json"),
    ("folder.gl", 2, "folder.gl: has no graphzero.json"),
    ("half", 2, "half: has no graphzero.json: it is not a data set, or its conversion did not finish"),
    ("/dev/null", 2, "/dev/null: is not a regular file"),
    ("x" * 300, 2, "cannot open: File name too long"),
    ("empty", 1, "empty: too short"),
    ("empty.gl", 1, "empty.gl: too short"),
    ("junk.gl", 1, "junk.gl: bad magic"),
    ("junk.gd", 1, "junk.gd: bad magic"),
    ("e.csv", 1, "it is no file of graphzero; graphzero convert makes one"),
    ("cut.gl", 1, "cut.gl: bad file size"),
    ("version.gl", 1, "version.gl: bad version at byte 8: expected 1, found 7"),
    ("broken", 1, "broken/graphzero.json: expected JSON"),
    ("list", 1, "list/graphzero.json: top: expected an object"),
    ("deep", 1, "deep/graphzero.json: expected JSON"),
    ("binary", 1, "binary/graphzero.json: expected JSON"),
]
CASES = [
    *[(["info", path], code, text) for path, code, text in UNREADABLE],
    *[(["sample", path, "0"], code, text) for path, code, text in UNREADABLE],
    *[(["verify", path], 2, text) for path, code, text in UNREADABLE if code == 2],  # damage is what verify is asked for
    (["info", "lacking"], 2, "lacking/nodes/node/x.gd: cannot open"),
    (["info", "flip.gl", "--degrees"], 1, "flip.gl: corrupt indptr at node 0"),
    (["info", "tiny.gd", "--degrees"], 2, "--degrees is about graphs, and tiny.gd holds features"),
    (["info"], 2, "Missing argument 'PATH'; graphzero info --help tells more"),
    (["info", "tiny.gl", "tiny.gd"], 2, "(tiny.gd)"),
    (["info", "tiny.gl", "--degree"], 2, "--degrees"),
    (["inf", "tiny.gl"], 2, "Did you mean 'info'? graphzero --help tells more"),
    (["grow"], 2, "No such command 'grow'; graphzero --help tells more"),
    (["--jsn"], 2, "--jsn"),
    (["sample", "tiny.gl"], 2, "Missing argument 'NODE'; graphzero sample --help tells more"),
    (["sample", "tiny.gl", "9" * 30], 2, "9" * 30),
    (["sample", "tiny.gl", "0", "--walk", "x"], 2, "'--walk'"),
    (["sample", "tiny.gl", "0", "--walk", "9" * 20], 2, "--walk: expected at most 10,000,000 steps"),
    (["sample", "tiny.gl", "0", "--seed", "9" * 30], 2, "--seed: expected an integer of 64 bits"),
    (["sample", "tiny", "0", "--type", "author"], 2, "--type: expected one of node, found 'author'"),
    (["convert"], 2, "Missing argument 'SOURCE'; graphzero convert --help tells more"),
    (["convert", "missing.csv", "o.gl"], 2, "missing.csv: No such file"),
    (["convert", "missing.csv", "o.gd"], 2, "missing.csv: No such file"),
    (["convert", "missing.csv", "o.gl", "--dry-run"], 2, "missing.csv: No such file"),
    (["convert", "missing", "o"], 2, "missing: No such file"),
    (["convert", "*.nope", "o.gl"], 2, "*.nope: expected files that match, found none"),
    (["convert", "loop", "o.gl"], 2, "loop: Too many levels"),
    (["convert", "nothing", "o.gl"], 2, "nothing: is a folder, expected files"),
    (["convert", "nothing", "o.gd"], 2, "nothing: is a folder, expected files"),
    (["convert", "nothing", "o"], 2, "nothing: expected a data set of graphbolt"),
    (["convert", "nothing", "half", "o"], 2, "half: expected one data set folder, found 2"),
    (["convert", "tiny", "o"], 2, "tiny: expected a data set to convert, found one of graphzero"),
    (["convert", "e.csv", "o"], 2, "o: expected a name that ends in .gl or .gd"),
    (["convert", "tiny.gl", "o.gl"], 2, "tiny.gl: expected text, found a graph (.gl)"),
    (["convert", "tiny.gl", "o.gl", "--dry-run"], 2, "tiny.gl: expected text, found a graph (.gl)"),
    (["convert", "tiny.gl", "o.gd", "--dtype", "int8"], 2, "tiny.gl: expected text, found a graph (.gl)"),
    (["convert", "tiny.gd", "o.gl"], 2, "tiny.gd: expected text, found features (.gd)"),
    (["convert", "junk.csv", "o.gl"], 2, "junk.csv: line 1: expected text in UTF-8, found the byte 0x82"),
    (["convert", "junk.csv", "o.gd", "--dtype", "int8"], 2, "junk.csv: line 1: expected text in UTF-8, found the byte 0x82"),
    (["convert", "junk.csv.gz", "o.gl"], 2, "junk.csv.gz: line 1: expected text in UTF-8"),
    (["convert", "bad.csv", "o.gl"], 2, "bad.csv: line 2: expected a node id, found 'x'"),
    (["convert", "x.csv", "o.gd"], 2, "x.csv: expected --dtype for text, such as --dtype float32"),
    *[
        (["convert", f"{kind}.{ending}", "o.gl"], 1, f"{kind}.{ending}: expected ")
        for kind in ("empty", "junk")
        for ending in ("npy", "npz", "parquet", "pt")
    ],
    (["convert", "junk.mtx", "o.gl"], 1, "junk.mtx: line 1: expected the banner"),
    (["convert", "-", "e.csv", "o.gl"], 2, "-: expected standard input alone, found 2 sources"),
    (["convert", "e.csv", "folder.gl"], 2, "folder.gl: is a directory, expected a file to write"),
    (["convert", "e.csv", "no/such/o.gl"], 2, "no/such/o.gl: cannot create"),
    (["convert", "e.csv", "e.csv/o.gl"], 2, "e.csv/o.gl: cannot create: Not a directory"),
    (["convert", "e.csv", "o.gl", "--index", "up"], 2, "--index: expected 'both', 'out' or 'in', found 'up'"),
    (["convert", "e.csv", "o.gl", "--ids", "most"], 2, "--ids: expected 'auto', 'dense', 'map' or the path of a .gi file, found 'most'"),
    (["convert", "e.csv", "o.gl", "--src", "9"], 2, "e.csv: --src: expected column 9"),
    (["convert", "e.csv", "o.gl", "--weight", "w"], 2, "e.csv: --weight: expected a column 'w'"),
    (["convert", "e.csv", "o.gl", "--delimiter", ""], 2, "--delimiter: expected one ASCII character, found ''"),
    (["convert", "e.csv", "o.gl", "--delimiter", "ab"], 2, "--delimiter: expected one ASCII character, found 'ab'"),
    (["convert", "e.csv", "o.gl", "--num-nodes", "1"], 2, "e.csv: edge 1: expected a source id below num_nodes = 1, found 1"),
    (["convert", "e.csv", "o.gl", "--num-nodes", "-1"], 2, "--num-nodes: expected 0 to 2^59, found -1"),
    (["convert", "e.csv", "o.gl", "--num-nodes", "x"], 2, "--num-nodes: expected a number, 100,20 for a bipartite"),
    (["convert", "e.csv", "o.gl", "--num-nodes", str(2**55)], 2, "o.gl: needs about 576.5 PB of disk, and "),
    (["convert", "e.csv", "o.gl", "--memory", "much"], 2, "--memory: expected a size such as '2GB'"),
    (["convert", "e.csv", "o.gl", "--memory", "1"], 2, "--memory: expected at least"),
    (["convert", "e.csv", "o.gl", "--memory", "9" * 40], 2, "--memory: expected a size below 8 EiB"),
    (["convert", "e.csv", "o.gl", "--threads", "-3"], 2, "threads: expected at least 1, found -3"),
    (["convert", "e.csv", "o.gl", "--tmp-dir", "missing"], 2, "--tmp-dir: expected a folder, found none at missing"),
    (["convert", "e.csv", "o.gl", "--no-edge-ids"], 2, "edge ids can be left out of a directed graph with one index only"),
    (["convert", "e.csv", "o.gl", "--dtype", "int8"], 2, "--dtype is about features (.gd) and a data set folder, and o.gl"),
    (["convert", "e.csv", "o.gl", "--overwrite"], 2, "--overwrite is about a data set folder, and o.gl is not"),
    (["convert", "x.csv", "o.gd", "--undirected"], 2, "--undirected is about edges (.gl) and a data set folder, and o.gd is not; leave it out"),
    (["convert", "nothing", "o", "--src", "0"], 2, "--src is about edges (.gl), and o is not; leave it out"),
    (["convert", "x.csv", "o.gd", "--dtype", "float99"], 2, "--dtype: expected one of bfloat16"),
    (["convert", "tiny.gd", "o.gd", "--hot-order", "missing.gl"], 2, "missing.gl: cannot open"),
    (["convert", "tiny.gd", "o.gd", "--hot-order", "tiny.gd"], 1, "tiny.gd: is a feature file (.gd), expected a topology"),
    (["convert", "e.csv", "o.gl", "--wieght", "w"], 2, "--weight"),
    (["synth"], 2, "Missing argument 'PATH'; graphzero synth --help tells more"),
    (["synth", "o"], 2, "--nodes: expected a number of nodes, or --preset one of tiny"),
    (["synth", "tiny", "--preset", "tiny"], 2, "tiny: exists and is not empty; give --overwrite to replace it"),
    (["synth", "e.csv", "--preset", "tiny"], 2, "e.csv: is a file, expected a folder to write"),
    (["synth", "e.csv/o", "--preset", "tiny"], 2, "e.csv"),
    (["synth", "o", "--preset", "huge"], 2, "--preset: expected one of tiny, small, products, papers100m, found 'huge'"),
    (["synth", "o", "--nodes", "9" * 30], 2, "--nodes: expected 1 to"),
    (["synth", "o", "--nodes", "x"], 2, "'--nodes'"),
    (["synth", "o", "--preset", "tiny", "--edges", "-1"], 2, "--edges: expected 1 to"),
    (["synth", "o", "--preset", "tiny", "--feature-dtype", "int8"], 2, "--feature-dtype: expected one of float16"),
    (["synth", "o", "--preset", "tiny", "--feature-dtype", "f99"], 2, "--feature-dtype: expected one of bfloat16"),
    (["synth", "o", "--preset", "tiny", "--homophily", "nan"], 2, "--homophily: expected a share from 0 to 1"),
    (["synth", "o", "--preset", "tiny", "--train", "²"], 2, "--train: expected a share such as 0.6"),
    (["synth", "o", "--preset", "tiny", "--train", "9" * 30], 2, "--train: expected 0 to"),
    (["synth", "o", "--preset", "tiny", "--hetero", "--kind", "ba"], 2, "--hetero: expected --kind blocks with it"),
    (["synth", "o", "--preset", "tiny", "--no-edge-ids"], 2, "--no-edge-ids: expected --index in or --index out"),
    (["synth", "o", "--preset", "tiny", "--memory", "-1"], 2, "--memory: expected a size such as '2GB'"),
]  # fmt: skip


def test_every_mistake_is_one_line_and_an_exit_code(world, capsys):
    # --json changes nothing of a message: the first mistake of each verb and exit code proves it.
    with_json = {
        (arguments[0], code): ([*arguments, "--json"], code, message) for arguments, code, message in CASES[::-1]
    }
    for arguments, code, message in [*CASES, *with_json.values()]:
        found = run(arguments)
        printed = capsys.readouterr()
        assert (found, printed.out) == (code, ""), (arguments, printed)
        assert printed.err.startswith("graphzero: "), (arguments, printed.err)
        assert message in printed.err, (arguments, printed.err)
        assert printed.err.count("\n") == 1, (arguments, printed.err)
        assert len(printed.err) < 600, (arguments, printed.err)
        assert "--debug" not in printed.err, (arguments, printed.err)
    assert sorted(os.listdir(".")) == world  # no target, no temporary file


def test_a_name_that_is_no_text_is_printed_all_the_same():
    name = os.fsdecode(b"na\xffme.csv")
    with open(name, "w") as file:
        file.write("0,1\n1,x\n")
    for arguments, code, message in [
        (["info", name], 1, "bad magic"),
        (["sample", name, "0"], 1, "bad magic"),
        (["convert", name, "o.gl"], 2, "line 2: expected a node id, found 'x'"),
        (["synth", f"{name}/o", "--preset", "tiny"], 2, "File exists"),
    ]:
        done = ran(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("graphzero: ")
        assert r"na\udcffme.csv" in done.stderr
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_damage_is_what_verify_tells_on_standard_output(world, capsys):
    for path, code, _ in UNREADABLE:
        if code == 1:
            assert run(["verify", path]) == 1
            printed = capsys.readouterr()
            assert printed.err == ""
            assert printed.out.startswith("✗ ")
            assert ": damaged, 1 of 1 checks failed" in printed.out


@posix_only(reason=NO_MODES)
@pytest.mark.skipif(not IS_WINDOWS and os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(tiny_gl, capsys):
    os.chmod(tiny_gl, 0)
    for verb in (["info"], ["verify"], ["sample", "0"]):
        assert run([verb[0], tiny_gl, *verb[1:]]) == 2
        assert f"{tiny_gl}: cannot open: Permission denied" in capsys.readouterr().err


@posix_only(reason=NO_CALLS)
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n")
    code = """
    import contextlib, io, json
    from graphzero.cli.command import run
    told = []
    for arguments in (["convert", "e.csv", "o.gl"], ["synth", "o", "--preset", "tiny"]):
        with contextlib.redirect_stderr(io.StringIO()) as error:
            told.append((run(arguments), error.getvalue()))
    print(json.dumps(told))
    """
    found = faults.run(faults.READ_ONLY + "\n".join(line[4:] for line in code.splitlines()))
    if found is None:
        pytest.skip("this system does not let us mount a folder read-only")
    for code, error in found:
        assert code == 2
        assert error.startswith("graphzero: ")
        assert error.endswith("Read-only file system\n")
        assert error.count("\n") == 1


@posix_only(reason=NO_DEVICES)
@pytest.mark.parametrize(
    "verb", [["info", "tiny.gl"], ["verify", "tiny.gl", "--json"], ["--help"], ["sample", "tiny.gl", "0"]]
)
def test_a_full_disk_behind_standard_output_is_told(verb, tiny_gl):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *verb], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("graphzero: ")
    assert "No space left on device" in done.stderr


def test_closed_streams_are_no_reason_to_fail(tiny_gl):
    program = " ".join(COMMAND)
    for closed, code in ((">&-", 0), ("2>&-", 0), (">&- 2>&-", 0)):
        done = subprocess.run(f"{program} info {tiny_gl} {closed}", shell=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (code, b"")
    done = subprocess.run(f"{program} info missing 2>&-", shell=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    done = subprocess.run(f"{program} convert - o.gl <&-", shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "graphzero: -: standard input is closed; give the name of a file\n")


def test_a_target_that_outgrows_the_limit_is_named(tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n" * 1000)
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 4; exec {' '.join(COMMAND)} convert e.csv o.gl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "graphzero: o.gl: cannot write: File too large\n")
    assert not os.path.exists("o.gl")


@pytest.mark.parametrize(
    ("library", "arguments", "message"),
    [
        ("pyarrow", ["convert", "e.parquet", "o.gl"], "pip install 'graphzero[arrow]'"),
        ("pyarrow", ["convert", "e.feather", "o.gl"], "pip install 'graphzero[arrow]'"),
        ("torch", ["convert", "e.pt", "o.gl"], "e.pt: .pt files need torch: pip install 'graphzero[torch]'"),
        ("torch", ["convert", "e.pt", "o.gd"], "e.pt: .pt files need torch: pip install 'graphzero[torch]'"),
    ],
)
def test_a_missing_library_comes_with_how_to_install_it(library, arguments, message, monkeypatch, capsys, tmp_path):
    (tmp_path / arguments[1]).write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.parquet", None)
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_zstd_without_a_library_comes_with_how_to_install_one(monkeypatch, capsys, tmp_path):
    (tmp_path / "e.csv").write_bytes(b"\x28\xb5\x2f\xfd")
    for library in ("compression.zstd", "compression", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    assert run(["convert", "e.csv", "o.gl"]) == 2
    assert (
        "e.csv: is compressed with zstd, which needs Python 3.14 or: pip install zstandard" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "there is no more memory; free some, or raise the limit of the control group"),
        (MemoryError("h.gl: needs 9 GB"), "h.gl: needs 9 GB; free some, or raise the limit of the control group"),
        (KeyError("node type 'a' has no attribute 'z'"), "node type 'a' has no attribute 'z'"),
        (IndexError("node 9 is not in g.gl"), "node 9 is not in g.gl"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "No module named 'torch': pip install torch"),
        (TypeError("x: expected integers, found float64"), "x: expected integers, found float64"),
        (TypeError("'int' object is not callable"), "TypeError: 'int' object is not callable; --debug shows where"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError("of all\nthings"), "RuntimeError: of all things; --debug shows where"),
    ],
)
def test_what_python_raises_is_told_as_people_read_it(error, line):
    assert one_line(error, None) == line


def test_a_verb_with_a_budget_says_to_lower_it(tmp_path, monkeypatch, capsys):
    def fail(*arguments, **options):
        raise MemoryError

    (tmp_path / "e.csv").write_text("0,1\n")
    monkeypatch.setattr("graphzero.cli.convert.gz.convert_edges", fail)
    assert run(["convert", "e.csv", "o.gl"]) == 2
    assert capsys.readouterr().err == "graphzero: there is no more memory; give --memory less, or free some\n"


def test_convert_knows_of_each_option_which_targets_take_it():
    options = {option.name for option in typer.main.get_command(make_app()).commands["convert"].params}
    always = {"source", "target", "memory", "json", "help"}
    assert set().union(*OPTIONS_OF_TARGET.values()) == options - always


def test_ctrl_c_ends_a_conversion_whose_pipe_is_silent():
    child = start(
        [*COMMAND, "convert", "-", "o.gl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdin.write(b"0,1\n" * (1 << 18))  # more than a pipe holds: once it is written, the child reads
    child.stdin.flush()
    interrupt(child)
    assert child.wait(timeout=30) == 130
    assert (child.stdout.read(), child.stderr.read()) == (b"", b"graphzero: interrupted\n")
    for pipe in (child.stdin, child.stdout, child.stderr):
        pipe.close()
    assert not os.path.exists("o.gl")


def test_ctrl_c_leaves_nothing_of_a_data_set_behind():
    child = start(
        [*COMMAND, "synth", "o", "--nodes", "4000000", "--features", "64"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not any(name.endswith(".graphzero-tmp") for name in os.listdir(".")) and child.poll() is None:
        time.sleep(0.01)
    interrupt(child)
    printed = child.communicate(timeout=60)
    assert (child.returncode, printed) == (130, (b"", b"graphzero: interrupted\n"))
    assert os.listdir(".") == []


def test_json_of_every_verb_is_one_object(tiny_gl, tiny_gd, tiny_dataset, tmp_path, capsys):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    (tmp_path / "mag" / "processed" / "paper___cites___paper").mkdir(parents=True)
    np.save("mag/processed/paper___cites___paper/edge_index.npy", [[0, 1], [1, 2]])
    (tmp_path / "mag" / "processed" / "paper").mkdir()
    np.save("mag/processed/paper/node_feat.npy", np.eye(3))
    for arguments, key in [
        (["info", tiny_gl], "kind"),
        (["verify", tiny_gd], "intact"),
        (["sample", tiny_dataset, "0"], "node"),
        (["sample", tiny_gl, "0", "--walk", "2"], "walks"),
        (["synth", "drawn", "--preset", "tiny"], "seconds"),
        (["convert", "e.csv", "o.gl"], "num_edges"),
        (["convert", "e.csv", "o.gl", "--dry-run"], "rows"),
        (["convert", "x.csv", "o.gd", "--dtype", "float16"], "shape"),
        (["convert", "x.csv", "o.gd", "--dtype", "float16", "--dry-run"], "shape"),
        (["convert", "mag", "o", "--dtype", "float16"], "edges"),
    ]:
        assert run([*arguments, "--json"]) == 0, capsys.readouterr()
        printed = capsys.readouterr()
        assert key in json.loads(printed.out), arguments
        assert printed.err == ""
    assert gz.open("o").num_edges == 2
