"""Runs tests/python against an installed wheel, in an environment of its own, not against the source tree.

`test_wheel.py FOLDER` takes the wheel in FOLDER that suits the Python running this, or --python PYTHON.
--torch-of PYTHON lends the packages of another environment of the same version, PyTorch among them; then all tests run.
Otherwise the test group of pyproject.toml is installed without PyTorch, and .ci/without_torch.py says what is left out.
More arguments are pytest's. `make test-wheel` runs it. Environments stay in build/wheels.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import group
import try_wheel
from without_torch import NEED_TORCH

ROOT = pathlib.Path(__file__).resolve().parents[1]


def packages() -> list[str]:
    """Return what the tests need, without what needs PyTorch."""
    left_out = {name.replace("_", "-") for name in NEED_TORCH}
    return [name for name in group.packages("test") if name not in left_out]


def environment(python: str, wheel: str, torch_of: str | None) -> pathlib.Path:
    """Make the environment of an interpreter, or take the one that is there, and install the wheel into it."""
    version = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], check=True, capture_output=True, text=True
    ).stdout.strip()
    folder = ROOT / f"build/wheels/test-{version}{'-lent' if torch_of else ''}"
    ready = folder / "ready"
    made = folder / "bin/python"
    pip = [made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        if torch_of:
            try_wheel.lend(torch_of, folder)
        else:
            subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", *packages()], check=True)
        ready.touch()
    subprocess.run([*pip, wheel], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=pathlib.Path, help="the folder with the wheels")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch-of", metavar="PYTHON")
    options, rest = parser.parse_known_args()
    wheel = try_wheel.suiting(options.wheels, options.python)
    folder = environment(options.python, wheel, options.torch_of)
    python = folder / "bin/python"
    where = "import graphzero; print(graphzero.__file__)"
    found = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    if not pathlib.Path(found).is_relative_to(folder):
        sys.exit(f"test-wheel: expected graphzero of {folder}, found {found}")
    print(f"testing {os.path.basename(wheel)}, {found}", flush=True)
    variables = os.environ | {"PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not options.torch_of:
        # Not by PYTHONPATH: .ci has a tests.py, which children would take for the folder with the tests.
        (site,) = folder.glob("lib/python*/site-packages")
        shutil.copy(ROOT / ".ci/without_torch.py", site)
        command += ["-p", "without_torch"]
    if not any(part.startswith("tests/") for part in rest):
        rest.append("tests/python")
    sys.exit(subprocess.run([*command, *rest], cwd=ROOT, env=variables).returncode)


if __name__ == "__main__":
    main()
