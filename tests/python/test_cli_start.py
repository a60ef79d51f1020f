"""What starts fast: neither ``import graphzero`` nor help loads what only some verbs need. Ctrl-C is heeded meanwhile."""

import json
import subprocess
import sys

import pytest

import graphzero as gz
from terminals import shown

HEAVY = {"torch", "torch_geometric", "pyarrow", "polars", "pandas", "scipy", "networkx", "lightning"}
# Slow parts of the standard library that nothing needs before it converts, and typer, which only the command does.
LATER = {"zipfile", "tempfile", "urllib.parse", "hashlib", "secrets", "ipaddress", "typer", "rich"}


def modules_after(script):
    script = f"import sys, json\n{script}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def ran(*arguments):
    return modules_after(f"from graphzero.cli.command import run; assert run({list(arguments)}) == 0")


def not_of_python(modules):
    return {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)


def test_import_loads_not_even_numpy():
    # What the interpreter and its site bring is not ours to choose.
    assert not_of_python(modules_after("import graphzero") - modules_after("pass")) == {"graphzero"}


def test_all_names_together_load_numpy_and_little_else():
    every = "import graphzero as gz; assert all(getattr(gz, name) is getattr(gz, name) for name in gz.__all__)"
    loaded = modules_after(every) - modules_after("import numpy")
    assert loaded & (HEAVY | LATER) == set()
    assert not_of_python(name for name in loaded if "." not in name) == {"graphzero"}
    assert set(gz._HOMES) == {*gz.__all__, "inference"}


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="module 'graphzero' has no attribute 'Grahp'"):
        gz.Grahp  # noqa: B018


def test_help_loads_neither_frameworks_nor_numpy_nor_rich():
    loaded = ran("--help")
    assert loaded & HEAVY == set()
    assert "numpy" not in loaded
    assert "rich" not in loaded
    assert "typer" in loaded


@pytest.mark.parametrize("verb", ["info", "verify", "sample"])
def test_looking_at_a_file_in_a_pipe_loads_neither_frameworks_nor_rich(verb, tiny_gl):
    loaded = ran(verb, tiny_gl, *(["0"] if verb == "sample" else []))
    assert loaded & (HEAVY | {"rich"}) == set()


def test_converting_text_loads_no_framework(tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n")
    assert ran("convert", "e.csv", "g.gl") & (HEAVY | {"rich"}) == set()
    assert gz.Graph("g.gl").num_edges == 1


def test_help_on_a_terminal_names_every_verb():
    text = shown("--help")
    assert all(verb in text for verb in ("convert", "info", "sample", "synth", "verify"))
    assert "--install-completion" in text


# The script that pip installs, in a process that gets Ctrl-C when it comes to the import of a module, or to its end.
ENTRY = """
import atexit, os, signal, sys
from graphzero import __version__

moment = sys.argv.pop(1)

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(name, path=None, target=None):
        if name == moment:
            interrupt()

sys.meta_path.insert(0, Finder)
if moment == "end":
    atexit.register(interrupt)
from graphzero.__main__ import main
main()
"""


def interrupted_at(moment, *words, before=""):
    entered = [sys.executable, "-c", before + ENTRY, moment, *words]
    ended = subprocess.run(entered, capture_output=True, text=True, check=False, timeout=60)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    "moment", ["graphzero.cli.command", "typer", "graphzero.cli.verify", "graphzero._core", "numpy"]
)
def test_ctrl_c_is_one_line_from_the_first_import_on(tiny_gl, moment):
    assert interrupted_at(moment, "info", tiny_gl) == (130, "graphzero: interrupted\n")


def test_ctrl_c_does_not_undo_what_is_done(tiny_gl):
    assert interrupted_at("end", "info", tiny_gl) == (0, "")


def test_ctrl_c_that_is_to_be_ignored_is_ignored(tiny_gl):
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    assert interrupted_at("typer", "info", tiny_gl, before=ignore) == (0, "")
