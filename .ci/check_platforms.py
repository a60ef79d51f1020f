"""Builds graphzero for other systems and runs what can be run here: ``make check-platforms``.

A platform is a function in PLATFORMS. Its tools are installed first, by apt-get (as root) and pip; one that cannot be
had ends the check of that platform with a sentence, and the others go on. Everything is made in build/platforms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import windows_wheel
from foreign_tools import PLACE, ROOT, Missing, build, need_mingw
from wheels import interpreters
from windows_python import WindowsPython, run_under_wine

# Tests of the Python package that passed in a Windows Python. Others need torch or Linux, or were not tried there.
WINDOWS_TESTS = [
    "platform",
    "platform_hashes",
    "gl_format",
    "gd_format",
    "gi_format",
    "container",
    "graph",
    "features",
    "dataset",
    "sampling",
    "sampling_errors",
    "sampling_independence",
    "sampling_inputs",
    "sampling_laws",
    "sampling_seeds",
    "sampling_threads",
    "walks",
    "negatives",
    "negative_weights",
    "pipeline",
    "pipeline_device",
    "pipeline_links",
    "pipeline_negatives",
    "pipeline_state",
    "fanout",
    "graphzero02",
    "adjacency",
    "gather",
    "dataset_format",
    "edge_conversion",
    "feature_conversion",
    "text_guesses",
    "verification",
    "cli",
    "cli_info",
    "cli_convert",
]


def windows() -> None:
    """Windows x86-64 by mingw-w64: the C++ tests, under wine."""
    need_mingw()
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'windows-mingw.cmake'}"
    folder = build("windows", toolchain, "-DGZ_TESTS=ON", "-DGZ_PYTHON=OFF")
    run_under_wine([folder / "gz_tests.exe"], folder)


def windows_python() -> None:
    """Windows x86-64: the wheel for Python 3.11 in a Windows Python under wine, and the tests that run there."""
    python = _installed("cp311", (3, 11))
    tests = [ROOT / "tests" / "python" / f"test_{name}.py" for name in WINDOWS_TESTS]
    python.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], ROOT)


def windows_stable() -> None:
    """Windows x86-64: the wheel for Python 3.12 and later, in a Windows Python 3.12 under wine."""
    python = _installed("abi3", (3, 12))
    python.run([ROOT / "tests" / "platform_hashes.py", "--compare"], ROOT)


def _installed(tag: str, version: tuple[int, int]) -> WindowsPython:
    """Build a wheel, install it into a Windows Python, and run .ci/smoke.py there."""
    here = interpreters().get(version)
    if here is None:
        raise Missing(f"Python {version[0]}.{version[1]} with its headers is not here")
    python = WindowsPython(here)
    python.install(windows_wheel.build(tag, python))
    python.run([ROOT / ".ci" / "smoke.py"], ROOT)
    return python


def macos() -> None:
    """MacOS arm64 and x86-64 by zig: everything compiles and links; nothing runs here."""
    os.environ.setdefault("ZIG_PYTHON", sys.executable)
    for machine in ("aarch64", "x86_64"):
        toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'macos-zig.cmake'}"
        build(f"macos-{machine}", toolchain, f"-DGZ_MACHINE={machine}", "-DGZ_TESTS=ON", "-DGZ_PYTHON=OFF")


PLATFORMS = {"windows": windows, "windows-python": windows_python, "windows-stable": windows_stable, "macos": macos}


def main() -> int:
    """Check the platforms that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(PLATFORMS))
    names = parser.parse_args().platforms or list(PLATFORMS)
    if unknown := set(names) - set(PLATFORMS):
        parser.error(f"expected some of {', '.join(PLATFORMS)}, found {', '.join(sorted(unknown))}")
    PLACE.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in names:
        print(f"== {name}: {PLATFORMS[name].__doc__}", flush=True)
        try:
            PLATFORMS[name]()
            results[name] = "passed"
        except Missing as error:
            results[name] = f"NOT CHECKED: {error}"
        except subprocess.CalledProcessError as error:
            results[name] = f"FAILED: {' '.join(map(str, error.cmd))}: exit code {error.returncode}"
    for name, result in results.items():
        print(f"{name}: {result}")
    return 0 if all(result == "passed" for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
