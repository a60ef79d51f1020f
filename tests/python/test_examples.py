"""Every example runs, and what it prints beats what it has to."""

import io
import os
import re
import runpy
import subprocess
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from data_sets import pyg

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))

# Arguments that make a script quick, the least it has to reach with them, and by how much it has to beat the first
# figure it compares itself with. A script that is not listed has to end without an error.
EXPECTED = {
    "ddp.py": (["--nodes", "10000"], 0.75, 0.2),
    "heterogeneous.py": (["--papers", "10000"], 0.75, 0.2),
    "link_prediction.py": (["--nodes", "5000", "--epochs", "4"], 0.65, 0.08),
    "migrate_from_pyg.py": (["--nodes", "10000"], 0.75, 0.2),
    "node2vec.py": (["--nodes", "1000", "--epochs", "15"], 0.8, 0.5),
    "node_classification.py": (["--nodes", "20000"], 0.75, 0.2),
    "temporal.py": (["--users", "1000", "--epochs", "2"], 0.6, 0.1),
}
RESULT = re.compile(r"^test (?:accuracy|AUC): (?P<found>[\d.]+) \([^:]+: (?P<to_beat>[\d.]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What a script printed; each runs once."""
    outputs = {}

    def run(name):
        if name not in outputs:
            arguments = EXPECTED.get(name, ([],))[0]
            folder = tmp_path_factory.mktemp("example")
            run_script = in_processes if "mp.spawn" in (FOLDER / name).read_text(encoding="utf-8") else in_this_process
            outputs[name] = run_script(FOLDER / name, arguments, folder), list(folder.glob("graphzero*"))
        output, left = outputs[name]
        assert left == []  # PyG leaves files of its own
        return output

    return run


def in_this_process(script, arguments, folder):
    """Run a script here, where torch is loaded already, and return what it prints."""
    pyg()
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(), redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("ignore")
        patch.setattr(sys, "argv", [str(script), *arguments])
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.syspath_prepend(FOLDER)
        patch.chdir(folder)
        runpy.run_path(str(script), run_name="__main__")
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and FOLDER in Path(sys.modules[name].__file__).parents:
            del sys.modules[name]
    return printed.getvalue()


def in_processes(script, arguments, folder):
    """Run a script that starts processes, which import it, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_runs_and_beats_its_bound(name, printed):
    output = printed(name)
    if name not in EXPECTED:
        return
    _, least, margin = EXPECTED[name]
    result = RESULT.search(output)
    assert result is not None, output
    assert float(result["found"]) >= max(least, float(result["to_beat"]) + margin), output


def test_migration_takes_three_lines(printed):
    lines = printed("migrate_from_pyg.py").splitlines()
    assert len([line for line in lines if re.match(r"\+(?!\+)", line)]) == 3
    assert len([line for line in lines if re.match(r"-(?!-)", line)]) == 2


def test_processes_have_equal_steps(printed):
    assert "steps of an epoch: [4, 4]" in printed("ddp.py")


def test_batches_with_times_do_not_look_ahead(printed):
    output = printed("temporal.py")
    assert "the latest edge that a batch saw: 1 day before its example" in output
    assert re.search(r"without time_attr: \d+ days after it", output)


def test_every_example_is_listed():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in FOLDER.glob("*.py") if f"[{path.name}]({path.name})" not in page] == []
