"""Builds wheels for Windows x86-64 on Linux, by mingw-w64, into dist/: ``make wheels``.

One for each Python before 3.12 that is here, and one for 3.12 and all later (the stable ABI). A wheel brings no DLL:
the C++ library is inside the module, which needs Python and what every Windows has. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from foreign_tools import PLACE, ROOT, Missing, need_mingw, run
from wheels import MOST_BYTES, build_python, interpreters, needed
from windows_python import STABLE_DLL, WindowsPython, no_libraries

# What every Windows 10 has, in the letters of objdump.
SYSTEM_DLLS = {"KERNEL32.dll", "msvcrt.dll", "api-ms-win-core-synch-l1-2-0.dll"}


def build(tag: str, python: WindowsPython) -> Path:
    """Compile one wheel, check what it needs, and return it.

    Args:
        tag: cp310, cp311 or abi3.
        python: The Windows Python to build for.
    """
    need_mingw()
    python.make()
    stable = tag == "abi3"
    suffix = ".pyd" if stable else f".{python.tag}-win_amd64.pyd"
    defines = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake/windows-mingw.cmake",
        "CMAKE_MODULE_LINKER_FLAGS": f"-L{no_libraries()}",
        "GZ_STUB": _stub(),
        "GZ_WERROR": "ON",
        "NB_SUFFIX": suffix,
        "SKBUILD_SOSABI": "",
        "Python_INCLUDE_DIR": python.headers(),
        "Python_LIBRARY": python.library,
    }
    if stable:
        defines["Python_SABI_LIBRARY"] = python.stable_library()
    settings = [f"build-dir={PLACE / f'windows-wheel-{tag}'}"]
    settings += [f"cmake.define.{name}={value}" for name, value in defines.items()]
    options = [word for setting in settings for word in ("--config-settings", setting)]
    environment = {
        **os.environ,
        "CMAKE_GENERATOR": "Ninja",
        # Python's own variable for cross-builds: the wheel's tag is made of it.
        "_PYTHON_HOST_PLATFORM": "win-amd64",
        "SETUPTOOLS_EXT_SUFFIX": suffix,
    }
    raw = PLACE / f"windows-wheel-{tag}-raw"
    shutil.rmtree(raw, ignore_errors=True)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    backend = build_python(tag, python.here)
    run([backend, "-m", "pip", "wheel", *quiet, *options, "--wheel-dir", raw, ROOT], env=environment)
    (wheel,) = raw.glob("*.whl")
    _check(wheel, suffix, STABLE_DLL if stable else python.dll)
    return wheel


def _stub() -> Path:
    """Return the module's stub as this machine's build made it: a module for Windows cannot be imported here."""
    package = importlib.util.find_spec("graphzero")
    if package is None or package.origin is None:
        raise Missing("the package of this machine is not installed; make install")
    return Path(package.origin).with_name("_core.pyi")


def _check(wheel: Path, suffix: str, python_dll: str) -> None:
    """Prove that a wheel is one for Windows, is small, and needs no DLL but Python's and those of Windows."""
    if not wheel.name.endswith("-win_amd64.whl"):
        sys.exit(f"{wheel.name}: expected a wheel for win_amd64")
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel.name}: expected at most {MOST_BYTES:,} bytes, found {wheel.stat().st_size:,}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        binaries = [name for name in archive.namelist() if name.endswith((".pyd", ".dll", ".so"))]
        if binaries != [f"graphzero/_core{suffix}"]:
            sys.exit(f"{wheel.name}: expected graphzero/_core{suffix} alone, found {', '.join(binaries)}")
        module = archive.extract(binaries[0], folder)
        dump = subprocess.check_output(["x86_64-w64-mingw32-objdump", "-p", module], text=True)
    dlls = set(re.findall(r"DLL Name: (\S+)", dump))
    if python_dll not in dlls or dlls - SYSTEM_DLLS != {python_dll}:
        sys.exit(f"{wheel.name}: expected to need {python_dll} and Windows' own DLLs, found {', '.join(sorted(dlls))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for tag, python in needed(interpreters()).items():
        try:
            wheel = build(tag, WindowsPython(python))
        except Missing as error:
            print(f"the wheel {tag} for Windows is not built: {error}", flush=True)
            continue
        shutil.copy(wheel, out)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
