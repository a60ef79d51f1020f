"""Zero bytes of RAM is a thing the user can check."""

import os
import subprocess
import sys

import numpy as np
import pytest

import faults
import graphzero as gz
from graphzero import _core
from graphzero._base.memory_sizes import conversion_budget
from graphzero._tools.page_cache import drop_from_page_cache
from systems import NO_CALLS, NO_MODES, posix_only


@pytest.mark.no_tsan
def test_the_report_counts_what_the_process_owns(tmp_path):
    before = gz.memory_report()
    ballast = np.ones(100_000_000, dtype=np.uint8)
    after = gz.memory_report()
    assert ballast.size
    assert 95e6 < after.anonymous - before.anonymous < 120e6
    assert 0 < after.ram_available < after.ram_total


def test_the_report_tells_page_cache_from_memory(tmp_path):
    gz.write_features("x.gd", np.ones((200_000, 64), dtype=np.float32))  # 51 MB
    fs = gz.FeatureStore("x.gd")
    drop_from_page_cache("x.gd")
    cold = fs.memory_report()
    assert cold.files[0].path == "x.gd"
    assert cold.files[0].size == fs.nbytes
    assert cold.files[0].resident < 2e6
    fs.get_tensor(access="sequential").sum()
    warm = fs.memory_report()
    assert warm.files[0].resident > 51e6
    assert warm.file_backed - cold.file_backed > 45e6
    assert warm.anonymous - cold.anonymous < 2e6
    assert fs.resident_bytes() == warm.files[0].resident


def test_random_access_reads_only_the_pages_it_touches(tmp_path):
    """A default mapping would read megabytes around each of them."""
    gz.write_features("x.gd", np.ones((200_000, 64), dtype=np.float32))
    drop_from_page_cache("x.gd")
    fs = gz.FeatureStore("x.gd")
    for view in (fs.get_tensor(), fs.get_tensor(writable=False)):
        drop_from_page_cache("x.gd")
        view[::20_000].sum()
    for row in range(0, 200_000, 20_000):
        fs.get_data(row)
    assert fs.resident_bytes() < 60 * 4096


def test_all_mounted_files_are_listed_until_closed(tiny_gl, tiny_gd):
    g, fs = gz.Graph(tiny_gl), gz.FeatureStore(tiny_gd)
    listed = [file.path for file in gz.memory_report().files]
    assert tiny_gl in listed
    assert tiny_gd in listed
    g.close()
    del fs
    listed = [file.path for file in gz.memory_report().files]
    assert tiny_gl not in listed
    assert tiny_gd not in listed


def test_the_report_reads_well(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    text = str(fs.memory_report())
    assert "anonymous memory" in text
    assert f"{tiny_gd}: 8.2 kB of 8.2 kB in the page cache" in text


@posix_only(reason=NO_MODES)
def test_files_of_others_are_not_claimed_to_be_resident(tmp_path):
    """The kernel answers mincore with 'all resident' for files we could not write."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    gz.write_features("x.gd", [1.0])
    os.chmod("x.gd", 0o644)
    code = """
import os, graphzero as gz
fs = gz.FeatureStore("x.gd")
os.seteuid(65534)
print(fs.resident_bytes(), "unknown" in str(fs.memory_report()))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "None True\n"


@pytest.mark.parametrize("kind", ["gd", "gl"])
def test_opening_a_huge_file_takes_no_memory(tmp_path, kind):
    from sparse import write_sparse_gd, write_sparse_gl

    torch = pytest.importorskip("torch")
    if kind == "gd":
        write_sparse_gd("huge.gd", shape=(39_000_000, 128), dtype="float32")  # 20 GB
    else:
        write_sparse_gl("huge.gl", num_nodes=1 << 26, num_edges=1 << 30)  # 5 GB
    gz.memory_report()
    before = gz.memory_report().anonymous
    if kind == "gd":
        store = gz.FeatureStore("huge.gd")
        tensor = torch.from_numpy(store.get_tensor())
        assert tensor[38_999_999].sum() == 0
    else:
        store = gz.Graph("huge.gl")
        tensor = store.indptr
        assert store.get_degree((1 << 26) - 1) == 1 << 30
    assert gz.memory_report().anonymous - before < 1_000_000
    assert tensor.shape[0] > 1


def test_a_60_gb_tensor_maps_on_a_smaller_machine(tmp_path):
    from sparse import write_sparse_gd

    torch = pytest.importorskip("torch")
    write_sparse_gd("huge.gd", shape=(120_000_000, 128), dtype="float32")
    fs = gz.FeatureStore("huge.gd")
    tensor = torch.from_numpy(fs.get_tensor())
    tensor[119_999_999] = 7
    assert tensor[119_999_999, 127] == 7
    assert fs.get_data(119_999_999)[127] == 0


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_memory_cgroup_limit_is_seen_and_respected(tmp_path):
    from cgroups import limited_to

    gz.write_features("x.gd", np.ones((400_000, 128), dtype=np.float32))  # 205 MB
    code = """
import graphzero as gz, numpy as np
fs = gz.FeatureStore("x.gd")
total = fs.get_tensor(access="sequential").sum(dtype=np.float64)
report = gz.memory_report()
print(int(total), report.cgroup_limit, report.cgroup_used <= report.cgroup_limit)
"""
    out = subprocess.run(
        limited_to(120 << 20, [sys.executable, "-c", code]), capture_output=True, text=True, check=True
    )
    assert out.stdout == f"51200000 {120 << 20} True\n"


def gigabytes(count):
    return int(count * 1e9)


@pytest.mark.parametrize(
    ("available", "budget"),
    [(gigabytes(3), gigabytes(1.5)), (gigabytes(100), gigabytes(8)), (0, 64 << 20)],
)
def test_conversions_hold_half_of_what_is_available_and_8_gb(monkeypatch, available, budget):
    monkeypatch.setattr(_core, "available_memory", lambda: available)
    assert conversion_budget() == budget
    assert conversion_budget("2GB") == gigabytes(2)


def test_every_conversion_asks_what_is_available(monkeypatch, tiny_gl, tiny_gd):
    asked = []
    monkeypatch.setattr(_core, "available_memory", lambda: asked.append(True) or gigabytes(1))
    for job in (
        lambda: gz.convert_edges(([0], [1]), "g.gl"),
        lambda: gz.convert_features([[1.0]], "x.gd"),
        lambda: gz.reorder(tiny_gd, "y.gd", order=[3, 1, 2, 0]),
        lambda: gz.synthesize("made", 100, 200),
        lambda: gz.write_graph("w.gl", [0], [1]),
        lambda: gz.ids.IdBuilder("i.gi", "integer").finish(),
    ):
        asked.clear()
        job()
        assert asked


@pytest.mark.no_asan  # both sanitizers read /proc
@pytest.mark.no_tsan
@posix_only(reason=NO_CALLS)
def test_without_proc_a_default_budget_comes_from_what_the_kernel_says_is_free(tmp_path):
    code = """
    import json
    import graphzero as gz
    from graphzero._base.memory_sizes import pipeline_budget
    gz.write_graph("g.gl", [0, 1, 2], [1, 2, 0])
    gz.write_features("x.gd", [[0.0], [1.0], [2.0]])
    batches = gz.Pipeline(gz.Graph("g.gl"), [0, 1], [2], features=gz.FeatureStore("x.gd"), batch_size=2)
    report = gz.memory_report()
    print(json.dumps([len(list(batches)), pipeline_budget(), report.ram_available, report.ram_total]))
    """
    found = faults.run(faults.NO_PROC + "\n".join(line[4:] for line in code.splitlines()))
    if found is None:
        pytest.skip("this system does not let us take /proc away")
    batches, budget, available, total = found
    assert batches == 1
    assert 0 < budget < available < total
    # What the kernel says is free does not count the page cache, which /proc/meminfo does.
    here = gz.memory_report()
    assert total == pytest.approx(here.ram_total, rel=0.01)
    assert available < here.ram_available + 1e9
