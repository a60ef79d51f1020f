"""A process that forgets the modules of graphzero, and imports the core once more, gets an error and lives on."""

import subprocess
import sys

FORGET = """
import sys
import graphzero._core
kept = dict(sys.modules)
for name in [name for name in sys.modules if name.split(".")[0] == "graphzero"]:
    del sys.modules[name]
"""


def told_by(code):
    done = subprocess.run([sys.executable, "-c", FORGET + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_second_import_says_what_to_do_each_time():
    code = """
for attempt in range(2):
    try:
        import graphzero._core
    except ImportError as error:
        print(error)
"""
    assert told_by(code) == 2 * (
        "graphzero._core: expected to be loaded once in a process, found a second import after it was removed from "
        "sys.modules; start a new process, or keep the modules of graphzero in sys.modules (with pytester, import "
        "graphzero._core before runpytest_inprocess)\n"
    )


def test_public_names_tell_the_same():
    code = """
import graphzero as gz
try:
    gz.Graph
except ImportError as error:
    print(error)
"""
    assert told_by(code).startswith("graphzero._core: expected to be loaded once in a process, found a second import")


def test_modules_that_are_put_back_work_on():
    code = """
sys.modules.update(kept)
import graphzero as gz
print(gz.num_threads() > 0)
"""
    assert told_by(code) == "True\n"
