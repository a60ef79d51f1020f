"""What a wheel says of itself."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


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
