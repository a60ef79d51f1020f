"""What a wheel says of itself, and whether the lines that the documentation gives to pip install it."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Pages with a line that installs from dist/.
PAGES = ("docs/install.md", "docs/guide/windows.md", "docs/guide/from-graphzero-0.2.md")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a wheel of this work tree would say: the folder of its metadata."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core, which makes wheels, is not installed")
    folder = tmp_path_factory.mktemp("said")
    code = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as say; say(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder], check=True, cwd=ROOT, capture_output=True)
    (made,) = folder.iterdir()
    return made


def test_a_wheel_has_the_licence_of_all_that_is_in_it(said):
    texts = {path.name: path.read_text() for path in (said / "licenses").rglob("*") if path.is_file()}
    assert sorted(texts) == ["LICENSE", "nanobind.txt", "robin_map.txt"]
    assert "Wenzel Jakob" in texts["nanobind.txt"]
    assert "Redistributions in binary form must reproduce the above copyright notice" in texts["nanobind.txt"]
    assert "Thibaut Goetghebuer-Planchon" in texts["robin_map.txt"]
    assert "Permission is hereby granted" in texts["robin_map.txt"]


def test_the_licence_of_nanobind_is_that_of_the_one_we_build_with():
    try:
        files = importlib.metadata.files("nanobind") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nanobind is not installed")
    (licence,) = [file for file in files if file.name == "LICENSE" and "licenses" in file.parts]
    assert licence.read_text() == (ROOT / "licenses/nanobind.txt").read_text()


def test_a_wheel_names_the_systems_that_have_wheels(said):
    systems = re.findall(r"^Classifier: (Operating System .*)$", (said / "METADATA").read_text(), re.MULTILINE)
    assert systems == ["Operating System :: Microsoft :: Windows", "Operating System :: POSIX :: Linux"]


def wheel(folder, version, built):
    """Write a small wheel into a folder, with a module that says which build it is."""
    facts = f"graphzero-{version}.dist-info"
    files = {
        "graphzero/__init__.py": f"built = {built!r}\n",
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: graphzero\nVersion: {version}\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"graphzero-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{facts}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{facts}/RECORD"]))
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an empty environment; pip stays outside of it."""
    pytest.importorskip("pip", reason="pip is not installed")
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    (found,) = [*place.glob("bin/python"), *place.glob("Scripts/python.exe")]
    return found


def run_pip(python, *arguments, folder):
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *arguments]
    subprocess.run([*map(str, command)], check=True, cwd=folder, capture_output=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_line_for_dist_replaces_what_is_installed(page, python, tmp_path):
    text = (ROOT / page).read_text(encoding="utf-8")
    (line,) = re.findall(r"^pip (install .*--find-links dist.* graphzero)\b", text, re.MULTILINE)
    wheel(tmp_path / "dist", "0.3.0.dev0", "this build")
    for version in ("0.2.0", "0.3.0.dev0"):
        before = wheel(tmp_path / "before", version, "an earlier build")
        run_pip(python, "install", "--no-index", "--force-reinstall", before, folder=tmp_path)
        run_pip(python, *line.split(), folder=tmp_path)
        script = "import graphzero; print(graphzero.built)"
        done = subprocess.run([python, "-I", "-c", script], check=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == "this build\n", version
