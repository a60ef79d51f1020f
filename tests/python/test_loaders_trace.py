"""What the core's threads do is seen in the trace of a profile, at the right time."""

import gzip
import itertools
import json
import os
import pathlib
import pickle
import time
from collections import Counter

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

from data_sets import pyg
from faults import run
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import write_homogeneous

pyg()

SAMPLE, BEGIN, ASSEMBLE, READ, FILL = (f"graphzero.{name}" for name in ("sample", "begin", "assemble", "read", "fill"))
NUM_BATCHES = 9
# torch's own clock is the processor's, fitted to the system's: microseconds between them.
SLACK = 200


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


def make_loader(data, **options):
    given = {"batch_size": 10, "threads": 2, "memory": "60MB", "reader": "direct", "cache": 0, "seed": 1}
    return NeighborLoader(data.dataset, [4, 3], "train", **{**given, **options})


def profiled(path, *loaders):
    """An epoch of each in one profile, whose trace is written."""
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for loader in loaders:
            assert len(list(loader)) == NUM_BATCHES
    found.export_chrome_trace(str(path))
    return path


def events_of(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)["traceEvents"]


def stages_of(path):
    return [event for event in events_of(path) if event.get("cat") == "graphzero"]


def span(event):
    return event["ts"], event["ts"] + event["dur"]


def thread_names(path):
    found = stages_of(path)
    threads = {(event["pid"], event["tid"]) for event in found}
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events_of(path)
        if event["name"] == "thread_name" and (event["pid"], event["tid"]) in threads
    }


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_stages_of_every_batch_are_added(data, tmp_path, name):
    loader = make_loader(data)
    path = profiled(tmp_path / name, loader)
    before = events_of(path)
    loader.add_stages(path)
    after = events_of(path)
    assert after[: len(before)] == before
    assert os.listdir(tmp_path) == [name]
    found = stages_of(path)
    assert {event["name"] for event in found} == {SAMPLE, BEGIN, ASSEMBLE, READ}
    assert {event["pid"] for event in found} == {os.getpid()}
    for stage in (SAMPLE, BEGIN):
        batches = [event["args"]["batch"] for event in found if event["name"] == stage]
        assert sorted(batches) == list(range(NUM_BATCHES))
    # The ids, and rows of x, y, time and edge_attr that are cached; then those that are not.
    batches = Counter(event["args"]["batch"] for event in found if event["name"] == ASSEMBLE)
    assert set(batches) == set(range(NUM_BATCHES))
    assert all(5 <= count <= 9 for count in batches.values())
    assert all(1 <= event["args"]["reads in flight"] <= 128 for event in found if event["name"] == READ)


def test_stages_lie_in_the_profile_and_in_the_waits_for_their_batches(data, tmp_path):
    loader = make_loader(data, ahead=1)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(str(path))
    (profile_span,) = [span(event) for event in events_of(path) if event.get("cat") == "Trace"]
    waits = sorted(span(event) for event in events_of(path) if event["name"] == "graphzero.wait")
    assert len(waits) == NUM_BATCHES + 1
    found = stages_of(path)
    for event in found:
        begin, end = span(event)
        assert profile_span[0] - SLACK <= begin <= end <= profile_span[1] + SLACK
    # Nothing is made before the first wait, which ends with batch 0; and each batch is made before its wait ends.
    for event in found:
        begin, end = span(event)
        assert begin >= waits[0][0] - SLACK
        if "batch" in event["args"]:
            assert end <= waits[event["args"]["batch"]][1] + SLACK
    assert any(event["name"] == READ and span(event)[1] <= waits[0][1] + SLACK for event in found)


def test_rows_through_the_page_cache_need_no_reader(data, tmp_path):
    loader = make_loader(data, reader="mmap", cache=None)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    assert {event["name"] for event in stages_of(path)} == {SAMPLE, BEGIN, ASSEMBLE}
    assert "graphzero reader" not in thread_names(path).values()


def test_stages_of_a_batch_follow_each_other(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    for batch in range(NUM_BATCHES):
        ours = [event for event in stages_of(path) if event["args"].get("batch") == batch]
        (sampled,) = [span(event) for event in ours if event["name"] == SAMPLE]
        (begun,) = [span(event) for event in ours if event["name"] == BEGIN]
        assembled = [span(event) for event in ours if event["name"] == ASSEMBLE]
        assert sampled[1] <= begun[0]
        assert begun[1] <= min(assembled)[0]


def test_stages_of_one_thread_do_not_overlap(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    by_thread = {}
    for event in stages_of(path):
        by_thread.setdefault(event["tid"], []).append(span(event))
    assert len(by_thread) >= 2
    for spans in by_thread.values():
        spans.sort()
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert end <= begin + 0.01


def test_threads_have_names(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    names = thread_names(path)
    for event in stages_of(path):
        name = names[event["pid"], event["tid"]]
        if event["name"] == READ:
            assert name == "graphzero reader"
        else:
            assert name in ("graphzero worker 0", "graphzero worker 1")
    others = {event["tid"] for event in events_of(path) if event.get("cat") not in ("graphzero", None)}
    assert not others & {thread for _, thread in names}


def test_a_second_call_adds_nothing(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    once = path.read_bytes()
    loader.add_stages(path)
    assert path.read_bytes() == once


def test_two_loaders_share_a_trace(data, tmp_path):
    nodes, more = make_loader(data), make_loader(data, seed=2)
    path = profiled(tmp_path / "trace.json", nodes, more)
    nodes.add_stages(path)
    first = {event["tid"] for event in stages_of(path)}
    more.add_stages(path)
    both = stages_of(path)
    assert {event["tid"] for event in both} > first
    assert len([event for event in both if event["name"] == SAMPLE]) == 2 * NUM_BATCHES
    assert sorted(thread_names(path).values()).count("graphzero reader") == 2


def test_each_trace_gets_the_stages_of_its_own_time(data, tmp_path):
    loader = make_loader(data, shuffle=True)
    first = profiled(tmp_path / "first.json", loader)
    assert len(list(loader)) == NUM_BATCHES
    second = profiled(tmp_path / "second.json", loader)
    for path in (second, first):
        loader.add_stages(path)
        samples = [event for event in stages_of(path) if event["name"] == SAMPLE]
        assert sorted(event["args"]["batch"] for event in samples) == list(range(NUM_BATCHES))
    assert max(map(span, stages_of(first))) < min(map(span, stages_of(second)))


def test_a_schedule_writes_one_trace_after_the_other(data, tmp_path):
    loader = make_loader(data, ahead=1)
    paths = []

    def write(found):
        paths.append(tmp_path / f"{len(paths)}.json")
        found.export_chrome_trace(str(paths[-1]))
        loader.add_stages(paths[-1])

    steps = schedule(wait=1, warmup=1, active=2, repeat=2)
    # It warns of what it forgets between two traces, unless it is asked to keep it.
    options = {"activities": [ProfilerActivity.CPU], "on_trace_ready": write, "acc_events": True}
    with profile(schedule=steps, **options) as found:
        for _ in loader:
            time.sleep(0.002)
            found.step()
    assert len(paths) == 2
    for path in paths:
        begin, end = max(span(event) for event in events_of(path) if event.get("cat") == "Trace")
        assert 0 < len({event["args"].get("batch") for event in stages_of(path)}) < NUM_BATCHES
        for event in stages_of(path):
            assert span(event)[0] <= end + SLACK
            assert span(event)[1] >= begin - SLACK


def test_links_are_traced_as_well(data, tmp_path):
    loader = LinkNeighborLoader(data.dataset, [4], edge_label_index="held out", batch_size=20, threads=1, seed=1)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        batches = len(list(loader))
    found.export_chrome_trace("trace.json")
    loader.add_stages("trace.json")
    assert len([event for event in stages_of("trace.json") if event["name"] == SAMPLE]) == batches > 1


def test_a_closed_loader_still_tells(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.close()
    loader.close()
    loader.add_stages(path)
    assert len([event for event in stages_of(path) if event["name"] == SAMPLE]) == NUM_BATCHES


def test_nothing_is_logged_without_a_profiler(data, tmp_path):
    loader = make_loader(data)
    assert len(list(loader)) == NUM_BATCHES
    assert len(loader._feed.pipeline._stages().begin) == 0
    profiled(tmp_path / "trace.json", loader)
    logged = len(loader._feed.pipeline._stages().begin)
    assert logged > NUM_BATCHES
    assert len(list(loader)) == NUM_BATCHES
    assert len(loader._feed.pipeline._stages().begin) == logged


def test_a_copy_of_a_loader_has_a_log_of_its_own(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.add_stages(path)
    copy = pickle.loads(pickle.dumps(loader))
    with pytest.raises(ValueError, match="no stage of this loader"):
        copy.add_stages(path)


@pytest.mark.no_tsan
def test_a_forked_child_has_a_log_of_its_own(data, tmp_path):
    """Whatever the parent's threads held of theirs."""
    code = f"""
    import json, os, warnings, graphzero as gz
    warnings.simplefilter("ignore")
    data = gz.open("{data.dataset.path}")
    pipeline = gz.Pipeline(data, "train", [4, 3], batch_size=10, memory="60MB", reader="direct", cache=0, threads=2)
    pipeline._log_stages(True)
    codes = []
    for batch in pipeline:
        pid = os.fork()
        if pid == 0:
            del batch
            before = len(pipeline._stages().begin)
            pipeline._log_stages(True)
            pipeline.set_epoch(1)
            batches = len(list(pipeline))
            samples = list(pipeline._stages().stage).count(gz._core.Stage.SAMPLE.value)
            os._exit(0 if before == 0 and samples == batches == {NUM_BATCHES} else 9)
        codes.append(os.waitpid(pid, 0)[1])
    print(json.dumps([codes, list(pipeline._stages().stage).count(gz._core.Stage.SAMPLE.value)]))
    """
    assert run(code) == [[0] * NUM_BATCHES, NUM_BATCHES]


def test_the_trace_keeps_who_may_read_it(data, tmp_path):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    path.chmod(0o604)
    loader.add_stages(path)
    assert path.stat().st_mode & 0o777 == 0o604


def test_dropped_stages_are_told(data, tmp_path, caplog):
    from dataclasses import replace

    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    loader.close()
    loader._closed_stages = replace(loader._closed_stages, dropped=7)
    loader.add_stages(path)
    assert "the 7 oldest stages of the loader were dropped; profile fewer batches" in caplog.text


def test_a_trace_that_is_not_there(data, tmp_path):
    loader = make_loader(data)
    wanted = f"path: expected a trace that export_chrome_trace\\(\\) wrote, found no file '{tmp_path}/nowhere.json'"
    with pytest.raises(FileNotFoundError, match=wanted):
        loader.add_stages(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "found no JSON: Expecting value: line 1 column 1"),
        (b'{"traceEvents": [', "found no JSON: Expecting value: line 1 column 18"),
        (b"\x1f\x8b\x08 no more of it", "found no JSON: "),
        (gzip.compress(b'{"traceEvents": []}')[:-9], "found no JSON: Compressed file ended"),
        (b"\xff\xfe{", "found no JSON: "),
        (b"[]", "found no list of 'traceEvents'"),
        (b'{"traceEvents": 3}', "found no list of 'traceEvents'"),
        (b'{"traceEvents": [3]}', "found no list of 'traceEvents'"),
    ],
)
def test_a_file_that_is_no_trace_is_left_alone(data, tmp_path, content, found):
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"trace.json: expected a trace that export_chrome_trace\\(\\) wrote, {found}"):
        make_loader(data).add_stages(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["trace.json"]


@pytest.mark.parametrize("case", ["outside", "another profile", "empty"])
def test_nothing_logged_in_the_time_of_the_trace(data, tmp_path, case):
    loader = make_loader(data)
    path = tmp_path / "trace.json"
    if case == "outside":
        assert len(list(loader)) == NUM_BATCHES
    else:
        profiled(tmp_path / "other.json", loader)
        time.sleep(0.01)
    if case == "empty":
        path.write_text('{"traceEvents": []}')
    else:
        with profile(activities=[ProfilerActivity.CPU]) as found:
            torch.ones(1)
        found.export_chrome_trace(str(path))
    before = path.read_bytes()
    wanted = "no stage of this loader was logged in the time of the trace; iterate over the loader inside the profile"
    with pytest.raises(ValueError, match=f"trace.json: {wanted}"):
        loader.add_stages(path)
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_trace_as_it_was(data, tmp_path, monkeypatch):
    loader = make_loader(data)
    path = profiled(tmp_path / "trace.json", loader)
    before = path.read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        loader.add_stages(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["trace.json"]


@pytest.mark.parametrize(
    ("device", "is_initialized", "expected"),
    [("cuda", True, ["push a", "pop"]), ("cuda", False, []), ("cpu", True, []), (None, True, [])],
)
def test_ranges_of_a_cuda_device_are_seen_by_nvtx(monkeypatch, device, is_initialized, expected):
    from graphzero.loaders._device.ranges import stage

    calls = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: is_initialized)
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda name: calls.append(f"push {name}"))
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: calls.append("pop"))
    for error in (None, KeyError):
        calls.clear()
        with profile(activities=[ProfilerActivity.CPU]) as found:
            try:
                with stage("a", None if device is None else torch.device(device)):
                    if error is not None:
                        raise error
            except KeyError:
                assert error is KeyError
        assert calls == expected
        assert [event.key for event in found.key_averages()] == ["a"]


def test_all_that_a_loader_does_is_a_range_of_its_device(data, monkeypatch):
    from contextlib import nullcontext

    seen = []
    for module in ("_epoch.feed", "loader"):
        monkeypatch.setattr(
            f"graphzero.loaders.{module}.stage", lambda name, device: nullcontext(seen.append((name, str(device))))
        )
    assert len(list(make_loader(data, device="meta", transform=lambda batch: batch, batch_size=90))) == 1
    names = ("wait", "collate", "copy", "form", "transform")
    assert set(seen) == {(f"graphzero.{name}", "meta") for name in names}
