"""Times of edges: ISO 8601 in text, timestamps in tables, and the unit they are stored in."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphzero as gz

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def times_of(values, **options):
    """Convert edges with these fields as their times, and return what is stored, in the order of the input."""
    write("e.csv", "src,dst,when\n" + "".join(f"{i},{i + 1},{value}\n" for i, value in enumerate(values)))
    report = gz.convert_edges("e.csv", "g.gl", time="when", index="out", **options)
    return gz.Graph("g.gl").times.tolist(), report.time_unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-02", 86400),
        ("1969-12-31", -86400),
        ("1969-12-31T23:59:59", -1),
        ("2024-02-29", 1709164800),
        ("2000-02-29T12:30", 951827400),
        ("2024-01-31T12:00:00Z", 1706702400),
        ("2024-01-31 12:00:00", 1706702400),
        ("2024-01-31t12:00:00z", 1706702400),
        ("2024-01-31T13:00:00+01:00", 1706702400),
        ("2024-01-31T07:30:00-0430", 1706702400),
        ("2024-01-31T11-01", None),
        ("2024-01-31T11:00-01", 1706702400),
        ("2024-01-31T24:00", 1706745600),
        ("2024-01-31T24:00:00.000", 1706745600),
        ("2024-01-31T12:00:00.000Z", 1706702400),
        ("2024-01-31T12:00:00.000000000000Z", 1706702400),
        ("0001-01-01", -62135596800),
        ("9999-12-31T23:59:59", 253402300799),
        ('"2024-01-31 12:00:00"', 1706702400),
        ("  2024-01-31 12:00:00  ", 1706702400),
    ],
)
def test_iso_times_of_text(text, expected):
    if expected is None:
        with pytest.raises(ValueError, match=r"line 2: expected an integer time, found '2024-01-31T11-01'"):
            times_of([text])
    else:
        assert times_of([text]) == ([expected], "s")


BAD = [
    "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-32", "2024-04-31", "0000-01-01",
    "2024-1-1", "24-01-01", "2024-01-01T", "2024-01-01T1:00", "2024-01-01T25:00", "2024-01-01T24:01",
    "2024-01-01T24:00:01", "2024-01-01T24:00:00.1", "2024-01-01T12:60", "2024-01-01T12:00:60", "2024-01-01T12:00:00.",
    "2024-01-01T12:00:00+24:00", "2024-01-01T12:00:00+1", "2024-01-01T12:00:00+01:60", "2024-01-01T12:00:00 Z",
    "2024-01-01T12:00:00Zx", "2024-01-01Z", "2024-01-01X12:00", "+2024-01-01", "20240101T00", "yesterday",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_time_is_named(text):
    found = rf"^e.csv: line 3: expected a time as in the first line, such as 2024-01-31T12:00:00Z, found '{text}'"
    with pytest.raises(ValueError, match=found.replace("+", r"\+")):
        times_of(["2024-01-01", text])


def test_text_times_are_those_of_datetime():
    rng = np.random.default_rng(0)
    texts, expected = [], []
    for _ in range(2000):
        zone = timezone(timedelta(minutes=int(rng.integers(-23 * 60, 23 * 60))))
        moment = datetime(2, 1, 1, tzinfo=zone) + timedelta(
            days=int(rng.integers(0, 365 * 9990)), microseconds=int(rng.integers(0, 86_400 * 10**6))
        )
        texts.append(moment.isoformat(sep="T" if rng.random() < 0.5 else " "))
        expected.append((moment - EPOCH) // timedelta(microseconds=1))
    assert times_of(texts, time_unit="us") == (expected, "us")


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_the_unit_of_text_times(unit, scale):
    assert times_of(["2001-09-09T01:46:40"], time_unit=unit) == ([10**9 * scale], unit)


@pytest.mark.parametrize(
    ("fraction", "given", "wanted"),
    [
        ("5", None, "ms"), ("123", None, "ms"), ("1234", None, "us"), ("123456", "ms", "us"),
        ("1234567", None, "ns"), ("123456789", "us", "ns"), ("000001", "s", "us"),
    ],
)  # fmt: skip
def test_a_fraction_of_the_unit_is_not_rounded(fraction, given, wanted):
    text = f"1969-12-31T23:59:59.{fraction}"
    with pytest.raises(ValueError, match=rf'expected a time in whole \w+, found \'{text}\'; give time_unit="{wanted}"'):
        times_of([text], time_unit=given)
    stored, _ = times_of([text], time_unit=wanted)
    scale = {"ms": 3, "us": 6, "ns": 9}[wanted]
    assert stored == [-(10**scale) + int(fraction.ljust(scale, "0"))]


def test_a_fraction_beyond_nanoseconds_is_refused():
    with pytest.raises(ValueError, match=r'found \'1970-01-01T00:00:00.0000000001\'; no time_unit is finer than "ns"'):
        times_of(["1970-01-01T00:00:00.0000000001"], time_unit="ns")


def test_a_time_that_nanoseconds_cannot_count_is_refused():
    assert times_of(["2262-04-11T23:47:16.854775807"], time_unit="ns") == ([2**63 - 1], "ns")
    for text in ("2262-04-11T23:47:16.854775808", "1600-01-01"):
        with pytest.raises(
            ValueError, match=rf'64 bits can count in nanoseconds, found \'{text}\'; give time_unit="us"'
        ):
            times_of([text], time_unit="ns")


def test_integers_stay_as_they_are():
    assert times_of([5, -3]) == ([5, -3], None)
    assert times_of([5, -3], time_unit="ms") == ([5, -3], "ms")


def test_integers_and_iso_times_do_not_mix():
    with pytest.raises(ValueError, match="line 3: expected an integer time as in the first line, found '2024-01-01'"):
        times_of([5, "2024-01-01"])
    with pytest.raises(ValueError, match="line 3: expected a time as in the first line, such as .*, found '5'"):
        times_of(["2024-01-01", 5])
    write("a.csv", "src,dst,t\n0,1,2024-01-01\n")
    write("b.csv", "src,dst,t\n0,1,5\n")
    for first, second, wanted in (("a", "b", "ISO 8601 times"), ("b", "a", "integers")):
        found = rf"{second}.csv: time: line 2: expected {wanted}, as in {first}.csv, found"
        with pytest.raises(ValueError, match=found):
            gz.convert_edges([f"{first}.csv", f"{second}.csv"], "g.gl", time="t")


def test_bad_times_can_be_skipped():
    times, _ = times_of(["2024-02-29", "2023-02-29", "1970-01-01"], bad_lines="skip")
    assert times == [1709164800, 0]


def test_times_beside_labels_and_in_streams():
    lines = "src,dst,when\nzoe,adam,1970-01-01T00:00:07Z\nadam,zoe,1970-01-01\n"
    gz.convert_edges(write("e.csv", lines), "g.gl", time="when", index="out")
    assert gz.Graph("g.gl").times.tolist() == [0, 7]
    with open("e.csv", "rb") as stream:
        report = gz.convert_edges(stream, "g.gl", time="when", ids="g.gi", index="out")
    assert (gz.Graph("g.gl").times.tolist(), report.time_unit) == ([0, 7], "s")
    gz.convert_edges(write("e.csv", "src,dst,when\n5,3,1970-01-02\n"), "g.gl", time=2, ids="map")
    assert gz.Graph("g.gl").times.tolist() == [86400]


def test_a_header_above_times_by_position():
    gz.convert_edges(write("e.csv", "a,b,c\nzoe,adam,1970-01-02\n"), "g.gl", time=2)
    assert gz.Graph("g.gl").times.tolist() == [86400]
    with pytest.raises(ValueError, match="cannot tell whether the first line, zoe, adam, 1970-01-02, is a header"):
        gz.convert_edges(write("e.csv", "zoe,adam,1970-01-02\nadam,zoe,1970-01-03\n"), "g.gl", time=2)


def test_many_lines_with_blanks_in_their_times():
    count = 50_000
    write("e.csv", "".join(f"{i},{i + 1},{EPOCH + timedelta(seconds=i):%Y-%m-%d %H:%M:%S},x\n" for i in range(count)))
    gz.convert_edges("e.csv", "g.gl", time=2, index="out", header=False)
    assert gz.Graph("g.gl").times.tolist() == list(range(count))


def test_timestamps_of_tables_keep_their_unit():
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"src": [0], "dst": [1], "t": pa.array([5], pa.timestamp(unit, "UTC"))})
        assert gz.convert_edges(table, "g.gl", time="t").time_unit == unit
        assert gz.Graph("g.gl").times.tolist() == [5]


@pytest.mark.parametrize(
    ("kind", "count", "unit", "expected"),
    [
        (pa.timestamp("s"), -5, "ms", -5000),
        (pa.timestamp("ns"), 7_000_000_000, "s", 7),
        (pa.timestamp("us", "Europe/Berlin"), -3_000_000, "ms", -3000),
        (pa.date32(), 2, "s", 172_800),
        (pa.date64(), 86_400_000, "us", 86_400_000_000),
        (pa.int64(), 5, "ms", 5),
    ],
)
def test_timestamps_of_tables_in_another_unit(kind, count, unit, expected):
    table = pa.table({"src": [0], "dst": [1], "t": pa.array([count], kind)})
    pa.parquet.write_table(table, "t.parquet")
    for source in (table, "t.parquet"):
        report = gz.convert_edges(source, "g.gl", time="t", time_unit=unit)
        assert (gz.Graph("g.gl").times.tolist(), report.time_unit) == ([expected], unit)


def test_timestamps_of_tables_are_not_rounded():
    table = pa.table({"src": [0, 1], "dst": [1, 0], "t": pa.array([1000, 1500], pa.timestamp("ms"))})
    found = r"Table: row 1: expected a time in whole 's', found 1970-01-01T00:00:01.500; give time_unit='ms'"
    with pytest.raises(ValueError, match=found):
        gz.convert_edges(table, "g.gl", time="t", time_unit="s")
    far = pa.table({"src": [0], "dst": [1], "t": pa.array([2**40], pa.timestamp("s"))})
    with pytest.raises(
        ValueError, match=r"row 0: expected a time that 64 bits can count in 'ns', found .*time_unit='s'"
    ):
        gz.convert_edges(far, "g.gl", time="t", time_unit="ns")


def test_files_of_two_units_need_one():
    for unit in ("s", "ms"):
        table = pa.table({"src": [0], "dst": [1], "t": pa.array([0], pa.timestamp(unit))})
        pa.parquet.write_table(table, f"{unit}.parquet", coerce_timestamps=None)
    pa.parquet.write_table(pa.table({"src": [0], "dst": [1], "t": pa.array([0], pa.timestamp("us"))}), "us.parquet")
    with pytest.raises(
        ValueError, match=r"us.parquet: expected times of one unit, as in ms.parquet, ms, found us; give"
    ):
        gz.convert_edges(["ms.parquet", "us.parquet"], "g.gl", time="t")
    assert gz.convert_edges(["ms.parquet", "us.parquet"], "g.gl", time="t", time_unit="us").time_unit == "us"


def test_what_a_time_unit_needs():
    write("e.csv", "0,1,5\n")
    with pytest.raises(ValueError, match=r"^time_unit: expected time=, which has times, found none$"):
        gz.convert_edges("e.csv", "g.gl", time_unit="s")
    with pytest.raises(ValueError, match=r"^time_unit: expected 's', 'ms', 'us' or 'ns', found 'm'$"):
        gz.convert_edges("e.csv", "g.gl", time=2, time_unit="m")
    when = np.array(["2024-01-01"], "datetime64[ns]")
    with pytest.raises(ValueError, match="time_unit: expected a text or a table, whose times can be told"):
        gz.convert_edges(([0], [1], None, when), "g.gl", time_unit="s")
