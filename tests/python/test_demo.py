"""The demo proves what it says, says what it could not prove, and leaves nothing behind."""

import dataclasses
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from rich.console import Console

from graphzero._tools import cgroup, user_scope
from graphzero._tools.cgroup import ControlGroup
from graphzero._tools.page_cache import drop_from_page_cache
from graphzero.cli.command import run
from graphzero.demo import data, opening, places, story
from graphzero.demo.data import FULL, QUICK, Sizes
from graphzero.demo.proof import Proof, Training
from graphzero.demo.table import result_table
from graphzero.demo.view import Screen, drawn
from systemd_stand_in import MAKES_SCOPES, put_systemd_run

# Sanitizers multiply the memory that a training takes, and the limit is made for one without.
pytestmark = [pytest.mark.no_asan, pytest.mark.no_tsan]

SMALL = Sizes(
    nodes=150_000,
    edges=600_000,
    features=128,
    classes=4,
    train=1_000,
    valid=200,
    test=500,
    epochs=2,
    memory=64_000_000,
    room=300_000_000,
)
TRAINING = Training(
    test_accuracy=0.9, losses=[0.5], epoch_seconds=[2.0, 4.0], batches=9, hit_rate=0.25, device_bytes=10**9,
    reader="direct", peak_anonymous=400_000_000, peak_memory=500_000_000, files_cached=0,
)  # fmt: skip


def demo(*words):
    return [sys.executable, "-m", "graphzero", "demo", *words]


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """What ``graphzero demo --quick --json`` printed."""
    folder = tmp_path_factory.mktemp("demo")
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(demo("--quick", "--json"), capture_output=True, env=environment, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(folder.glob("graphzero*")) == []
    return json.loads(done.stdout)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """--quick is quicker still, and where its files go is known."""
    monkeypatch.setattr(data, "QUICK", SMALL)
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def no_groups(monkeypatch):
    monkeypatch.setattr(cgroup, "_parents", lambda: iter([]))
    monkeypatch.setattr(user_scope, "SYSTEMD_RUN", "no-systemd-run")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """What a demo without groups and with little memory printed, and the folder it was asked to fill."""
    folder = tmp_path_factory.mktemp("kept") / "new" / "folder"
    little = dataclasses.replace(story.memory_report(), ram_available=300_000_000)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as output:
        patch.setattr(data, "QUICK", SMALL)
        patch.setattr(cgroup, "_parents", lambda: iter([]))
        patch.setattr(user_scope, "SYSTEMD_RUN", "no-systemd-run")
        patch.setattr(story, "memory_report", lambda: little)
        assert run(["demo", "--quick", "--folder", str(folder), "--json"]) == 0
    return json.loads(output.getvalue()), folder


def limited(proven):
    if proven["limit"] is None:
        pytest.skip(proven["why_no_limit"])
    return proven["limit"]


def test_json_has_every_field(proven):
    assert set(proven) == {
        "holds", "data", "budget", "software_bytes", "limit", "limited_by", "why_no_limit", "features_alone", "out_of_core", "kills",
        "loading_it_all", "in_memory", "why_not_in_memory", "same_losses", "seconds", "opening", "flipped_bit",
    }  # fmt: skip
    assert set(proven["data"]["bytes_to_load"]) == {"features", "edge_index", "csc", "total"}
    assert set(proven["out_of_core"]) == {
        "test_accuracy", "losses", "epoch_seconds", "seconds_per_epoch", "batches", "batches_per_second", "hit_rate",
        "device_bytes", "reader", "peak_anonymous", "peak_memory", "files_cached",
    }  # fmt: skip
    assert len(proven["out_of_core"]["losses"]) == QUICK.epochs


def test_training_out_of_core_is_as_good_as_in_memory_and_better_than_features_alone(proven):
    assert proven["holds"]
    assert proven["out_of_core"]["test_accuracy"] > proven["features_alone"] + 0.05
    if proven["why_not_in_memory"] is None:
        assert proven["same_losses"]
        assert proven["out_of_core"]["test_accuracy"] == proven["in_memory"]["test_accuracy"]


def test_the_group_stays_below_its_limit_and_the_limit_far_below_the_data(proven):
    limit = limited(proven)
    assert proven["out_of_core"]["peak_memory"] <= limit < proven["data"]["bytes_to_load"]["total"]
    assert proven["out_of_core"]["peak_anonymous"] < proven["data"]["bytes_to_load"]["features"]
    assert proven["kills"] == 0


def test_loading_it_all_under_the_same_limit_is_killed(proven):
    limited(proven)
    assert proven["loading_it_all"] == "killed"


def test_rows_come_past_the_page_cache(proven):
    if proven["out_of_core"]["reader"] == "mmap":
        pytest.skip("this file system reads only through the page cache")
    assert proven["out_of_core"]["files_cached"] < proven["data"]["bytes_on_disk"] / 4
    assert proven["out_of_core"]["device_bytes"] > proven["data"]["bytes_on_disk"] / 4
    assert proven["in_memory"] is None or proven["in_memory"]["reader"] == "mmap"


def test_opening_and_damage_are_shown(proven):
    assert proven["flipped_bit"].startswith("checksum of data: expected ")
    if proven["opening"] is None:
        pytest.skip("this file system has no holes")
    assert proven["opening"]["bytes"] > 60e9
    assert proven["opening"]["memory"] < 10e6


def test_a_large_file_that_cannot_be_made_is_left_out(monkeypatch):
    monkeypatch.setattr(opening, "_ROWS", 2**50)  # 2**59 bytes
    assert opening.open_large_file("hole.gd") is None
    assert not os.path.exists("hole.gd")


def test_the_full_demo_is_several_times_larger_than_its_memory():
    assert FULL.loading_bytes > 10 * FULL.memory
    needed = 300_000_000 + FULL.memory + FULL.room  # torch and PyG take 280 MB where this was written
    assert FULL.feature_bytes > 2.5 * needed


def test_sizes_of_loading_are_those_of_tensors():
    sizes = dataclasses.replace(SMALL, nodes=3, edges=5, features=2)
    x, edge_index, labels = 3 * 2 * 4, 2 * 5 * 8, 3 * 8
    row, permutation, colptr = 5 * 8, 5 * 8, 4 * 8
    assert sizes.loading_bytes == x + edge_index + labels + row + permutation + colptr


def test_without_groups_it_says_so_and_runs_under_the_budget_alone(small, no_groups, capsys):
    assert run(["demo", "--quick"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No limit by the kernel: this process may not create memory control groups (no control group" in shown
    assert "loading it all under that limit not tried" in shown
    for heading in ("1. A data set", "2. A budget", "3. Train", "4. The proof", "5. What next"):
        assert heading in shown
    assert "epoch 2/2: loss" in shown
    assert "equal to the last bit" in shown
    assert list(small.iterdir()) == []


def test_a_folder_that_is_asked_for_keeps_the_data_set_and_nothing_else(kept):
    document, folder = kept
    assert os.listdir(folder) == ["graphzero-demo"]
    assert run(["info", str(folder / "graphzero-demo"), "--json"]) == 0
    assert document["data"]["bytes_on_disk"] == sum(path.stat().st_size for path in data.files_of(str(folder)))


def test_without_groups_json_has_no_limit_but_a_reason(kept):
    document, _ = kept
    assert document["limit"] is document["limited_by"] is document["kills"] is document["loading_it_all"] is None
    assert "control groups" in document["why_no_limit"]
    assert document["why_no_limit"].endswith(", and systemd gives it no scope (no-systemd-run is not installed)")


def test_without_root_the_limit_is_set_by_the_systemd_of_the_user(small, no_groups, monkeypatch, tmp_path, capsys):
    if os.geteuid() != 0:
        pytest.skip("the stand-in for systemd makes control groups, which only root may")
    log = put_systemd_run(monkeypatch, tmp_path, MAKES_SCOPES)
    assert run(["demo", "--quick", "--folder", "kept", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["limited_by"], document["why_no_limit"], document["kills"]) == ("systemd-run --user", None, 0)
    assert document["out_of_core"]["peak_memory"] <= document["limit"]
    assert len(log.read_text().splitlines()) == 3  # a look whether it works, the training, the loading
    assert document["holds"]


def test_without_memory_for_all_of_it_the_comparison_is_left_out(kept):
    document, _ = kept
    assert document["in_memory"] is None
    assert "and 300.0 MB are available" in document["why_not_in_memory"]
    assert document["same_losses"] is None
    assert document["holds"]


def test_an_error_of_a_process_is_one_line_and_leaves_no_files(small, no_groups, capsys):
    assert run(["demo", "--quick", "--memory", "100kB"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("graphzero: --memory: expected at least ")
    assert error.count("\n") == 1
    assert list(small.iterdir()) == []


def test_without_disk_space_it_says_how_much_it_needs(small, capsys, monkeypatch):
    usage = shutil._ntuple_diskusage(10**9, 10**9 - 5_000_000, 5_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    assert run(["demo", "--quick"]) == 2
    error = capsys.readouterr().err
    assert (
        f"{small}: expected {SMALL.disk_bytes / 1e6:.1f} MB of free disk space, found 5.0 MB; --folder takes" in error
    )
    assert list(small.iterdir()) == []


def test_what_is_written_is_no_more_than_was_asked_for(small):
    data.make_data("made", SMALL, progress=False)
    assert sum(path.stat().st_size for path in data.files_of("made")) < SMALL.disk_bytes


def test_without_torch_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["demo"]) == 2
    expected = "graphzero: demo: needs torch and torch_geometric to train; pip install torch torch-geometric\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("3GB", "memory: expected less than the 921.6 MB of features, found 3GB"),
        ("much", "memory: expected a size such as '2GB' or '512MiB', found 'much'"),
    ],
)
def test_a_budget_that_proves_nothing_is_refused(memory, message, capsys):
    assert run(["demo", "--quick", "--memory", memory]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("by", "heading", "in_a_process"), [(signal.SIGTERM, "1. A data set", False), (signal.SIGINT, "3. Train", True)]
)
def test_an_interrupt_leaves_neither_files_nor_processes(by, heading, in_a_process, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        demo("--quick"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as running:
        for line in running.stdout:
            if line.startswith(heading):
                break
        deadline = time.monotonic() + 60
        while in_a_process and not processes_about(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(by)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (130, "graphzero: interrupted\n")
    assert processes_about(tmp_path) == []
    assert list(tmp_path.glob("graphzero*")) == []


def processes_about(folder):
    """Processes whose arguments name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:  # it has just ended
            continue
    return found


def a_group(limit):
    try:
        return ControlGroup(limit)
    except PermissionError as error:
        pytest.skip(str(error))


def test_loading_within_a_limit_is_not_called_killed(small):
    data.make_data("made", SMALL, progress=False)
    proof = Proof(SMALL)
    with a_group(2_000_000_000) as group:
        story._load_it_all(Screen(Console(quiet=True)), "made", proof, group)
    assert proof.loading == "ended"


def test_a_training_that_is_killed_is_an_error_that_says_so():
    with a_group(60_000_000) as group, story.start({"do": "measure_software", "torch_threads": 1}, group) as child:
        assert [event for event in story.events(child) if event is not None] == []
        assert story.how_it_ended(child) == "a process of the demo ended with signal 9"


def test_a_process_that_fails_shows_its_last_error_line():
    with story.start({"do": "train"}) as child, pytest.raises(ChildProcessError, match="missing .* required .* 'path'"):
        list(story.events(child))


def printed(table):
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_times_are_of_equal_results_only():
    proof = Proof(FULL, limit=700_000_000, kills=0, loading="killed", out_of_core=TRAINING, in_memory=TRAINING)
    assert proof.holds
    table = printed(result_table(proof))
    assert "time of an epoch" in table
    assert "3.0 s" in table
    assert "killed at 700.0 MB" in table
    for wrong in (
        dataclasses.replace(proof, in_memory=dataclasses.replace(TRAINING, test_accuracy=0.8)),
        dataclasses.replace(proof, kills=1),
    ):
        assert not wrong.holds
        assert "time" not in printed(result_table(wrong))


STEP = {
    "event": "step", "split": "train", "epoch": 0, "batch": 3, "num_batches": 9, "loss": 0.5, "accuracy": 0.75,
    "batches_per_second": 12.0, "hit_rate": 0.35, "device_bytes": 2_000_000, "files_cached": 5_000_000,
}  # fmt: skip


def watched(terminal):
    output = io.StringIO()
    screen = Screen(Console(file=output, force_terminal=terminal, width=90))
    with screen.watching(800, "limit", "starting", epochs=2) as shown:
        shown.look(anonymous=300, page_cache=100)
        shown.look(anonymous=600, page_cache=200)
        shown.tell(STEP)
    return output.getvalue()


def test_a_terminal_shows_steps_and_memory_as_they_happen():
    text = watched(terminal=True)
    assert "epoch 1/2, training: batch 3/9, loss 0.500, accuracy 0.750, 12.0 batches/s" in text
    assert "35% hits, 2.0 MB read, 5.0 MB of the files in the page cache" in text
    assert "memory: 600 B anonymous, 200 B page cache" in text


def test_elsewhere_only_the_picture_of_the_memory_is_printed():
    assert watched(terminal=False).rstrip() == f"  │▄█{' ' * 38}│ 800 B: limit; at most 800 B"


def test_a_picture_of_much_history_shows_the_peak_of_each_column():
    assert drawn([0, 8, 0, 0, 4, 2, 99, 0], ceiling=8, width=4) == "█ ▄█"


def test_files_in_memory_are_avoided(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(places, "in_memory", lambda path: path == str(tmp_path / "tmp"))
    with places.working_folder(None, 1) as path:
        assert Path(path).parent.parent == Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_in_memory_is_known():
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    for _, point, kind, *_ in mounts:
        if kind in ("tmpfs", "ext4") and os.path.isdir(point):
            assert places.in_memory(point) == (kind == "tmpfs")


def test_pages_are_dropped_and_read_again(small):
    data.make_data("made", SMALL, progress=False)
    data.read_into_page_cache("made")
    assert cached("made") > SMALL.feature_bytes
    for file in data.files_of("made"):
        drop_from_page_cache(file)
    if places.in_memory("made"):
        pytest.skip("files that are in memory only cannot be dropped")
    assert cached("made") < SMALL.feature_bytes / 10


def cached(path):
    with data.open_dataset(path) as opened:
        return sum(store.resident_bytes() or 0 for store in (opened.graph, opened.features("x"), opened.labels()))
