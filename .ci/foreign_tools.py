"""What builds for other systems have in common: their folder, and programs that are found or installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "platforms"


class Missing(Exception):
    """A tool that cannot be had here."""


def run(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> None:
    """Run a command that has to succeed; print it first."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, env=env)


def need(program: str, package: str) -> str:
    """Return the path of a program, installed by its Debian package if it is not there."""
    places = os.pathsep.join([os.environ["PATH"], "/usr/lib/wine"])
    if not shutil.which(program, path=places) and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        subprocess.run(
            ["apt-get", "install", "--yes", "--no-install-recommends", package],
            capture_output=True, check=False, env=environment,
        )  # fmt: skip
    found = shutil.which(program, path=places)
    if found is None:
        raise Missing(f"{program} is not there; it is in Debian's package {package}")
    return found


def need_mingw() -> None:
    """See that there is a compiler for Windows."""
    need("x86_64-w64-mingw32-g++-posix", "g++-mingw-w64-x86-64-posix")


def build(name: str, *options: str) -> Path:
    """Configure and build; return the build folder."""
    folder = PLACE / name
    run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGZ_WERROR=ON", *options])
    run(["cmake", "--build", folder])
    return folder
