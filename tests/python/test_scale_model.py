"""The script that computes what several machines would take: its arithmetic, and that it says what is measured."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
from exchange_model import Exchange, simulate

SCRIPT = pathlib.Path(__file__).parents[2] / "bench" / "scale_model.py"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=60)


def found(*words):
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_prints_its_constants_with_their_sources_and_all_tables():
    text = run().stdout
    constants = text.split("\n\n")[0].splitlines()
    assert constants[0] == "computed, not measured; the constants:"
    assert all("measured" in line or "assumed" in line or "computed" in line for line in constants)
    assert "conversion, by its slowest part" in text
    assert "MAG240M" in text
    assert "IGB-full" in text
    assert "100 B edges" in text


def test_conversion_takes_what_its_slowest_part_takes():
    """100 B edges on ten machines of 16 cores: 7,300 core-seconds, and 11.2 TB through disks of 2.6 GB/s."""
    [row] = found("--machines", "10", "--edges", "100e9")["conversion"]
    assert row["processors"] == pytest.approx(7_300 / 160)
    assert row["disks"] == pytest.approx(11.2e12 / 26e9)
    assert row["wire_bytes"] == pytest.approx(3.2e12 * 0.9 / 10)
    assert row["seconds"] == max(row["processors"], row["disks"], row["network"])
    [faster] = found("--machines", "10", "--edges", "100e9", "--disk-rate", "1e12", "--network-rate", "1e12")[
        "conversion"
    ]
    assert faster["seconds"] == pytest.approx(7_300 / 160)


def test_the_level_follows_from_the_disk():
    levels = {
        disk: [part["training"][0]["level"] for part in found("--machines", "10", "--disk", disk)["data_sets"]]
        for disk in ("1.9e12", "1e12", "3e11", "1e11")
    }
    assert levels == {"1.9e12": [0, 0, 1], "1e12": [0, 1, 1], "3e11": [0, 1, 2], "1e11": [1, None, None]}


def test_rates_are_those_of_the_slowest_part():
    mag, igb, large = found("--machines", "1", "2")["data_sets"]
    assert mag["topology"] == 1_728_364_232 * 4 + 244_160_499 * 8
    assert mag["features"] == pytest.approx(187e9, rel=0.001)
    one, two = mag["training"]
    missed = 455_000 * (1 - one["hits"])
    assert one["level_0"] == pytest.approx(2.6e9 / (missed * 1536))
    assert one["level_1_wire_bytes"] == 0
    share = (128e9 - 16e9 - mag["topology"] - mag["features"] / 2) / mag["features"]  # RAM holds both ranges
    elsewhere = 455_000 * (1 - share / (8 / 28.4) * 0.5) / 2
    assert two["level_1_wire_bytes"] == pytest.approx(elsewhere * 1536)
    assert two["level_1"] == pytest.approx(2 / (elsewhere * 1536 / 1.9e9 + 2.2e6 / 3.1e9))
    assert two["level_0"] < 2 * one["level_0"]  # they exchange gradients
    assert one["level_1"] == one["level_0"]
    assert igb["training"][0]["hits"] < one["hits"]
    assert large["training"][0]["level_0"] == pytest.approx(0.4e6 / 475_000)  # the topology is not in RAM


def test_machines_that_are_none_are_refused():
    done = run("--machines", "0")
    assert done.returncode == 2
    assert "--machines: expected at least 1, found 0" in done.stderr


COSTS = {"rows": 1000, "row_bytes": 512, "gather_row": 1e-6, "wire_row": 2e-6, "call": 1e-3, "sample": 1e-3}


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_what_is_sent_arrives_and_what_is_asked_for_comes(ranks):
    found = simulate(Exchange(ranks, **COSTS, link=1e9), batches=20)
    assert found["sent"] == pytest.approx(found["received"])
    assert found["rows_got"] == pytest.approx(found["rows_served"])
    assert found["rows_got"] == pytest.approx(ranks * 20 * 1000)
    assert found["sent"] == pytest.approx(1000 * (ranks - 1) / ranks * (512 + 8))
    assert 0 < found["cores_busy"] <= 1


def test_one_rank_exchanges_nothing():
    alone = simulate(Exchange(1, **COSTS, train=5e-4))
    assert alone["sent"] == 0
    assert alone["rate"] == pytest.approx(1000)  # its slowest part: sampling and gathering take 1 ms each
    dear = simulate(Exchange(1, **{**COSTS, "wire_row": 1.0, "call": 1.0}, train=5e-4, link=1.0))
    assert dear["rate"] == pytest.approx(alone["rate"])
    assert simulate(Exchange(1, **COSTS, train=5e-3))["rate"] == pytest.approx(200)


@pytest.mark.parametrize("ranks", [2, 5])
def test_a_slow_link_is_all_that_counts(ranks):
    found = simulate(Exchange(ranks, rows=1000, row_bytes=512, link=1e6))
    assert found["rate"] == pytest.approx(ranks * 1e6 / found["sent"], rel=0.02)


def test_a_slow_disk_is_all_that_counts():
    found = simulate(Exchange(4, rows=1000, row_bytes=512, disk=1e6))
    assert found["rate"] == pytest.approx(4 * 1e6 / 512_000, rel=0.02)


def test_ranks_of_one_host_share_its_cores_and_use_no_link():
    costs = Exchange(4, **COSTS, ranks_per_host=4, cores=1)
    found = simulate(costs)
    assert found["sent"] == 0
    assert found["rate"] == pytest.approx(1 / found["cpu"], rel=0.02)  # one core does everything
    assert found["cpu"] == pytest.approx(1e-3 + 1e-3 + 1e-3 + 2 * 750 * 2e-6)


def test_rows_that_all_ranks_have_are_not_asked_for():
    assert simulate(Exchange(4, **COSTS, local=1.0, link=1e6))["sent"] == 0


def test_a_part_of_a_core_is_slower():
    half = simulate(Exchange(1, rows=1, row_bytes=4, sample=1e-3, cores=0.5))
    assert half["rate"] == pytest.approx(500)
    assert half["cpu"] == pytest.approx(1e-3)
    assert half["cores_busy"] == pytest.approx(1)


def test_the_simulation_is_printed_and_follows_its_closed_form():
    mag, *_ = found("--simulate", "--machines", "1", "10", "--exchange-cores", "64")["data_sets"]
    one, ten = mag["simulated"]
    assert one["rate"] == pytest.approx(mag["training"][0]["level_0"], rel=0.02)
    assert ten["sent"] == pytest.approx(mag["training"][1]["level_1_wire_bytes"] * (1536 + 8) / 1536)
    assert "simulated exchange" in run("--simulate", "--machines", "2").stdout
