"""Spellings that were replaced work until 0.4, and say at the user's line what to write instead."""

import json
import pickle

import pytest

import data_sets
import graphzero as gz
from graphzero.cli.command import run
from graphzero.convert.text import BadLine


def with_text(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


@pytest.mark.parametrize(
    ("convert", "text", "old", "new"),
    [
        (gz.convert_edges, "0,1\n0,1\n1,1\n", {"dedup": True}, {"duplicates": "drop"}),
        (gz.convert_edges, "0,1\n0,1\n1,1\n", {"dedup": False}, {"duplicates": "keep"}),
        (gz.convert_edges, "0,1\n1,x\n", {"on_bad_line": "skip"}, {"bad_lines": "skip"}),
        (gz.convert_edges, "0,1\n", {"on_bad_line": "error"}, {"bad_lines": "raise"}),
        (gz.convert_features, "0,1\n1,x\n", {"on_bad_line": "skip"}, {"bad_lines": "skip"}),
    ],
)
def test_an_old_keyword_does_what_the_new_one_does(convert, text, old, new):
    source = with_text("source.csv", text)
    own = {"header": False} | ({"dtype": "int32"} if convert is gz.convert_features else {})
    convert(source, "new", **own, **new)
    said = "^{0[0]}={0[1]!r} is now {1[0]}={1[1]!r}; ".format(*old.items(), *new.items())
    with pytest.warns(DeprecationWarning, match=said) as warned:
        convert(source, "old", **own, **old)
    assert warned[0].filename == __file__
    with open("old", "rb") as first, open("new", "rb") as second:
        assert first.read() == second.read()


def test_an_old_keyword_beside_the_new_one_is_refused():
    with pytest.raises(TypeError, match="^dedup: expected duplicates alone, its new name, found both$"):
        gz.convert_edges(([0], [1]), "g.gl", dedup=True, duplicates="drop")


def test_a_data_set_takes_old_keywords_of_edges():
    with pytest.warns(DeprecationWarning, match="^dedup=True is now duplicates='drop'") as warned:
        report = gz.convert_dataset(data_sets.pyg_data(), "ds", dedup=True)
    assert warned[0].filename == __file__
    assert [edges.num_duplicates for edges in report.edges.values()] == [0]


def reports():
    """A report of each kind about a source with one bad line, and the old name and new name of a field."""
    source = with_text("source.csv", "0,1\n1,x\n2,3\n")
    edges = gz.convert_edges(source, "g.gl", header=False, bad_lines="skip")
    rows = gz.convert_features(source, "x.gd", dtype="int32", bad_lines="skip")
    return [(edges, "first_bad_lines"), (rows, "num_bad_lines")]


def test_reports_call_the_same_thing_by_the_same_name():
    for report, _ in reports():
        assert report.num_bad_lines == 1
        (bad,) = report.first_bad_lines
        assert (type(bad), bad.line, bad.text) == (BadLine, 2, "1,x")


def test_a_field_is_read_under_its_old_name():
    for report, new in reports():
        said = f"^{type(report).__name__}.bad_lines is now {new}; "
        with pytest.warns(DeprecationWarning, match=said) as warned:
            assert report.bad_lines == getattr(report, new)
        assert warned[0].filename == __file__


def test_a_report_that_was_pickled_with_an_old_field_opens():
    for report, new in reports():
        again = type(report).__new__(type(report))
        again.__setstate__({"bad_lines" if name == new else name: value for name, value in vars(report).items()})
        assert again == report == pickle.loads(pickle.dumps(report))


def test_the_feature_store_of_pyg_is_found_under_its_old_name(tiny_dataset):
    data_sets.pyg()
    from graphzero.loaders import PyGFeatureStore

    with pytest.warns(DeprecationWarning, match=r"loaders\.FeatureStore is now graphzero\.loaders\.PyG") as warned:
        from graphzero.loaders import FeatureStore
    assert {warning.filename for warning in warned} == {__file__}
    assert FeatureStore is PyGFeatureStore is not gz.FeatureStore
    assert "FeatureStore" not in gz.loaders.__all__

    pickled = pickle.dumps(PyGFeatureStore(gz.open(tiny_dataset)).select("y"), protocol=2)
    for module in (b"graphzero.loaders.pyg.stores", b"graphzero.loaders.pyg_stores"):
        old = pickled.replace(b"graphzero.loaders.pyg.stores\nPyGFeatureStore", module + b"\nFeatureStore")
        assert old != pickled
        with pytest.warns(DeprecationWarning, match="PyGFeatureStore"):
            again = pickle.loads(old)
        assert [attr.attr_name for attr in again.get_all_tensor_attrs()] == ["y"]


def test_the_command_takes_an_old_option_and_names_the_new_one(capsys):
    with_text("e.csv", "0,1\n0,1\n")
    assert run(["convert", "e.csv", "g.gl", "--no-header", "--dedup", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "graphzero: --dedup is now --drop-duplicates\n"
    assert json.loads(shown.out)["num_edges"] == 1
    assert run(["convert", "e.csv", "g.gl", "--no-header", "--drop-duplicates", "--json"]) == 0
    shown = capsys.readouterr()
    assert (shown.err, json.loads(shown.out)["num_edges"]) == ("", 1)
    assert run(["convert", "--help"]) == 0
    assert "--dedup" not in capsys.readouterr().out
