"""The HTML report says what the document says, breaks on nothing in it, and needs nothing but itself."""

import json
import re

import pytest

import chromium
from bench_documents import GB, MB, bench_document, part, row, with_rows
from graphzero.bench.html_report import html_report
from graphzero.bench.report.findings import figures, losses, standing
from graphzero.bench.report.number_text import value_text
from html_tree import Tree, texts


@pytest.fixture(scope="module")
def page():
    return html_report(bench_document())


def test_tags_are_balanced_and_ids_unique(page):
    tree = Tree(page)
    ids = [attributes["id"] for _, attributes, _ in tree.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes, _ in tree.all("a"):
        assert attributes["href"].startswith("#")
        assert attributes["href"][1:] in ids


def test_the_page_refers_to_nothing_outside(page):
    tree = Tree(page)
    outside = {"link", "img", "iframe", "object", "embed", "image", "use", "base", "source"}
    assert not [name for name, _, _ in tree.elements if name in outside]
    assert not [
        attributes for _, attributes, _ in tree.elements if {"src", "srcset", "xlink:href", "style"} & set(attributes)
    ]
    assert not re.search(r"@import|url\(|https?://", page)


def test_the_browser_is_told_to_load_nothing(page):
    policy = dict(Tree(page).all("meta")[2][0])
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none';")


def test_charts_are_images_with_a_text_and_tables_have_headers(page):
    tree = Tree(page)
    charts = tree.all("svg", role="img")
    assert len(charts) == 22
    assert all(len(attributes["aria-label"]) > 20 for attributes, _ in charts)
    assert all(attributes.get("scope") in ("row", "col", "rowgroup") for attributes, _ in tree.all("th"))
    assert len(tree.all("caption")) == len(tree.all("table")) == 6 + 5 + 6


def test_every_row_is_in_a_table_with_its_value_or_its_reason(page):
    cells = [text for _, text in Tree(page).all("td")]
    for one in bench_document()["parts"]:
        for measured in one["rows"]:
            told = measured["note"] if measured["value"] is None else value_text(measured["value"], measured["unit"])
            assert told in cells, measured


def test_the_head_has_the_claim_in_figures():
    numbers = [(figure.number, figure.label, figure.detail) for figure in figures(bench_document())]
    assert numbers == [
        ("33.4 M", "edges/s sampling neighbourhoods", "three hops, 2 threads; 35× torch-sparse"),
        ("7.7×", "the speed of PyG NeighborLoader", "Whole batches: in RAM, 61.0 batches/s"),
        (
            "86 %",
            "of its speed in RAM, under a cap",
            "Training GraphSAGE: memory capped at 256.0 MB, 20 % of the features",
        ),
        ("127.6 MB", "peak memory, page cache included", "cap 128.0 MB; data 1.3 GB"),
    ]


def test_the_head_names_rivals_with_their_versions():
    sampling = [
        row("t", "graphzero", 30.0, "edges/s"),
        row("t", "GraphBolt", 10.0, "edges/s", rival="GraphBolt of DGL 2.1.0"),
    ]
    what, rival = "PyG NeighborLoader, all in RAM, 2 workers", "PyG 2.8.1 with torch-sparse 0.6.18"
    batches = [row("in RAM", "graphzero", 78.0, "batches/s"), row("in RAM", what, 6.0, "batches/s", rival=rival)]
    found = figures({"parts": [part("sampling", "Sampling", "?", sampling), part("batches", "Batches", "?", batches)]})
    assert [(figure.number, figure.label, figure.detail) for figure in found] == [
        ("30.0", "edges/s sampling", "t; 3.0× GraphBolt of DGL 2.1.0"),
        ("13×", f"the speed of {rival}", f"Batches: in RAM, 78.0 batches/s, beside {what}"),
    ]


def test_a_head_figure_is_shown_when_it_is_bad_too():
    slow = row("in RAM", "graphzero", 3.0, "batches/s", x_best_rival=0.5)
    capped = row("capped", "graphzero", 0.06, "batches/s", cap_bytes=2 * GB, peak_anonymous_bytes=GB)
    rival = row("in RAM", "PyG", 6.0, "batches/s")
    found = figures({"parts": [part("batches", "Batches", "?", [slow, rival, capped])]})
    assert [(figure.number, figure.label) for figure in found] == [
        ("0.50×", "the speed of PyG"),
        ("2 %", "of its speed in RAM, under a cap"),
        ("1.0 GB", "peak memory of its own"),
    ]


def test_speed_under_a_cap_is_compared_with_the_fastest_without_one():
    rows = [row("one", "graphzero", 40.0, "batches/s"), row("two", "graphzero", 80.0, "batches/s")]
    rows.append(row("capped", "graphzero", 40.0, "batches/s", cap_bytes=GB))
    rows.append(row("capped, other unit", "graphzero", 99.0, "seconds"))
    assert [figure.number for figure in figures({"parts": [part("batches", "B", "?", rows)]})] == ["50 %"]


def test_losses_are_listed_and_named(page):
    assert losses(bench_document()) == [
        "Gathering feature rows, random rows, warm: 0.62×, slower than torch index_select in RAM here"
    ]
    assert texts(page).count("slower than torch index_select in RAM here") == 3  # list, chart, table


def test_a_row_of_ours_without_a_value_is_a_loss_where_a_rival_has_one():
    rows = [row("t", "graphzero", None, "x/s", note="killed at its limit"), row("t", "other", 1.0, "x/s")]
    rows += [row("u", "graphzero", None, "x/s", note="not run"), row("u", "other", None, "x/s", note="not run")]
    assert losses(with_rows(*rows)) == ["Sampling, t: no value (killed at its limit), where other has one"]


def test_nothing_is_claimed_where_nothing_was_compared():
    document = with_rows(row("t", "graphzero", 2.0, "x/s"), row("t", "other", None, "x/s", note="not installed"))
    assert "No rival gave a value in this run" in texts(html_report(document))


def test_a_loss_is_told_even_if_the_document_gives_no_ratio():
    document = with_rows(row("t", "graphzero", 2.0, "x/s"), row("t", "other", 8.0, "x/s"))
    assert losses(document) == ["Sampling, t: 0.25×, slower than other here"]


def test_no_losses_are_told_only_of_rivals_that_gave_a_value():
    document = with_rows(row("t", "graphzero", 2.0, "x/s", x_best_rival=2.0), row("t", "other", 1.0, "x/s"))
    assert "not slower than any rival that gave a value" in texts(html_report(document))


@pytest.mark.parametrize(
    ("ratio", "better", "unit", "told"),
    [
        (35.2, True, "edges/s", "35× B"),
        (1.0, True, "edges/s", "1.0× B"),
        (0.996, True, "edges/s", "1.0× B"),
        (0.99, True, "edges/s", "0.99×, slower than B here"),
        (0.5, False, "seconds", "0.50×, slower than A here"),
        (0.5, False, "bytes", "0.50×, larger than A here"),
        (None, True, "edges/s", "1.7× B"),
        (None, False, "seconds", "0.20×, slower than A here"),
    ],
)
def test_a_ratio_names_the_best_rival(ratio, better, unit, told):
    ours = row("t", "graphzero", 5.0, unit, x_best_rival=ratio, higher_is_better=better)
    rivals = [row("t", "A", 1.0, unit), row("t", "B", 3.0, unit), row("t", "C", None, unit, note="not installed")]
    elsewhere = [row("other", "D", 9.0, unit), row("t", "E", 9.0, "walks/s")]
    assert standing(part("p", "P", "?", [ours, *rivals, *elsewhere]), ours) == told


def test_rows_without_a_value_are_in_the_chart_with_their_reason(page):
    reasons = [text for _, text in Tree(page).all("text", class_="reason")]
    assert reasons == [
        "not installed",
        "wrong: 12 of 20,480 steps are not edges",
        "stopped after 60 s, its time limit",
        "killed at its limit",
    ]
    assert "4 rows have no value" in texts(page)


def test_conditions_of_the_machine_are_there(page):
    shown = texts(page)
    for fact in (
        "CPU Intel Xeon Platinum 8481C at 2.70 GHz",
        "Memory 25.3 GB",
        "buff/cache 5.1 GB, available 22.8 GB",
        "Kernel 6.1.0-31-cloud-amd64",
        "Model unknown",
        "File system ext4",
        "Read-ahead 131.1 kB",
        "Kind solid state",
        "commit abc1234",
        "pyg_lib not installed",
        "Fanouts [15, 10, 5]",
        "Batch size 1024",
        "Caps 20 %, 10 % of the features",
        "sampling 96.0 MB before, 138.0 MB after",
        "graphzero bench --quick --output out",
        "15 November 2026, 20:00 UTC",
        "enforced by the kernel",
        "IOPS",
        "81.3 k",
    ):
        assert fact in shown, fact


def test_control_groups_that_are_not_allowed_give_their_reason():
    document = {"machine": {"control_groups": "this process may not create memory control groups"}}
    assert "Memory caps this process may not create memory control groups" in texts(html_report(document))


@pytest.mark.parametrize(
    ("proven", "told"), [(True, "proven in a control group"), (False, "a budget only"), (None, "not known how")]
)
def test_a_cap_says_how_it_was_kept(proven, told):
    capped = row("t", "graphzero", 1.0, "x/s", cap_bytes=GB, cap_proven=proven, memory=[[0, MB, MB], [1, MB, MB]])
    assert texts(html_report(with_rows(capped))).count(f"1.0 GB, {told}") == 2  # chart and table


def test_memory_of_rows_without_a_cap_is_folded():
    samples = [[0, MB, MB], [1, MB, MB]]
    rows = [row("a", "graphzero", 1.0, "x/s", memory=samples)]
    rows.append(row("b", "graphzero", 1.0, "x/s", memory=samples, cap_bytes=GB))
    page = html_report(with_rows(*rows))
    ((_, folded),) = Tree(page).all("details")
    assert "Memory over time of rows without a cap (1)" in folded
    assert "Memory over time: graphzero, a" in folded
    assert "Memory over time: graphzero, b" in texts(page.replace(folded, ""))
    assert "Memory over time: graphzero, b" not in folded


@pytest.mark.parametrize(
    ("more", "detail", "told"),
    [
        ({}, "above the cap of 1.0 GB", "1.0 GB, in a control group that held up to 3.0 GB"),
        (
            {"limit_bytes": 4 * GB},
            "cap 1.0 GB, limit of the whole process 4.0 GB",
            "1.0 GB, in a control group of 4.0 GB for the whole process",
        ),
        ({"cap_proven": False}, "above the cap of 1.0 GB", "1.0 GB, a budget only"),
    ],
)
def test_a_peak_above_the_cap_is_told(more, detail, told):
    capped = row(
        "t", "graphzero", 1.0, "batches/s", **{"cap_bytes": GB, "peak_group_bytes": 3 * GB, "cap_proven": True} | more
    )
    document = {"parts": [part("batches", "B", "?", [capped])]}
    (figure,) = figures(document)
    assert (figure.number, figure.detail) == ("3.0 GB", detail)
    assert told in texts(html_report(document))


def test_the_document_is_in_the_page_unchanged():
    document = bench_document()
    document["notes"].append("</script><!-- <script>alert(1)</script> & \u2028 é")
    attributes, text = Tree(html_report(document)).all("script")[0]
    assert attributes == {"type": "application/json", "id": "document"}
    assert json.loads(text) == document
    assert "<" not in text


def poisoned(value):
    """Return a value with markup in each of its texts, and in the names that people see."""
    evil = "<script>alert('1')</script>\"&amp;"
    if isinstance(value, dict):
        keys = {"conditions", "versions", "free", "stages"}
        return {
            key: {evil + name: poisoned(item) for name, item in inner.items()}
            if key in keys and inner
            else poisoned(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return value + evil if isinstance(value, str) else value


def test_all_text_is_escaped():
    page = html_report(poisoned(bench_document()))
    tree = Tree(page)
    assert [attributes for attributes, _ in tree.all("script")] == [{"type": "application/json", "id": "document"}, {}]
    assert "<script>alert" not in page
    known = {
        "class",
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
        "dx",
        "cx",
        "cy",
        "r",
        "rx",
        "width",
        "height",
        "role",
        "aria-label",
        "aria-hidden",
        "tabindex",
        "scope",
        "colspan",
    }
    known |= {
        "points",
        "viewbox",
        "preserveaspectratio",
        "overflow",
        "text-anchor",
        "id",
        "href",
        "type",
        "hidden",
        "lang",
        "charset",
        "name",
        "content",
    }
    assert {key for _, attributes, _ in tree.elements for key in attributes} - known == {"http-equiv"}
    assert tree.all("th", scope="row")[0][1].startswith("graphzero<script>alert('1')</script>\"&amp;")


@pytest.mark.parametrize("document", [{}, {"parts": []}, {"parts": None, "machine": None, "notes": None}])
def test_an_empty_document_says_so(document):
    page = html_report(document)
    Tree(page)
    assert "Nothing was measured" in texts(page)
    assert "nan" not in texts(page).lower()


def paths_in(value, trail=()):
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*trail, key)
            yield from paths_in(value[key], (*trail, key))


def smaller_document():
    """Return a document with one of everything."""
    document = bench_document()
    sampling, batches = document["parts"][0], document["parts"][4]
    sampling["rows"], batches["rows"] = sampling["rows"][:2], batches["rows"][2:4]
    batches["rows"][0]["memory"] = batches["rows"][0]["memory"][:2]
    sampling["scaling"] = {key: [series[0]] for key, series in sampling["scaling"].items()}
    return document | {"parts": [sampling, batches]}


@pytest.mark.parametrize("instead", [None, "text", -1, float("inf"), [], "absent"], ids=repr)
def test_anything_may_be_missing_or_odd(instead):
    for path in paths_in(smaller_document()):
        document = smaller_document()
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        if instead == "absent":
            del holder[path[-1]]
        else:
            holder[path[-1]] = instead
        page = html_report(document)
        assert page.endswith("</html>\n")
        for name, attributes, _ in Tree(page).elements:
            drawn = " ".join(
                attributes.get(key, "") for key in ("x", "y", "width", "height", "points", "cx", "cy", "y1")
            )
            assert not re.search("nan|inf|e", drawn), (path, name, drawn)
            assert "-" not in attributes.get("width", ""), (path, name)


def test_a_row_of_nothing_is_shown():
    page = html_report({"parts": [{"rows": [{}]}]})
    assert "no value, and no reason was recorded" in texts(page)


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False), (1280, True)])
def test_a_browser_shows_it_well(page, tmp_path, width, dark):
    seen = chromium.probed(page, tmp_path, width, dark)
    assert seen["width"] == width
    assert seen["errors"] == []
    assert seen["resources"] == []
    assert seen["scrollWidth"] <= width
    assert seen["charts"] == 22
    assert seen["misplaced"] == []
    assert len(seen["texts"]) > 500
    assert [(ratio, text) for ratio, text in seen["texts"] if ratio < 4.5] == []
    assert [(ratio, shape) for ratio, shape in seen["shapes"] if ratio < 3] == []
    assert json.loads(seen["json"]) == bench_document()


def test_a_browser_runs_no_text_of_the_document(tmp_path):
    document = poisoned(bench_document())
    seen = chromium.probed(html_report(document), tmp_path, 390)
    assert (seen["errors"], seen["resources"]) == ([], [])
    assert seen["scrollWidth"] <= 390
    assert json.loads(seen["json"]) == document


def test_the_probe_sees_what_is_wrong(tmp_path):
    """Otherwise the tests above would prove nothing."""
    page = (
        '<html><head></head><body style="background:#fff"><div style="width:900px;color:#ccc">pale</div>'
        '<svg role="img" width="100" height="20"><text y="15">one</text><text x="2" y="15">two</text>'
        '<text x="90" y="15">beyond</text><rect class="bar" width="9" height="9" fill="#eee"></rect></svg>'
        "<script>missing()</script></body></html>"
    )
    seen = chromium.probed(page, tmp_path, 390)
    assert seen["scrollWidth"] > 390
    assert any("missing is not defined" in error for error in seen["errors"])
    assert [text for ratio, text in seen["texts"] if ratio < 4.5] == ["pale"]
    assert [shape for ratio, shape in seen["shapes"] if ratio < 3] == ["bar"]
    assert seen["misplaced"] == ["overlap: one | two", "outside: beyond"]


@pytest.mark.parametrize(
    ("dark", "paper", "accent"), [(False, (255, 255, 255), (11, 99, 184)), (True, (17, 21, 26), (94, 176, 245))]
)
def test_a_screenshot_is_not_blank(page, tmp_path, dark, paper, accent):
    rows = chromium.screenshot(page, tmp_path, 1280, 1200, dark)
    assert (len(rows[0]), len(rows)) == (640, 600)
    counts = chromium.colours(rows)
    assert counts.most_common(1)[0][0] == paper
    assert counts[paper] < 0.98 * 640 * 600
    assert counts[accent] > 500  # the bars of ours
    assert len(counts) > 50
