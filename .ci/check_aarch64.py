"""Builds graphzero for Linux on aarch64, and runs it on an emulated processor: the C++ tests, Python tests, the hashes.

zig compiles; qemu runs; a Python for aarch64 comes from Debian, its packages from the package index. All of it is put
into build/aarch64. As root qemu is installed if it is missing. `make check-aarch64` runs it: half an hour on two cores.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import wheels

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/aarch64"
# Debian 12 has Python 3.11.
VERSION, TAG = "3.11", "cp311"
PACKAGES = ("numpy", "scipy", "pyarrow", "typer", "rich", "pytest", "hypothesis", "xxhash")
# What needs neither torch nor child processes, which an emulator does not start, nor a compiler.
TESTS = [
    "container",
    "gl_format",
    "gd_format",
    "gi_format",
    "graph",
    "adjacency",
    "fanout",
    "sampling_laws",
    "sampling_seeds",
    "walks",
    "negatives",
    "text_guesses",
    "late_edge_ids",
    "edge_times",
    "graphzero02",
    "pipeline_negatives",
    "platform_hashes",
]


def emulator() -> str:
    """Return qemu for aarch64, installed if need be."""
    names = ("qemu-aarch64-static", "qemu-aarch64")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update"], capture_output=True)
        subprocess.run(
            ["apt-get", "install", "--yes", "--no-install-recommends", "qemu-user-static"], capture_output=True
        )
        found = next(filter(None, map(shutil.which, names)), None)
    return found or sys.exit("check-aarch64: expected qemu-aarch64-static, of Debian's qemu-user-static; found none")


def system() -> pathlib.Path:
    """Unpack Debian's Python for aarch64, with the libraries it needs, and return the folder. Nothing is installed."""
    root = WORK / "root"
    if (root / f"usr/bin/python{VERSION}").exists():
        return root
    if not shutil.which("apt-get"):
        sys.exit("check-aarch64: expected apt-get, to download Debian's Python for aarch64; found none")
    apt = WORK / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    facts = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
    }
    command = ["apt-get", *(part for key, value in facts.items() for part in ("-o", f"{key}={value}"))]
    wheels.run(*command, "update")
    wanted = (f"python{VERSION}-minimal", f"libpython{VERSION}-stdlib", "libstdc++6")
    wheels.run(*command, "install", "--download-only", "--yes", "--no-install-recommends", *wanted)
    for package in (apt / "cache/archives").glob("*.deb"):
        wheels.run("dpkg", "-x", package, root)
    return root


def packages() -> pathlib.Path:
    """Build the wheel, and install it beside NumPy and pytest for aarch64; return the folder."""
    site, made = WORK / "site", WORK / "wheel"
    shutil.rmtree(site, ignore_errors=True)
    shutil.rmtree(made, ignore_errors=True)
    builder = [sys.executable, ROOT / ".ci/wheels.py", "--arch", "aarch64", "--only", TAG, "--no-sdist", "--out", made]
    wheels.run(*builder)
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (28, 27, 17)]
    options = [*platforms, "--platform=manylinux2014_aarch64", "--python-version", VERSION, "--only-binary=:all:"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wheels.run(*pip, *options, "--target", site, *made.glob("*.whl"), *PACKAGES)
    return site


def main() -> None:
    qemu, root = emulator(), system()
    run = [qemu, "-L", str(root)]
    print("compiling the C++ tests", flush=True)
    program = wheels.compiled("aarch64", "gz_tests") / "gz_tests"
    failed = subprocess.run([*run, str(program)]).returncode != 0
    print("building the wheel", flush=True)
    environment = os.environ | {"PYTHONPATH": str(packages()), "PYTHONDONTWRITEBYTECODE": "1"}
    python = [*run, str(root / f"usr/bin/python{VERSION}")]
    failed |= (
        subprocess.run([*python, "tests/platform_hashes.py", "--compare"], cwd=ROOT, env=environment).returncode != 0
    )
    files = [f"tests/python/test_{name}.py" for name in TESTS]
    command = [*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    failed |= subprocess.run(command, cwd=ROOT, env=environment).returncode != 0
    sys.exit("aarch64: something failed, see above" if failed else None)


if __name__ == "__main__":
    main()
