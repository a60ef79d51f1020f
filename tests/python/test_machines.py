"""Machines that cannot map our files are refused with a sentence, when built for and when imported on."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def configured(pointer_bytes, byte_order):
    """What CMake says of a machine: return whether it goes on, and the message in one line."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("needs cmake")
    facts = [f"-DCMAKE_SIZEOF_VOID_P={pointer_bytes}", f"-DCMAKE_CXX_BYTE_ORDER={byte_order}"]
    done = subprocess.run([cmake, *facts, "-P", ROOT / "cmake/machine.cmake"], capture_output=True, text=True)
    return done.returncode == 0, re.sub(r"\s+", " ", done.stderr)


def test_a_little_endian_machine_of_64_bits_is_taken():
    assert configured(8, "LITTLE_ENDIAN") == (True, "")


def test_a_big_endian_machine_is_refused_by_the_build():
    taken, message = configured(8, "BIG_ENDIAN")
    assert not taken
    assert "expected a little-endian machine, such as x86-64 or arm64, found a big-endian one" in message


def test_a_32_bit_machine_is_refused_by_the_build():
    taken, message = configured(4, "LITTLE_ENDIAN")
    assert not taken
    assert "expected a 64-bit machine and compiler, found 32 bits" in message


def test_a_big_endian_machine_is_refused_by_the_import():
    script = "import sys; sys.byteorder = 'big'; import graphzero"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode != 0
    assert "ImportError: graphzero: expected a little-endian machine, such as x86-64 or arm64" in done.stderr
    assert "found a big-endian one; its files are little-endian and are mapped as they are" in done.stderr
