"""The charts of the report are drawn to scale, and numbers are written as people read them."""

import math
import re

import pytest

from bench_documents import MB, row, with_rows
from graphzero.bench.html_report import html_report
from graphzero.bench.report import bars
from graphzero.bench.report.number_text import (
    bytes_text,
    count_text,
    percent_text,
    ratio_text,
    round_steps,
    seconds_text,
    step_text,
    value_text,
)
from html_tree import Tree, texts


def percents(elements, key="width"):
    return [float(attributes[key].rstrip("%")) for attributes, _ in elements]


def test_bars_are_as_long_as_their_values():
    values = [40e6, 10e6, 25e6]
    page = html_report(
        with_rows(*(row("t", name, value, "edges/s") for name, value in zip("abc", values, strict=True)))
    )
    found = percents(Tree(page).all("rect", class_="bar"))
    assert found == pytest.approx([bars.LONGEST * value / max(values) for value in values], abs=1e-3)
    assert "Log scale" not in texts(page)


def test_far_values_have_a_log_scale_that_says_so():
    values = [2e8, 2e4, 3e6]
    page = html_report(
        with_rows(*(row("t", name, value, "edges/s") for name, value in zip("abc", values, strict=True)))
    )
    tree = Tree(page)
    found = percents(tree.all("rect", class_="bar"))
    logs = [math.log10(value / 1e4) for value in values]
    assert found == pytest.approx([bars.LONGEST * log / max(logs) for log in logs], abs=1e-3)
    # A notch for each factor of ten that a bar is longer than: 10⁵…10⁸, none, 10⁵ and 10⁶.
    assert [tree.all("line", class_="notch")[i][0]["x1"] for i in range(4)] == [
        f"{bars.LONGEST * step / max(logs):.3f}%" for step in (1, 2, 3, 4)
    ]
    assert len(tree.all("line", class_="notch")) == 4 + 0 + 2
    assert "Log scale" in texts(page)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 5.0], [0.0, bars.LONGEST]),
        ([-3.0, 5.0], [0.0, bars.LONGEST]),
        ([-3.0, 0.0], [0.0, 0.0]),
        ([None, None], [None, None]),
        ([1e300, None, 1e300], [bars.LONGEST, None, bars.LONGEST]),
        ([5e-324, 1.7e308], [pytest.approx(0.0, abs=0.1), bars.LONGEST]),
    ],
)
def test_odd_values_have_lengths_too(values, expected):
    assert bars.lengths(values)[0] == expected


def test_a_value_just_above_a_power_of_ten_has_a_bar_that_is_seen():
    (short, _), _ = bars.lengths([1.01e6, 33e6])
    assert short > bars.LONGEST / 20


def test_ours_is_coloured_and_comes_first():
    page = html_report(with_rows(row("t", "other", 9.0, "x/s"), row("t", "graphzero", 3.0, "x/s")))
    looks = [attributes["class"] for attributes, _ in Tree(page).all("rect", class_="bar")]
    assert looks == ["bar ours", "bar"]


def test_bars_of_different_units_do_not_share_a_scale():
    page = html_report(with_rows(row("t", "a", 9.0, "x/s"), row("t", "b", 300.0, "seconds", higher_is_better=False)))
    assert percents(Tree(page).all("rect", class_="bar")) == [bars.LONGEST, bars.LONGEST]
    assert texts(page).count("Shorter is better.") == 1


def test_stages_add_up_on_one_scale():
    one, two = {"sampling": 1.0, "reading": 3.0}, {"reading": 2.0, "sampling": 0.0, "waiting": None}
    page = html_report(
        with_rows(row("a", "graphzero", 1.0, "x/s", stages=one), row("b", "graphzero", 1.0, "x/s", stages=two))
    )
    stages = Tree(page).all("rect", class_="stage")
    widths, starts = percents(stages), percents(stages, "x")
    scale = widths[1] / 3
    assert widths == pytest.approx([scale, 3 * scale, 2 * scale, 0], abs=1e-2)
    assert starts == pytest.approx([0, scale, 0, 2 * scale], abs=1e-2)
    # The same stage has the same colour in every bar.
    assert [attributes["class"] for attributes, _ in stages] == [f"stage stage{i}" for i in (0, 1, 1, 0)]


def points(chart):
    """Return the points of each line in order of drawing, by class."""
    return {
        attributes["class"].split()[1]: [tuple(map(float, pair.split(","))) for pair in attributes["points"].split()]
        for attributes, _ in Tree(chart).all("polyline")
    }


def test_memory_lines_and_the_cap_share_a_scale():
    watched = row("t", "graphzero", 1.0, "x/s", cap_bytes=200, memory=[[0, 0, 100], [1, 50, 230], [4, 115, 0]])
    chart = html_report(with_rows(watched))
    drawn = points(chart)
    assert drawn["line0"] == [(0, 100), (25, pytest.approx(78.26, abs=0.01)), (100, 50)]  # 230 bytes is the top
    assert drawn["line1"] == [(0, pytest.approx(56.52, abs=0.01)), (25, 0), (100, 100)]
    grid, cap = (Tree(chart).all("line", class_=name) for name in ("grid", "cap"))
    heights = {step: float(attributes["y1"]) for step, (attributes, _) in zip(range(0, 201, 50), grid, strict=True)}
    assert float(cap[0][0]["y1"]) == heights[200]
    assert heights[0] - heights[100] == pytest.approx(heights[100] - heights[200], abs=0.11)


def test_the_limit_of_the_group_is_drawn_where_it_is_known():
    held = {"memory": [[0, 100, 0], [1, 300, 0]], "cap_bytes": 200, "cap_proven": True}
    chart = html_report(with_rows(row("t", "graphzero", 1.0, "x/s", limit_bytes=400, **held)))
    assert "Cap 200 B, in a control group of 400 B for the whole process." in texts(chart)
    assert [text for _, text in Tree(chart).all("text", class_="strong")] == ["limit 400 B"]
    assert points(chart)["line0"] == [(0, pytest.approx(78.26, abs=0.01)), (100, pytest.approx(34.78, abs=0.01))]


def test_a_page_cache_that_was_not_looked_at_has_no_line():
    chart = html_report(with_rows(row("t", "other", 1.0, "x/s", memory=[[0, 5, None], [1, 10, None]])))
    assert list(points(chart)) == ["line0"]
    assert "Highest: anonymous 10 B. The page cache was not looked at." in texts(chart)


def test_peaks_survive_the_thinning_of_many_samples():
    samples = [[i / 100, MB, MB] for i in range(5000)]
    samples[1234][1], samples[4321][2] = 70 * MB, 90 * MB
    chart = html_report(with_rows(row("t", "graphzero", 1.0, "x/s", memory=samples)))
    drawn = points(chart)
    assert len(drawn["line0"]) <= 250
    assert min(y for _, y in drawn["line1"]) == 0  # the highest value is the top of the chart
    assert min(y for _, y in drawn["line0"]) == pytest.approx(100 * (1 - 70 / 90), abs=0.01)
    assert "Highest: anonymous 70.0 MB, page cache 90.0 MB." in texts(chart)


def test_scaling_has_a_chart_for_each_unit_and_even_axes():
    series = [
        {"what": "graphzero", "x": [1, 2, 4], "y": [10.0, 20.0, 30.0], "unit": "edges/s"},
        {"what": "graphzero", "x": [1], "y": [5.0], "unit": "rows/s"},
        {"what": "other", "x": [4, 1], "y": [15.0, 0.0], "unit": "edges/s"},
    ]
    charts = re.findall("<figure>.*?</figure>", html_report({"parts": [{"scaling": {"threads": series}}]}), re.DOTALL)
    assert len(charts) == 2
    drawn = points(charts[0])
    assert drawn["line0"] == [
        (0, pytest.approx(66.67, abs=0.01)),
        (pytest.approx(33.33, abs=0.01), pytest.approx(33.33, abs=0.01)),
        (100, 0),
    ]
    assert drawn["rival0"] == [(0, 100), (100, 50)]


def test_sizes_far_apart_have_a_log_axis_that_says_so():
    series = {"what": "graphzero", "x": [10**5, 10**6, 10**7], "y": [3.0, 2.0, 1.0], "unit": "edges/s"}
    chart = html_report({"parts": [{"scaling": {"size": [series]}}]})
    assert [x for x, _ in points(chart)["line0"]] == [0, 50, 100]
    assert "log scale" in texts(chart)
    assert [text for _, text in Tree(chart).all("text")][-3:] == ["100 k", "1 M", "10 M"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (count_text(0), "0"),
        (count_text(0.0123), "0.0123"),
        (count_text(7), "7.00"),
        (count_text(999.4), "999"),
        (count_text(999.5), "1.00 k"),
        (count_text(-33.4e6), "-33.4 M"),
        (count_text(999_999_999), "1.00 G"),
        (count_text(2.5e14), "250 T"),
        (count_text(1e300), "1.00e+300"),
        (value_text(33.4e6, "edges/s"), "33.4 M edges/s"),
        (value_text(1.2e9, "bytes"), "1.2 GB"),
        (value_text(90.0, "seconds"), "90.0 s"),
        (value_text(5, None), "5.00"),
        (bytes_text(-5e6), "−5.0 MB"),
        (seconds_text(0), "0 s"),
        (seconds_text(0.00042), "0.42 ms"),
        (seconds_text(9.999), "10.0 s"),
        (seconds_text(99.96), "1 min 40 s"),
        (seconds_text(3600), "60 min 0 s"),
        (ratio_text(1234.5), "1,234×"),
        (ratio_text(9.96), "10×"),
        (ratio_text(0.995), "0.99×"),
        (percent_text(0), "0 %"),
        (percent_text(1.2), "120 %"),
        (step_text(1500, None), "1.5 k"),
        (step_text(2e9, "bytes"), "2 GB"),
        (step_text(500, "bytes"), "500 B"),
    ],
)
def test_numbers_are_written_as_people_read_them(written, expected):
    assert written == expected


@pytest.mark.parametrize("highest", [1e-9, 0.7, 1, 1.99, 2, 4.99, 5, 9.99, 10, 123, 1e9, 2.5e300])
def test_axes_have_a_few_round_steps(highest):
    steps = round_steps(highest)
    assert 3 <= len(steps) <= 6
    assert steps[0] == 0
    assert highest * 0.5 < steps[-1] <= highest * (1 + 1e-9)
    assert f"{steps[1]:e}"[:8] in ("1.000000", "2.000000", "5.000000")
