"""``progress=True`` in a notebook: one output of the cell, replaced while the work goes on, without other packages."""

import re
import sys
import threading
import time
import types

import pytest

import graphzero as gz
from graphzero._files.progress import StatusLine, watching
from html_tree import Tree, texts


class Output:
    """What a cell shows: the states of one output."""

    def __init__(self, page):
        self.pages = [page]
        self.changed = threading.Event()

    def update(self, page):
        self.pages.append(page)
        self.changed.set()

    @property
    def texts(self):
        return [texts(page) for page in self.pages]


class HTML:
    def __init__(self, data):
        self.data = data


def shell_of(*names):
    """Return an object whose class has these names, the last one that of its base."""
    kind = object
    for name in reversed(names):
        kind = type(name, (kind,), {})
    return kind()


@pytest.fixture
def cell(monkeypatch):
    """Stands in for the IPython of a notebook. Returns the outputs of the cell."""
    outputs = []

    def display(page, *, display_id):
        assert display_id is True
        outputs.append(Output(page.data))
        update = outputs[-1].update
        return types.SimpleNamespace(update=lambda page: update(page.data))

    ipython, showing = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell_of("ZMQInteractiveShell")
    showing.HTML, showing.display = HTML, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", showing)
    return outputs


def test_a_bar_says_title_amount_rate_and_time_left(cell, capfd):
    done = 0
    with watching(True, "counting", 2_000_000, "bytes", lambda: done):
        done = 500_000
        limit = time.monotonic() + 20
        while not any("left" in text for text in cell[0].texts) and time.monotonic() < limit:
            time.sleep(0.05)  # a rate takes two looks, by a thread
    (output,) = cell
    assert output.texts[0] == "counting 0 B, 0%"
    assert any(
        re.fullmatch(r"counting 500\.0 kB, 25% · [\d.]+ [kM]?B/s · \d+:\d\d left", text) for text in output.texts
    ), output.texts
    assert re.fullmatch(r"counting 2\.0 MB, 100% · [\d.]+ [kM]?B/s · done, \d+:\d\d", output.texts[-1])
    widths = [float(Tree(page).all("rect", class_="gz-bar")[0][0]["width"]) for page in output.pages]
    assert (widths[0], widths[-1]) == (0.0, 100.0)
    assert 25.0 in widths
    assert widths == sorted(widths)
    assert capfd.readouterr() == ("", "")


def test_without_a_total_there_is_no_bar_but_the_time(cell):
    with watching(True, "collecting", None, "labels", lambda: 1234):
        assert cell[0].changed.wait(10)
    assert not Tree(cell[0].pages[-1]).all("svg")
    assert re.fullmatch(r"collecting 1,234 labels · [\d,]+ labels/s · running, \d+:\d\d", cell[0].texts[1])
    assert re.fullmatch(r"collecting 1,234 labels · [\d,]+ labels/s · done, \d+:\d\d", cell[0].texts[-1])


def test_a_total_of_nothing_is_done_at_once(cell):
    with watching(True, "reading", 0, "rows", lambda: 0):
        pass
    assert cell[0].texts[-1] == "reading 0 rows · done, 0:00"


def test_what_fails_stays_where_it_was(cell):
    with pytest.raises(LookupError), watching(True, "reading", 10, "rows", lambda: 3):
        raise LookupError
    assert cell[0].texts[-1].startswith("reading 3 rows, 30%")
    assert "stopped" in cell[0].texts[-1]


def test_a_title_may_change_and_is_escaped(cell):
    title = "<b>first"
    with watching(True, lambda: title, 10, "rows", lambda: 3):
        title = "<script>second"
    assert cell[0].texts[0].startswith("&lt;b&gt;first")
    assert cell[0].texts[-1].startswith("&lt;script&gt;second")


def test_long_work_is_told_in_hours(cell, monkeypatch):
    now = iter([0.0, 0.0, 7200.0, *[7200.0] * 1000])
    monkeypatch.setattr("graphzero._files.notebook_progress.time.perf_counter", lambda: next(now))
    with watching(True, "reading", 40, "rows", lambda: 10):
        pass
    assert cell[0].texts[-1].endswith("done, 2:00:00")


def test_a_conversion_has_an_output_for_each_step(cell):
    gz.convert_edges(([0, 1], [1, 2]), "o.gl", progress=True)
    assert [output.texts[-1].split(" · ")[0] for output in cell] == [
        "reading 2 edges, 100%",
        "sorting and writing 4 edges, 100%",
    ]


def test_an_iteration_has_one_line(cell, tiny_gl):
    pipeline = gz.Pipeline(gz.Graph(tiny_gl), None, [2], batch_size=2, progress=True)
    for _ in pipeline:
        time.sleep(0.6)
    (output,) = cell
    assert output.texts[0].startswith("epoch 0 batch 1/2 · ")
    assert output.texts[-1].startswith("epoch 0 batch 2/2 · ")


@pytest.mark.parametrize(("shell", "is_notebook"), [(("Shell", "ZMQInteractiveShell"), True), (("Terminal",), False)])
def test_a_notebook_is_known_by_its_shell(cell, shell, is_notebook):
    sys.modules["IPython"].get_ipython = lambda: shell_of(*shell)  # Colab has a class of its own
    StatusLine().show("here")
    assert bool(cell) == is_notebook


def test_a_script_that_loads_ipython_is_no_notebook(cell, capfd):
    sys.modules["IPython"].get_ipython = lambda: None
    with watching(True, "reading", 10, "rows", lambda: 3):
        pass
    assert not cell
    assert "reading" in capfd.readouterr().err
