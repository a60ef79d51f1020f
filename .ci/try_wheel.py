"""Installs a wheel into an empty environment, and runs .ci/smoke.py there, without a compiler in reach.

`try_wheel.py WHEEL` tries that one; `try_wheel.py FOLDER` the one in the folder that suits the Python running this.
--torch-of PYTHON lends the PyTorch and PyG of another environment, so that the example of README.md runs too.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

SMOKE = pathlib.Path(__file__).with_name("smoke.py")


def suiting(folder: pathlib.Path, python: str = sys.executable) -> str:
    """Have pip choose: return the path of the wheel in `folder` that a Python would install."""
    command = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    command += ["--isolated", "--pre", "--only-binary", ":all:", "--find-links", str(folder)]
    with tempfile.TemporaryDirectory() as chosen:
        subprocess.run([*command, "--dest", chosen, "graphzero"], check=True)
        (name,) = os.listdir(chosen)
    return str(folder / name)


def lend(python: str, environment: pathlib.Path) -> None:
    """Let an environment import what another one of the same version has, behind what it has itself."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    lent = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(lent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--torch-of", metavar="PYTHON")
    options = parser.parse_args()
    wheel = suiting(options.wheel) if options.wheel.is_dir() else str(options.wheel)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv/bin/python")
        quiet = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
        subprocess.run([python, "-m", "pip", "install", *quiet, wheel], check=True)
        if options.torch_of:
            lend(options.torch_of, folder / "venv")
        # No folder of PATH has a compiler, nor anything else.
        subprocess.run([python, SMOKE], check=True, cwd=folder, env={"PATH": str(folder / "nothing"), "HOME": made})
    print(f"{os.path.basename(wheel)} works in an empty environment of Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
