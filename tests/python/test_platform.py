"""What must hold on every system: Linux here, and Windows, in a Windows Python under wine (make check-platforms)."""

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import graphzero as gz
from graphzero import _core
from systems import IS_WINDOWS, interrupt, start

NAME = "Grüße, 図 🜁"


def python(code, *arguments, **more):
    """Start a Python that runs ``code``; its output is read through a pipe."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)


@contextlib.contextmanager
def allowed_to_refuse():
    """Windows may refuse to replace what is in use, with an error that says what to do; other systems do it."""
    refusal = None
    try:
        yield
    except PermissionError as error:
        refusal = str(error)
    assert refusal is None or IS_WINDOWS
    assert refusal is None or "is open or mapped, here or in another program" in refusal
    assert refusal is None or "close what uses it, or write to another name" in refusal


@pytest.fixture
def features(tmp_path):
    path = tmp_path / "x.gd"
    gz.write_features(path, np.arange(40_000, dtype=np.float32).reshape(10_000, 4))
    return path


def test_names_may_have_any_letters(tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / f"{NAME}.csv").write_text("0,1\n1,2\n")
    gz.convert_edges(folder / f"{NAME}.csv", folder / f"{NAME}.gl")
    gz.write_features(folder / f"{NAME}.gd", np.eye(3, dtype=np.float32))
    with gz.Graph(folder / f"{NAME}.gl") as graph, gz.FeatureStore(folder / f"{NAME}.gd") as rows:
        assert graph.num_edges == 2
        assert rows.gather([2]).tolist() == [[0, 0, 1]]
    assert sorted(os.listdir(folder)) == sorted(f"{NAME}.{ending}" for ending in ("csv", "gl", "gd"))
    with pytest.raises(FileNotFoundError) as raised:
        gz.Graph(folder / f"no {NAME}.gl")
    assert raised.value.filename == str(folder / f"no {NAME}.gl")


def test_paths_may_be_longer_than_260_characters(tmp_path):
    folder = str(tmp_path)
    while len(folder) < 300:
        folder = os.path.join(folder, "a folder with a long name")
    # Python itself needs the prefix where the system is not told to do without; the core does not.
    os.makedirs("\\\\?\\" + folder if IS_WINDOWS else folder)
    path = os.path.join(folder, "g.gl")
    gz.write_graph(path, [0, 1], [1, 2])
    gz.write_graph(path, [0, 1, 2], [1, 2, 0])
    gz.convert_features(np.eye(3, dtype=np.float32), os.path.join(folder, "x.gd"))
    with gz.Graph(path) as graph, gz.FeatureStore(os.path.join(folder, "x.gd")) as rows:
        assert graph.num_edges == 3
        for reader in ("mmap", "pread", "direct"):
            assert rows.gather([1], reader=reader).tolist() == [[0, 1, 0]]
    with pytest.raises(FileNotFoundError, match="cannot open"):
        gz.Graph(os.path.join(folder, "none.gl"))


def graphbolt_folder(folder, path):
    """A data set of another project, whose metadata.yaml names the file of its edges."""
    folder.mkdir()
    (folder / "edges.csv").write_text("0,1\n1,2\n")
    graph = {"nodes": [{"num": 3}], "edges": [{"format": "csv", "path": path}]}
    document = {"dataset_name": "tiny", "graph": graph, "feature_data": [], "tasks": []}
    (folder / "metadata.yaml").write_text(json.dumps(document))  # JSON is YAML


def test_a_folder_of_others_has_the_separators_of_the_system(tmp_path):
    graphbolt_folder(tmp_path / "theirs", "part\\edges.csv")
    (tmp_path / "theirs/part").mkdir()
    os.rename(tmp_path / "theirs/edges.csv", tmp_path / "theirs" / "part\\edges.csv")
    gz.convert_dataset(tmp_path / "theirs", tmp_path / "ours")
    assert os.path.exists(tmp_path / "theirs/part/edges.csv") == IS_WINDOWS
    with gz.open(tmp_path / "ours") as dataset:
        assert dataset.graph.num_edges == 2


@pytest.mark.skipif(not IS_WINDOWS, reason="elsewhere these are ordinary names, which stay in the folder")
@pytest.mark.parametrize(
    "path", ["..\\x.csv", "a\\..\\..\\x.csv", "\\x.csv", "\\\\host\\x.csv", "C:x.csv", "C:\\x.csv"]
)
def test_a_folder_of_others_does_not_lead_out_of_itself_on_windows(tmp_path, path):
    (tmp_path / "x.csv").write_text("0,1\n")
    graphbolt_folder(tmp_path / "theirs", path)
    with pytest.raises(gz.FormatError, match="metadata.yaml: expected a path inside the folder, found ") as raised:
        gz.convert_dataset(tmp_path / "theirs", tmp_path / "ours")
    assert str(raised.value).endswith(f"found {path!r}")


def test_a_mounted_file_is_replaced_or_the_error_says_what_to_do(features):
    with gz.FeatureStore(features) as rows:
        before = rows.gather([1]).tolist()
        with allowed_to_refuse():
            gz.write_features(features, np.zeros((5, 4), np.float32))
        assert rows.gather([1]).tolist() == before
    gz.write_features(features, np.zeros((5, 4), np.float32))
    with gz.FeatureStore(features) as rows:
        assert rows.shape == (5, 4)
    assert os.listdir(features.parent) == [features.name]


def test_a_mounted_data_set_is_replaced_or_the_error_says_what_to_do(tmp_path):
    def write(count):
        with gz.DatasetWriter(tmp_path / "ds", overwrite=True) as writer:
            writer.add_nodes({"x": np.zeros((count, 2), np.float32)})

    write(4)
    with gz.open(tmp_path / "ds") as mounted:
        assert mounted.features("x").gather([0]).tolist() == [[0, 0]]
        with allowed_to_refuse():
            write(5)
    write(6)
    assert os.listdir(tmp_path) == ["ds"]


def test_a_file_that_is_cut_gives_an_error_and_no_crash(features):
    """Windows does not let anybody cut a mapped file; Linux does."""
    with gz.FeatureStore(features) as rows:
        if IS_WINDOWS:
            with contextlib.suppress(OSError):
                os.truncate(features, 8192)
            assert rows.gather([9_999]).tolist() == [[39_996.0, 39_997.0, 39_998.0, 39_999.0]]
        else:
            os.truncate(features, 8192)
            with pytest.raises(OSError, match="shrank while it was mapped"):
                rows.gather([9_999])
    with open(features, "r+b") as file:
        file.truncate(8192)
    with pytest.raises(gz.FormatError):
        gz.FeatureStore(features)


def test_a_lock_is_for_one_process_and_ends_with_it(tmp_path):
    code = (
        "import os, sys; from graphzero import _core\n"
        "lock = _core.PathLock(os.fsencode(sys.argv[1]), wait=False)\n"
        "print(lock.is_held, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with python(code, tmp_path, stdin=subprocess.PIPE) as other:
        assert other.stdout.readline().strip() == "True"
        assert not _core.PathLock(os.fsencode(tmp_path), wait=False).is_held
        other.kill()
    lock = _core.PathLock(os.fsencode(tmp_path), wait=True)
    assert lock.is_held
    assert not _core.PathLock(os.fsencode(tmp_path), wait=False).is_held
    lock.release()
    assert _core.PathLock(os.fsencode(tmp_path), wait=False).is_held
    with pytest.raises(FileNotFoundError, match="cannot lock"):
        _core.PathLock(os.fsencode(tmp_path / "none"), wait=True)


def test_a_converter_that_is_killed_leaves_no_half_file(tmp_path):
    code = (
        "import sys, time; import graphzero as gz; import numpy as np\n"
        "def edges():\n"
        "    while True:\n"
        "        yield np.arange(1000), np.arange(1000)\n"
        "        print('on', flush=True)\n"
        "        time.sleep(0.01)\n"
        "gz.convert_edges(edges(), sys.argv[1], num_nodes=1000)\n"
    )
    with python(code, tmp_path / "g.gl") as converter:
        assert converter.stdout.readline().strip() == "on"
        converter.kill()
    assert not (tmp_path / "g.gl").exists()
    gz.write_graph(tmp_path / "g.gl", [0], [1])
    assert os.listdir(tmp_path) == ["g.gl"]


# Lines that take minutes, each in its own way; ``ready()`` says that they have begun.
LONG = {
    "a conversion": """
def edges():
    while True:
        yield np.arange(1000), np.arange(1000)
        ready()
gz.convert_edges(edges(), "converted.gl", num_nodes=1000)
""",
    "a pipeline": """
graph = gz.Graph("g.gl")
while True:
    for batch in gz.Pipeline(graph, np.arange(1000), [5, 5], batch_size=10, features=gz.FeatureStore("x.gd")):
        ready()
""",
}


@pytest.mark.parametrize("work", LONG.values(), ids=LONG)
def test_ctrl_c_ends_what_takes_long(tmp_path, work):
    """By a key at the console on Windows, by a signal elsewhere."""
    gz.write_graph("g.gl", np.arange(1000), (np.arange(1000) + 1) % 1000)
    gz.write_features("x.gd", np.zeros((1000, 16), np.float32))
    code = (
        "import numpy as np; import graphzero as gz\n"
        "told = []\n"
        "def ready():\n"
        "    if not told: print('ready', flush=True)\n"
        "    told.append(True)\n"
        "try:\n" + textwrap.indent(work, "    ") + "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    with start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            interrupt(process)
            assert process.communicate(timeout=120)[0] == "interrupted\n"
            assert process.returncode == 0
        finally:
            process.kill()
    assert sorted(os.listdir()) == ["g.gl", "x.gd"]


@pytest.mark.skipif(not IS_WINDOWS, reason="only Windows keeps others from opening a file")
def test_a_file_that_another_program_keeps_to_itself_is_an_error(features):
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateFileW.restype = ctypes.c_void_p
    read, shared_with_nobody, must_exist = 0x80000000, 0, 3
    handle = kernel.CreateFileW(str(features), read, shared_with_nobody, None, must_exist, 0, None)
    assert handle != ctypes.c_void_p(-1).value
    message = r"cannot open: the file is open, here or in another program \(Windows error 32\); close what uses it"
    with pytest.raises(PermissionError, match=message):
        gz.FeatureStore(features)
    with pytest.raises(PermissionError, match="close what uses it, or write to another name"):
        gz.write_features(features, np.zeros((5, 4), np.float32))
    assert os.listdir(features.parent) == [features.name]
    kernel.CloseHandle(ctypes.c_void_p(handle))
    with gz.FeatureStore(features) as rows:
        assert rows.shape == (10_000, 4)


def test_spawned_workers_open_the_same_files(features):
    code = (
        "import multiprocessing, sys; import graphzero as gz\n"
        "def first(rows):\n"
        "    return rows.gather([3]).tolist()\n"
        "if __name__ == '__main__':\n"
        "    rows = gz.FeatureStore(sys.argv[1])\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(first, [rows]))\n"
    )
    script = features.parent / "spawn.py"
    script.write_text(code)
    found = subprocess.run([sys.executable, script, features], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.strip() == "[[[12.0, 13.0, 14.0, 15.0]]]"


def test_the_commands_run(tmp_path):
    def command(*words):
        return subprocess.run(
            [sys.executable, "-m", "graphzero", *words], capture_output=True, text=True, cwd=tmp_path, encoding="utf-8"
        )

    (tmp_path / "edges.csv").write_text("src,dst\n0,1\n1,2\n2,0\n")
    done = command("convert", "edges.csv", "g.gl")
    assert done.returncode == 0, done.stderr
    shown = command("info", "g.gl")
    assert shown.returncode == 0, shown.stderr
    assert "3" in shown.stdout
    assert command("verify", "g.gl").returncode == 0
    missing = command("info", "none.gl")
    assert missing.returncode != 0
    assert "none.gl" in missing.stderr
