"""What notebooks show of stores, data sets, reports and pipelines: complete, escaped, bounded, and fit to look at."""

import re
import time
from dataclasses import dataclass

import numpy as np
import pytest

import chromium
import data_sets
import graphzero as gz
import sparse
from graphzero._look.labels import homophily_facts
from graphzero._look.limits import NOTEBOOK
from graphzero._look.reports import ShownReport
from graphzero._look.stats import Stats
from html_tree import Tree, texts

EVIL = "<script>alert('1')</script>\"&amp;\x1b[2J\u202e"


def rich_dataset(path, name="paper"):
    """A data set with something of everything, whose names are ``name`` and numbers."""
    rng = np.random.default_rng(5)
    count = 400
    with gz.DatasetWriter(path) as writer:
        writer.add_nodes(
            {"x": rng.random((count, 8), dtype=np.float32), "y": rng.integers(-1, 14, count), "of": [0, 1] * 200},
            type=name,
            label="y",
            num_classes=14,
            ids=[f"{name} {number}" for number in range(count)],
            categories={"y": [f"{name} {number}" for number in range(14)], "of": [name, f"{name} 2"]},
        )
        writer.add_nodes({"x": rng.random((30, 2))}, type="author")
        writer.add_edges(
            rng.integers(0, count, 5000),
            (rng.random(5000) ** 3 * count).astype(int),
            type=(name, "cites", name),
            weight=rng.random(5000),
            time=rng.integers(0, 10**9, 5000),
            time_unit="s",
        )
        writer.add_edges(rng.integers(0, 30, 99), rng.integers(0, count, 99), type=("author", "writes", name))
        writer.add_split("train", np.arange(200), of=name)
    return gz.open(path)


def report(path="edges.gl", **changed):
    fields = {
        "path": path, "ids_path": None, "num_rows": 1200, "num_edges": 1200, "num_src_nodes": 9, "num_dst_nodes": 9,
        "smallest_id": 0, "largest_id": 8, "num_self_loops": 0, "num_duplicates": 3, "num_bad_lines": 0,
        "first_bad_lines": (), "unused_columns": (), "size": 24_576, "spilled": 0, "seconds": 1.25, "peak_memory": 10**8,
    }  # fmt: skip
    return gz.ConversionReport(**fields | changed)


def stats_of_a_run():
    pipeline = gz.Pipeline(rich_dataset("run"), "train", [3], batch_size=50, memory="64MB")
    for _ in pipeline:
        pass
    return pipeline


def balanced(shown):
    """Return the elements of a page, which has neither scripts nor anything from outside."""
    tree = Tree(shown)
    outside = {"script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "source", "a", "form"}
    assert not [name for name, _, _ in tree.elements if name in outside]
    assert not re.search(r"@import|url\(|https?://", shown)
    assert not [key for _, attributes, _ in tree.elements for key in attributes if key.startswith("on")]
    return tree


def test_a_graph_shows_its_degrees(tiny_gl):
    shown = gz.Graph(tiny_gl)._repr_html_()
    assert f"Graph {tiny_gl}" in texts(shown)
    assert "out-degree 0 to 2, mean 1.00 0 2 to 3" in texts(shown)
    charts = balanced(shown).all("svg", role="img")
    assert [attributes["aria-label"] for attributes, _ in charts] == ["0: 1 nodes; 1: 2 nodes; 2 to 3: 1 nodes"] * 2


def test_features_show_their_rows(tiny_gd):
    shown = gz.FeatureStore(tiny_gd)._repr_html_()
    balanced(shown)
    assert "rows 4 a row 3 × float32, 12 B missing no NaN size 8.2 kB" in texts(shown)


def test_ids_show_the_first_labels():
    gz.write_ids("names.gi", ["mia", "adam", "zoe", "bo"])
    shown = gz.IdDictionary("names.gi")._repr_html_()
    balanced(shown)
    assert "labels 4, string first labels adam, bo, mia, …" in texts(shown)


def test_a_data_set_shows_what_info_tells():
    shown = rich_dataset("ds")._repr_html_()
    tree = balanced(shown)
    assert [summary for _, summary in tree.all("summary")] == [
        "paper 400 nodes, label y of 14 classes",
        "author 30 nodes",
        "paper → cites → paper 5,000 edges, directed",
        "author → writes → paper 99 edges, directed",
        "splits train",
    ]
    for fact in (
        "holds 2 node types, 2 edge types",
        "x 8 × float32",
        "of int64, 8.2 kB, 2 categories: paper, paper 2",
        "ids string labels: paper 0, paper 1, paper 10, …",
        "the 12 largest of 14 classes",
        "isolated",
        "weights",
        "times 1970-",
        "homophily 0.",
        "edges with labels",
        "train of paper 200 · 50.0%",
    ):
        assert fact in texts(shown), fact


def test_a_data_set_shows_what_was_assigned():
    data_sets.pyg()
    import torch

    data = rich_dataset("ds")
    data["paper"].extra = torch.zeros(400, 2)
    data["paper"].y = torch.zeros(400, dtype=torch.int64)
    shown = texts(data._repr_html_())
    assert "extra assigned, in memory" in shown
    assert "largest of" not in shown  # the labels of the file are no longer those of the data


def test_a_split_that_was_assigned_has_a_count():
    data_sets.pyg()
    import torch

    data = rich_dataset("ds")
    data["paper"].train_mask = torch.arange(400) < 100
    assert "train of paper 100 · 25.0%" in texts(data._repr_html_())


def test_many_types_are_not_all_shown():
    with gz.DatasetWriter("many") as writer:
        for number in range(23):
            writer.add_nodes(type=f"type {number}", num_nodes=2)
        writer.add_edges([0], [1], type=("type 0", "to", "type 22"))
    tree = balanced(gz.open("many")._repr_html_())
    assert len(tree.all("details")) == 20 + 1
    assert len([attributes for attributes, _ in tree.all("details") if "open" in attributes]) == 4
    assert "And 3 more node types." in texts(gz.open("many")._repr_html_())


def test_what_is_closed_says_so(tiny_gl, tiny_gd, tiny_dataset):
    gz.write_ids("names.gi", ["a"])
    for store in (gz.Graph(tiny_gl), gz.FeatureStore(tiny_gd), gz.IdDictionary("names.gi"), gz.open(tiny_dataset)):
        store.close()
        shown = store._repr_html_()
        balanced(shown)
        assert texts(shown).endswith("state closed")
    data = gz.open(tiny_dataset)
    data.graph.close()
    assert texts(data._repr_html_()).endswith("state 1 of 5 files are closed")


def test_a_closed_pipeline_says_so():
    pipeline = stats_of_a_run()
    pipeline.close()
    assert texts(pipeline._repr_html_()).startswith("Pipeline closed")


def test_a_damaged_file_shows_what_is_wrong(tiny_gl):
    with gz.Graph(tiny_gl) as graph:
        offsets = graph.indptr.tobytes()
    with open(tiny_gl, "r+b") as file:
        file.seek(file.read().index(offsets) + 8)
        file.write((99).to_bytes(8, "little"))
    shown = gz.Graph(tiny_gl)._repr_html_()
    balanced(shown)
    assert "problem" in texts(shown)
    assert "corrupt indptr at node 0" in texts(shown)


def words(shown):
    """Return the text of a page as a reader sees it, without its style."""
    return "".join(
        text for name, _, parts in Tree(shown).elements if name in ("p", "table", "summary") for text in parts
    )


def test_names_are_escaped():
    data = rich_dataset("ds", EVIL)
    things = [
        data,
        data.nodes[EVIL].ids,
        report(EVIL, unused_columns=(EVIL,), ids_path=EVIL),
        gz.DatasetReport(EVIL, EVIL, {EVIL: 3}, {(EVIL, EVIL, EVIL): report(EVIL)}, (EVIL,), 1.0),
        Stats(plan={"reason": EVIL}, gpu_cache=EVIL, memory={EVIL: 3, "budget": 4}),
    ]
    for thing in things:
        shown = thing._repr_html_()
        balanced(shown)
        assert "<script" not in shown
        assert not set("\x1b\u202e") & set(shown)
        assert "<script>alert('1')</script>" in words(shown)


def test_paths_are_escaped():
    name = "<img src=x onerror=alert(1)>&amp;\x1b"
    gz.write_graph(f"{name}.gl", [0], [1])
    gz.write_features(f"{name}.gd", [1.0])
    gz.write_ids(f"{name}.gi", ["a"])
    stores = [gz.Graph(f"{name}.gl"), gz.FeatureStore(f"{name}.gd"), gz.IdDictionary(f"{name}.gi")]
    for thing in (*stores, gz.memory_report(*stores)):
        shown = thing._repr_html_()
        balanced(shown)
        assert "<img src=x onerror=alert(1)>&amp;\\x1b.g" in words(shown)


def test_a_report_shows_the_fields_that_say_something():
    shown = report(unused_columns=("colour", "size"))._repr_html_()
    balanced(shown)
    assert texts(shown) == (
        "ConversionReport edges.gl rows 1,200 edges 1,200 src nodes 9 dst nodes 9 smallest id 0 largest id 8 self loops "
        "0 duplicates 3 bad lines 0 unused columns colour size size 24.6 kB spilled 0 B seconds 1.2 s peak memory "
        "100.0 MB"
    )


def test_skipped_lines_are_shown_with_their_reason():
    from graphzero.convert.text import BadLine

    bad = tuple(BadLine(number, "a,b", "not a number") for number in range(1, 30))
    shown = texts(report(num_bad_lines=29, first_bad_lines=bad)._repr_html_())
    assert "first bad lines line 1, text a,b, reason not a number line 2," in shown
    assert "line 20, text a,b, reason not a number and 9 more" in shown


def test_the_reports_of_conversions_are_shown():
    np.save("x.npy", np.zeros((4, 3)))
    features = gz.convert_features("x.npy", "x.gd", dtype="float16")._repr_html_()
    assert "shape 4 × 3 dtype float16" in texts(features)
    assert "dry run no" in texts(features)
    whole = gz.convert_dataset(data_sets.pyg_data(), "ds")._repr_html_()
    tree = balanced(whole)
    assert [summary.strip() for _, summary in tree.all("summary")] == ["node → to → node"]
    assert "layout pyg" in texts(whole)
    assert "nodes node: " in texts(whole)


def test_any_data_class_can_be_a_report():
    @dataclass(frozen=True)
    class BuildReport(ShownReport):
        path: str
        share: float
        empty: tuple[str, ...]
        absent: int | None

    assert texts(BuildReport("ds", 0.25, (), None)._repr_html_()) == "BuildReport ds share 0.25"


def test_a_pipeline_and_its_stats_have_bars():
    pipeline = stats_of_a_run()
    stats = pipeline.stats()
    assert isinstance(stats, dict)
    for shown in (pipeline._repr_html_(), stats._repr_html_()):
        tree = balanced(shown)
        assert len(tree.all("rect", class_="gz-bar")) >= 3
        assert "batches 4 rows" in texts(shown)
        assert "hit rate 100.0%" in texts(shown)
        assert re.search(r"memory held .* of 64\.0 MB", texts(shown))
    assert "epoch 0 batch 4/4" in texts(pipeline._repr_html_())


def test_a_loader_shows_its_pipeline():
    data_sets.pyg()
    loader = gz.loaders.NeighborLoader(rich_dataset("ds"), [2], ("paper", None), batch_size=100, memory="64MB")
    assert texts(loader._repr_html_()).startswith("NeighborLoader 4 batches epoch 0 batch 0/4")
    for _ in loader:
        pass
    assert "batches 4" in texts(loader._repr_html_())
    assert "GPU no rows on a GPU" in texts(loader.stats()._repr_html_())
    loader.close()
    assert texts(loader._repr_html_()).startswith("NeighborLoader closed")


def test_stats_of_nothing_are_shown():
    assert texts(Stats()._repr_html_()) == "stats batches 0 rows 0"


def test_a_memory_report_has_a_bar_for_each_file(tiny_gl, tiny_gd):
    report = gz.memory_report(gz.Graph(tiny_gl), gz.FeatureStore(tiny_gd))
    tree = balanced(report._repr_html_())
    names = [name for _, name in tree.all("th")]
    assert names[:3] == ["anonymous", "mapped files", "available"]
    assert names[-2:] == [tiny_gl, tiny_gd]


def test_a_huge_file_is_shown_from_a_sample(monkeypatch):
    sparse.write_sparse_gl("huge.gl", num_nodes=2 * 10**9, num_edges=10**10)
    sparse.write_sparse_gd("huge.gd", shape=(2 * 10**9, 128), dtype="float32")
    sparse.write_sparse_gd("labels.gd", shape=(2 * 10**9,), dtype="int64")
    graph, rows, labels = gz.Graph("huge.gl"), gz.FeatureStore("huge.gd"), gz.FeatureStore("labels.gd")
    asked, degree = [], gz.Graph.degree

    def noted(graph, nodes, direction):
        asked.append(len(nodes))
        return degree(graph, nodes, direction)

    monkeypatch.setattr(gz.Graph, "degree", noted)
    begin = time.process_time()
    assert "131,072 nodes from evenly spread places" in texts(graph._repr_html_())
    assert "no NaN in 4,096 rows from spread places" in texts(rows._repr_html_())
    assert homophily_facts(graph, labels, NOTEBOOK)["num_read"] == 128
    assert sum(asked) == 1 << 17
    assert time.process_time() - begin < 5  # a scan would take minutes


# Notebooks have a theme of their own, which may be dark where the system is light.
SYSTEM = "@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }"
NOTEBOOK_DARK = "body { background: #111; color: #d4d4d4; }"


def page_of(things, style):
    shown = "".join(thing._repr_html_() for thing in things)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>cells</title><style>:root {{ color-scheme: light dark; }} body {{ margin: 8px; }} {style}</style></head>"
        f"<body>{shown}</body></html>"
    )


@pytest.mark.parametrize(
    ("width", "dark", "style"),
    [
        (390, False, SYSTEM),
        (390, True, SYSTEM),
        (1280, False, SYSTEM),
        (1280, True, SYSTEM),
        (390, False, NOTEBOOK_DARK),
    ],
)
def test_a_browser_shows_it_well(width, dark, style, tmp_path):
    data = rich_dataset("ds", "a_rather_long_name_of_a_kind_of_node")
    kind = next(iter(data.nodes.values()))
    pipeline = stats_of_a_run()
    graph = next(iter(data.edges.values())).graph
    things = [data, graph, kind["x"], kind.ids, report("f" * 200), pipeline, pipeline.stats(), data.memory_report()]
    seen = chromium.probed(page_of(things, style), tmp_path, width, dark)
    assert seen["width"] == width
    assert (seen["errors"], seen["resources"]) == ([], [])
    assert seen["scrollWidth"] <= width
    assert seen["charts"] >= 6
    assert len(seen["texts"]) > 100
    assert [(ratio, text) for ratio, text in seen["texts"] if ratio < 4.5] == []
    assert len(seen["shapes"]) > 50
    assert [(ratio, shape) for ratio, shape in seen["shapes"] if ratio < 3] == []
