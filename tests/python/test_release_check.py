"""A release has one version, and make release-check says where it is another."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def problems():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / ".ci/release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda version, heading, cited: module.version_problems(
        f'__version__ = "{version}"\n', f"# Changelog\n\n## {heading}\n\n## 0.2.0 (2025-01-31)\n", f"version: {cited}\n"
    )


@pytest.mark.parametrize(
    ("version", "heading"), [("0.3.0", "0.3.0 (2026-11-16)"), ("0.3.0.dev0", "0.3.0 (unreleased)")]
)
def test_one_version_everywhere_is_right(problems, version, heading):
    assert problems(version, heading, version) == []


@pytest.mark.parametrize(
    ("version", "heading"),
    [("0.3.0", "0.3.0 (unreleased)"), ("0.3.0", "0.2.0 (2025-01-31)"), ("0.3.0.dev0", "0.3.0 (2026-11-16)")],
)
def test_a_changelog_of_another_version_is_named(problems, version, heading):
    (problem,) = problems(version, heading, version)
    assert f"expected '## {version.split('.dev')[0]} (" in problem
    assert f"found '## {heading}'" in problem


def test_a_citation_of_another_version_is_named(problems):
    assert problems("0.3.0", "0.3.0 (2026-11-16)", "0.3.0.dev0") == [
        "CITATION.cff: expected version 0.3.0, that of the package, found 0.3.0.dev0"
    ]


def test_the_versions_of_this_commit_agree(problems):
    package, changelog, citation = (
        (ROOT / name).read_text() for name in ("python/graphzero/__init__.py", "CHANGELOG.md", "CITATION.cff")
    )
    version = package.split('__version__ = "')[1].split('"')[0]
    heading = changelog.split("\n## ")[1].split("\n")[0]
    assert problems(version, heading, citation.split("\nversion: ")[1].split("\n")[0]) == []
