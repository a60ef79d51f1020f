"""Builds graphzero for other systems and runs what can be run here: ``make check-platforms``.

A platform is a function in PLATFORMS. Its tools are installed first, by apt-get (as root) and pip; one that cannot be
had ends the check of that platform with a sentence, and the others go on. Everything is made in build/platforms.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "platforms"
# A wheel that carries a Windows Python, without its standard library, which is that of any Python 3.11.
WINDOWS_PYTHON = "panda3d==1.10.16"
PYTHON_VERSION = "3.11"
# What the package and its tests need there; numpy 2 and later versions of typer need a newer wine.
WINDOWS_PACKAGES = ["numpy==1.26.4", "typer==0.15.4", "click==8.1.8", "rich", "pytest", "hypothesis", "colorama"]
# Tests of the Python package that run in a Windows Python; the others need torch, or something of Linux.
WINDOWS_TESTS = ["test_platform.py"]


class Missing(Exception):
    """A tool that cannot be had here."""


def run(command: Sequence[str | Path], **more: object) -> None:
    """Run a command that has to succeed; print it first."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **more)  # type: ignore[call-overload]


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


def pip_download(packages: Sequence[str], *options: str) -> Path:
    """Download wheels for Windows; return their folder."""
    folder = PLACE / "downloads"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    command += ["--platform", "win_amd64", "--python-version", PYTHON_VERSION, "--only-binary", ":all:"]
    if subprocess.run([*command, *options, *packages], check=False).returncode:
        raise Missing(f"pip could not download {', '.join(packages)} for Windows")
    return folder


def build(name: str, *options: str, target: str = "all") -> Path:
    """Configure and build; return the build folder."""
    folder = PLACE / name
    run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGZ_WERROR=ON", *options])
    run(["cmake", "--build", folder, "--target", target])
    return folder


def run_under_wine(command: Sequence[str | Path], folder: Path) -> None:
    """Run a Windows program that has to succeed, with a drive C of its own, and nothing printed by wine itself."""
    wine = need("wine64", "wine64")
    prefix = PLACE / "wine"
    prefix.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [wine, *map(str, command)]
    print("+", *words, flush=True)
    # Through a pipe: a Windows Python does not begin with a terminal or file of Linux as its output.
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as program:
        assert program.stdout is not None
        for line in program.stdout:
            print(line.decode(errors="replace").rstrip(), flush=True)
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, words)


def windows() -> None:
    """Windows x86-64 by mingw-w64: the C++ tests, under wine."""
    need("x86_64-w64-mingw32-g++-posix", "g++-mingw-w64-x86-64-posix")
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'windows-mingw.cmake'}"
    folder = build("windows", toolchain, "-DGZ_TESTS=ON", "-DGZ_PYTHON=OFF")
    run_under_wine([folder / "gz_tests.exe"], folder)


def windows_python() -> None:
    """Windows x86-64: the Python package, in a Windows Python under wine."""
    need("x86_64-w64-mingw32-g++-posix", "g++-mingw-w64-x86-64-posix")
    home = _windows_home()
    folder = build(
        "windows-python",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'windows-mingw.cmake'}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython_INCLUDE_DIR={_windows_headers()}",
        f"-DPython_LIBRARY={home / 'libpython311.dll.a'}",
        "-DSKBUILD_SOABI=cp311-win_amd64",
        "-DNB_SUFFIX=.cp311-win_amd64.pyd",
        "-DNB_SUFFIX_S=.pyd",
        f"-DCMAKE_MODULE_LINKER_FLAGS=-static -L{_no_libraries()}",
        f"-DCMAKE_INSTALL_PREFIX={home / 'Lib' / 'site-packages'}",
    )
    run(["cmake", "--install", folder])
    tests = [str(ROOT / "tests" / "python" / name) for name in WINDOWS_TESTS]
    run_under_wine([home / "python.exe", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], ROOT)


def _windows_home() -> Path:
    """Put a Windows Python together; return its folder."""
    home = PLACE / "windows-home"
    if (home / "done").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(PLACE / "downloads", ignore_errors=True)
    library = Path(sysconfig.get_path("stdlib"))
    if sys.version_info[:2] != (3, 11):
        library = Path("/usr/lib/python3.11")
        if not (library / "os.py").exists():
            raise Missing("the standard library of Python 3.11 is not there; run this with a Python 3.11")
    shutil.copytree(
        library,
        home / "Lib",
        ignore=shutil.ignore_patterns("site-packages", "dist-packages", "__pycache__", "*.so", "test", "config-*"),
    )
    site = home / "Lib" / "site-packages"
    site.mkdir()
    downloads = pip_download([WINDOWS_PYTHON], "--no-deps")
    pip_download(WINDOWS_PACKAGES)
    (home / "DLLs").mkdir()
    for wheel in sorted(downloads.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            if not wheel.name.startswith("panda3d-"):
                archive.extractall(site)
                continue
            for name in archive.namelist():
                inside, _, file = name.partition("/")
                if inside == "deploy_libs" and file.lower().endswith((".dll", ".pyd")):
                    is_runtime = file.lower().startswith(("python3", "vcruntime"))
                    target = home / file if is_runtime else home / "DLLs" / file
                    target.write_bytes(archive.read(name))
    source = home / "python.c"
    source.write_text(
        "#include <stddef.h>\n"
        "int Py_Main(int, wchar_t**);\n"
        "int wmain(int count, wchar_t** words) { return Py_Main(count, words); }\n"
    )
    run(
        [
            "x86_64-w64-mingw32-gcc-posix",
            "-municode",
            "-static",
            source,
            home / "python311.dll",
            "-o",
            home / "python.exe",
        ]
    )
    _import_library(home)
    (home / "done").touch()
    return home


def _import_library(home: Path) -> None:
    """Make what a linker needs of python311.dll, of the names it exports."""
    dump = subprocess.check_output(["x86_64-w64-mingw32-objdump", "-p", home / "python311.dll"], text=True)
    table = dump.split("[Ordinal/Name Pointer] Table", 1)[1]
    names = re.findall(r"^\s*\[\s*\d+\].*\s(_?Py\w+)$", table, re.MULTILINE)
    definition = home / "python311.def"
    definition.write_text("LIBRARY python311.dll\nEXPORTS\n" + "\n".join(names) + "\n")
    run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", home / "libpython311.dll.a"])


def _no_libraries() -> Path:
    """Return a folder of empty libraries: CMake also links what the Python of this machine was linked with."""
    folder = PLACE / "windows-none"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("dl", "util"):
        (folder / f"lib{name}.a").write_bytes(b"!<arch>\n")
    return folder


def _windows_headers() -> Path:
    """Return a folder with the headers of Python 3.11 and a pyconfig.h for Windows."""
    place = PLACE / "windows-headers"
    headers = Path(sysconfig.get_path("include") if sys.version_info[:2] == (3, 11) else "/usr/include/python3.11")
    if not (headers / "Python.h").exists():
        raise Missing("the headers of Python 3.11 are not there; Debian has them in python3.11-dev")
    shutil.copytree(headers, place, dirs_exist_ok=True)
    sizes = {"SHORT": 2, "INT": 4, "LONG": 4, "LONG_LONG": 8, "VOID_P": 8, "SIZE_T": 8, "WCHAR_T": 2, "TIME_T": 8}
    sizes |= {"FLOAT": 4, "DOUBLE": 8, "OFF_T": 8, "FPOS_T": 8, "PID_T": 8, "UINTPTR_T": 8}
    lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
    facts = ["MS_WINDOWS", "MS_WIN32", "MS_WIN64", "NT_THREADS", "WITH_THREAD", "Py_ENABLE_SHARED", "HAVE_DECLSPEC_DLL"]
    facts += ["HAVE_SSIZE_T", "HAVE_LONG_LONG", "HAVE_STDINT_H", "HAVE_INTTYPES_H", "HAVE_STDARG_PROTOTYPES"]
    facts += ["HAVE_STDDEF_H", "HAVE_STDLIB_H", "HAVE_SYS_STAT_H", "HAVE_SYS_TYPES_H", "HAVE_WCHAR_H", "HAVE_HYPOT"]
    lines += [f"#define {name} 1" for name in facts]
    lines += ["#define ALIGNOF_SIZE_T 8", "#define ALIGNOF_MAX_ALIGN_T 16", '#define PLATLIBDIR "lib"']
    (place / "pyconfig.h").write_text("\n".join(lines) + "\n")
    return place


def macos() -> None:
    """MacOS arm64 and x86-64 by zig: everything compiles and links; nothing runs here."""
    python = os.environ.setdefault("ZIG_PYTHON", sys.executable)
    if subprocess.run([python, "-m", "ziglang", "version"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "ziglang"], check=False)
    if subprocess.run([python, "-m", "ziglang", "version"], capture_output=True, check=False).returncode:
        raise Missing("zig is not there; pip install ziglang")
    for machine in ("aarch64", "x86_64"):
        toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'macos-zig.cmake'}"
        build(f"macos-{machine}", toolchain, f"-DGZ_MACHINE={machine}", "-DGZ_TESTS=ON", "-DGZ_PYTHON=OFF")


PLATFORMS = {"windows": windows, "windows-python": windows_python, "macos": macos}


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
