"""The pages tell the truth: their examples run, and their links lead somewhere."""

import difflib
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

import chromium
from data_sets import pyg
from graphzero.cli.command import run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

PICTURES = sorted(ROOT.glob("docs/pictures/*"))

FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


def names(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def blocks(page):
    """Yield (language, line, text) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield match["language"], text.count("\n", 0, match.start()) + 1, match["text"]


def runnable(page):
    return [block for block in blocks(page) if block[0] in ("python", "console")]


WITH_EXAMPLES = [page for page in PAGES if runnable(page)]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=names(WITH_EXAMPLES))
def test_examples_run(page):
    """Blocks of a page share a folder and a namespace and run in order; and once more in the same folder."""
    if re.search(r"torch_geometric|graphzero\.loaders", page.read_text(encoding="utf-8")):
        pyg()
    run_blocks(page)
    run_blocks(page)  # people run what they have run before


def run_blocks(page):
    namespace = {"__name__": "__main__"}
    for language, line, text in runnable(page):
        if language == "python":
            padded = "\n" * line + text  # so that a traceback names the line of the page
            exec(compile(padded, str(page), "exec"), namespace)
        else:
            run_console(text)


def run_console(text):
    for line in text.splitlines():
        if line.startswith("$ rm -rf "):
            shutil.rmtree(line.removeprefix("$ rm -rf "), ignore_errors=True)
        elif line.startswith("$ graphzero "):
            words = shlex.split(line.removeprefix("$ graphzero "), comments=True)
            assert run(words) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_relative_links_lead_to_files(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [match["target"].split("#")[0] for match in LINK.finditer(prose)]
    relative = [target for target in targets if target and not re.match(r"[a-z]+:", target)]
    missing = [target for target in relative if not (page.parent / target).exists()]
    assert missing == []


def test_files_that_contributing_names_are_there():
    prose = FENCE.sub("", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    named = set(re.findall(r"`([\w.]+/[\w./]*)`", prose))
    homes = ["", "python/graphzero", "python/graphzero/convert", "python/graphzero/loaders"]
    assert [path for path in sorted(named) if not any((ROOT / home / path).exists() for home in homes)] == []


@pytest.mark.parametrize("picture", PICTURES, ids=names(PICTURES))
def test_pictures_fetch_nothing(picture):
    """Neither fonts nor images nor links: a picture is the same without a network."""
    elements = list(ElementTree.parse(picture).iter())
    kinds = {element.tag.rpartition("}")[2] for element in elements}
    assert not kinds & {"a", "image", "script", "foreignObject", "use", "link", "animate"}
    values = [value for element in elements for value in element.attrib.values()]
    text = " ".join([*values, *(element.text or "" for element in elements)])
    assert re.findall(r"@import|@font-face|[a-z]+://|url\((?!#)", text) == []


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


def test_every_public_name_is_in_the_reference():
    import graphzero as gz

    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in gz.__all__ if f"`{name}" not in reference] == []
    of_loaders = reference.split("\n## Loaders\n")[1].split("\n## ")[0]
    assert [name for name in gz.loaders.__all__ if f"| `{name}" not in of_loaders] == []


def test_every_public_name_has_its_docstring_on_a_page():
    """What comes from the compiled core has no source to take a docstring from, and is in a table of such a page."""
    import graphzero as gz

    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/reference/*.md")))
    shown = set(re.findall(r"^::: graphzero\.([\w.]+)$", text, re.MULTILINE))
    listed = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))))
    names = [*gz.__all__, *(f"loaders.{name}" for name in gz.loaders.__all__)]
    assert [name for name in names if name not in shown | listed] == []
    # Public too, but not for everyone: what builds a dictionary, and the steps that an engine runs.
    others = ("ids.", "convert.sharded.", "convert.sharded_features.", "convert.ray_engine.")
    assert {name for name in shown if not name.startswith(others)} <= set(names)


def test_the_migration_shown_is_that_of_the_example():
    before, after = (
        (ROOT / "examples" / "migration" / name).read_text(encoding="utf-8").split('"""', 2)[2].splitlines()
        for name in ("before.py", "after.py")
    )
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "-+" and line[2:]]
    page = ROOT / "docs" / "guide" / "from-pyg.md"
    [shown] = [text.splitlines() for language, _, text in blocks(page) if language == "diff"]
    assert sorted(shown) == sorted(line[0] + line[2:] for line in changed)


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False), (1280, True)])
def test_a_browser_shows_the_first_page_well(width, dark, tmp_path):
    site = ROOT / "site"
    if not (site / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    for name in ("assets", "pictures", "stylesheets"):
        (tmp_path / name).symlink_to(site / name)
    page = (site / "index.html").read_text(encoding="utf-8")
    seen = chromium.probed(page, tmp_path, width, dark)
    assert seen["width"] == width
    assert seen["errors"] == []
    assert [name for name in seen["resources"] if not name.startswith("file:")] == []
    assert seen["scrollWidth"] <= width
    assert len(seen["texts"]) > 200
    assert [(ratio, text) for ratio, text in seen["texts"] if ratio < 4.5] == []
    light = [255, 255, 255]
    assert (seen["paper"] == light) != dark
