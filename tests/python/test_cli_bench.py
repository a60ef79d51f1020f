"""``graphzero bench``: what the verb prints and writes, what it refuses, and how it ends."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphzero as gz
from bench_documents import part, row
from graphzero.bench import html_report, plan
from graphzero.cli import bench_table
from graphzero.cli.command import run as run_command

# For parts that know no caps: less than the smallest budget would do.
SMALLER = dataclasses.replace(
    plan.QUICK, nodes=2000, edges=10_000, features=16, sampled_batches=2, sampled_seeds=64, starts=500,
    gathered_rows=2000, converted_edges=5000, seconds=0.05, patience=60.0, batch_size=8,
)  # fmt: skip


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the verb on little data and returns its exit code, its output and its errors."""
    monkeypatch.setattr(plan, "QUICK", SMALLER)
    for name in ("RIVALS_PYTHON", "GRAPHZERO02_PYTHON"):
        monkeypatch.delenv(name, raising=False)

    def of(*arguments):
        code = run_command(["bench", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return of


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "walks,talks"], "--only: expected some of sampling,walks,gather,conversion,batches,training, found 'talks'"),
        (["--memory-caps", "much"], "--memory-caps: expected percents from 1 to 100 such as 20,10, found 'much'"),
        (["--memory-caps", "20,0"], "--memory-caps: expected percents from 1 to 100 such as 20,10, found '20,0'"),
        (["--quick", "--rivals", "no-python"], "no-python: expected a Python to run, found No such file or directory"),
        (["--quick", "--rivals", "/bin/false"], "/bin/false: expected a Python to run, found exit code 1"),
        (["full"], "full: expected a data set folder (graphzero.json), or one that is empty or does not exist; graphzero convert makes one of your data"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_told_in_a_line(command, arguments, message):
    os.mkdir("full")
    Path("full/file").touch()
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_a_disk_that_is_too_full_is_told_before(command, monkeypatch):
    monkeypatch.setattr(plan, "FULL", dataclasses.replace(plan.FULL, nodes=10**15))
    code, out, err = command()
    assert (code, out) == (2, "")
    assert re.search(
        r"expected \d+\.\d PB free on this disk .* found .*; run it in another folder, or with --quick\n", err
    )
    assert os.listdir() == []


def test_data_of_several_types_is_refused(command):
    gz.synthesize("mag", preset="tiny", hetero=True).close()
    code, _, err = command("mag")
    assert code == 2
    assert "mag: expected a data set with one type of node and of edge, found several" in err


def test_json_is_the_document_alone_and_the_folder_is_kept(command):
    code, out, err = command("kept", "--quick", "--only", "walks", "--threads", "1", "--json")
    document = json.loads(out)
    assert (code, document["graphzero_bench"], document["settings"]["threads"]) == (0, 1, 1)
    assert [part["name"] for part in document["parts"]] == ["walks"]
    assert "measuring takes about" in err
    assert os.listdir() == ["kept"]
    code, out, _ = command("kept", "--quick", "--only", "walks", "--json")
    assert (code, json.loads(out)["data"]["seconds_to_make"]) == (0, None)


def test_tables_are_plain_text_in_a_pipe(command):
    code, out, _ = command("--quick", "--only", "conversion")
    lines = out.splitlines()
    assert code == 0
    assert lines[1].startswith("Converting an edge list (")
    assert lines[2].split("  ")[1] == "task"
    assert any(line.split()[:4] == ["text", "to", "graph", "graphzero"] and "edges/s" in line for line in lines)
    assert "  GraphZero 0.2: not installed" in lines
    assert "With --output DIR" in lines[-1]


def test_output_writes_json_and_html(command):
    code, out, _ = command("--quick", "--only", "walks", "--output", "out/here", "--html", "report.html")
    assert code == 0
    assert json.loads(Path("out/here/bench.json").read_text())["quick"] is True
    assert Path("out/here/bench.html").read_text() == Path("report.html").read_text()
    assert "<h2>Random walks</h2>" in Path("report.html").read_text()
    assert "With --output" not in out


def test_a_report_without_jinja2_is_refused_before_anything_is_measured(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    html_report.environment.cache_clear()
    code, out, err = command("--quick", "--output", "out")
    assert (code, out) == (2, "")
    assert err.startswith("graphzero: the HTML report needs Jinja2: pip install 'graphzero[bench]' (")
    assert os.listdir() == []


def test_the_last_lines_name_the_rivals_with_their_versions(capsys):
    rows = [row("in RAM", "graphzero", 78.0, "batches/s")]
    rows.append(row("in RAM", "PyG NeighborLoader", 6.0, "batches/s", rival="PyG 2.8.1 with pyg-lib 0.5.0"))
    bench_table.print_headlines({"parts": [part("batches", "Batches", "?", rows)]})
    told = "Batches: in RAM, 78.0 batches/s, beside PyG NeighborLoader"
    assert capsys.readouterr().out == f"\nIn short\n  13× the speed of PyG 2.8.1 with pyg-lib 0.5.0 ({told})\n"
    bench_table.print_headlines({"parts": []})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (2.345, "2.35 x/s"),
        (23.45, "23.4 x/s"),
        (2345, "2.3 k x/s"),
        (33.4e6, "33.4 M x/s"),
        (2e9, "2.0 G x/s"),
    ],
)
def test_rates_are_written_as_people_would(value, text):
    assert bench_table.rate_text(value, "x/s") == text


def test_ctrl_c_removes_the_data_and_ends_children(tmp_path):
    script = (
        "import dataclasses, sys\nfrom graphzero.bench import plan\nfrom graphzero.cli.command import main\n"
        "plan.QUICK = dataclasses.replace(plan.QUICK, nodes=2000, edges=10_000, features=16, starts=500, seconds=60.0)\n"
        "sys.exit(main(['bench', '--quick', '--only', 'walks']))\n"
    )
    # A run is at its first child when the children's clock runs: that one would walk for a minute.
    running = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not children_in(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children_in(tmp_path)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors.splitlines()[-1]) == (130, "graphzero: interrupted")
    assert list(tmp_path.glob("graphzero-bench-*")) == []
    assert children_in(tmp_path) == []


def children_in(folder):
    """Processes whose command names a file of ``folder``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/graphzero-bench-" in words:
            found.append(words)
    return found
