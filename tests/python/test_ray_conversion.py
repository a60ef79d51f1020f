"""A conversion on a Ray cluster writes the file of one machine, byte for byte, whatever dies meanwhile.

One cluster with two nodes serves all tests. `make test-ray` installs Ray and runs them.
"""

import gzip
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time as clock

import numpy as np
import pytest

import graphzero as gz
from graphzero.convert import ray_engine, sharded

ray = pytest.importorskip("ray", reason="needs Ray: make test-ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

# Ray's own: sockets and files that it leaves to the garbage collector.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.no_asan, pytest.mark.no_tsan]

NODE = {"num_cpus": 2, "object_store_memory": 80 << 20, "memory": 4_000_000_000}
SMALL = {"memory": "64MB"}


@pytest.fixture(scope="module")
def cluster():
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=NODE)
    made.add_node(**NODE)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def connection(cluster):
    ray.init(address=cluster.address, log_to_driver=False)


def write_edges(count=200_000, tasks=1):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 20_000, (2, count))
    edges[0, : count // 4] = 17
    np.save("edges.npy", edges)
    return os.path.getsize("edges.npy") // tasks


def same(first, second):
    return pathlib.Path(first).read_bytes() == pathlib.Path(second).read_bytes()


def waits_for(ready, goes_on=lambda: True, seconds=60):
    """Wait for what must come while the driver goes on; a machine that does much else starts processes slowly."""
    deadline = clock.monotonic() + seconds
    while not (found := ready()):
        assert goes_on(), "the driver has ended"
        assert clock.monotonic() < deadline, "it takes too long"
        clock.sleep(0.002)
    return found


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


@pytest.mark.parametrize("shards", [1, 5])
def test_the_file_is_that_of_one_machine(connection, shards):
    size = write_edges(tasks=4)
    gz.convert_edges("edges.npy", "plain.gl", duplicates="drop")
    plan = sharded.plan_shards("edges.npy", "steps", shards=shards, task_size=size, duplicates="drop")
    assert plan.num_tasks == 4
    calls = []
    found = ray_engine.run_on_ray("steps", "ray.gl", **SMALL, progress=lambda *done: calls.append(done))
    assert same("ray.gl", "plain.gl")
    assert found.num_rows == 200_000
    ends = [call for call in calls if call[0] == call[1]]
    stages = [end for at, end in enumerate(ends) if end != ends[at - 1] or at == 0]
    assert stages == [(2, 2), (4, 4), (2 * shards, 2 * shards)]


def test_no_edges_at_all(connection):
    pathlib.Path("none.csv").write_text("src,dst\n")
    gz.convert_edges("none.csv", "plain.gl", num_nodes=7)
    gz.convert_edges("none.csv", "ray.gl", num_nodes=7, shards=3, engine="ray", **SMALL)
    assert same("ray.gl", "plain.gl")
    assert sorted(os.listdir()) == ["none.csv", "plain.gl", "ray.gl"]


def test_labels_get_the_numbers_of_one_machine(connection):
    rng = np.random.default_rng(2)
    lines = "".join(f"name {a},{b * 7}\n" for a, b in rng.integers(0, 3000, (20_000, 2)).tolist())
    pathlib.Path("edges.csv").write_text(f"src,dst\n{lines}")
    gz.convert_edges("edges.csv", "plain.gl")
    plan = sharded.plan_shards("edges.csv", "steps", shards=2, task_size=len(lines) // 3)
    assert plan.num_tasks > 2
    report = ray_engine.run_on_ray("steps", "ray.gl", ids_path="names.gi", **SMALL)
    assert same("ray.gl", "plain.gl")
    assert same("names.gi", "plain.gi")
    assert report.ids_path == "names.gi"


def test_a_target_in_storage(connection, tmp_path):
    pytest.importorskip("pyarrow")
    write_edges(1000)
    gz.convert_edges("edges.npy", "plain.gl")
    target = f"file://{tmp_path}/bucket/ds"
    report = gz.convert_edges("edges.npy", target, shards=2, engine="ray", work_dir="work", **SMALL)
    assert (report.path, report.num_edges) == (target, 1000)
    assert not os.path.exists("work")
    gz.stage(target, "ds", verify="full")
    [graph] = pathlib.Path("ds").rglob("*.gl")
    assert same(graph, "plain.gl")


def processes():
    """Return parent and title of every process that can be read."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            found[int(entry.name)] = parent, (entry / "cmdline").read_bytes().decode(errors="replace").strip("\0 ")
        except OSError:
            pass  # it has ended
    return found


def test_a_node_is_killed_while_it_runs_tasks(cluster, connection):
    # Text that is compressed is not cut: each file is a task, and takes long enough to be seen.
    rng = np.random.default_rng(1)
    for name in range(6):
        lines = "".join(f"{a},{b}\n" for a, b in rng.integers(0, 20_000, (60_000, 2)).tolist())
        pathlib.Path(f"{name}.csv.gz").write_bytes(gzip.compress(b"src,dst\n" + lines.encode(), 1))
    gz.convert_edges("*.csv.gz", "plain.gl")
    plan = sharded.plan_shards("*.csv.gz", "steps", shards=3, task_size=1)
    assert plan.num_tasks == 6
    node = cluster.add_node(**{**NODE, "num_cpus": 4})
    try:
        raylet = node.all_processes["raylet"][0].process.pid
        stopped = []

        def stop_a_task():
            for process, (parent, title) in processes().items():
                if parent == raylet and title.startswith("ray::partition_edges"):
                    os.kill(process, signal.SIGSTOP)  # it stays in the middle of its task
                    if processes()[process][1].startswith("ray::partition_edges"):
                        stopped.append(process)
                        return True
                    os.kill(process, signal.SIGCONT)
            return False

        failed = []

        def convert():
            try:
                ray_engine.run_on_ray("steps", "ray.gl", **SMALL)
            except BaseException as error:
                failed.append(error)

        driver = threading.Thread(target=convert)
        driver.start()
        waits_for(stop_a_task, driver.is_alive)
        assert driver.is_alive()
        assert len(list(pathlib.Path("steps").glob("*.records"))) < 6
    finally:
        cluster.remove_node(node, allow_graceful=False)
    driver.join(60)
    assert not driver.is_alive()
    assert not failed
    assert same("ray.gl", "plain.gl")


def test_a_killed_worker_is_replaced(connection):
    size = write_edges(400_000, tasks=8)
    gz.convert_edges("edges.npy", "plain.gl")
    sharded.plan_shards("edges.npy", "steps", shards=2, task_size=size)
    driver = threading.Thread(target=ray_engine.run_on_ray, args=("steps", "ray.gl"), kwargs=SMALL)
    driver.start()

    def kill_a_task():
        for process, (_, title) in processes().items():
            if title.startswith("ray::partition_edges"):
                os.kill(process, signal.SIGKILL)
                return True
        return False

    waits_for(kill_a_task, driver.is_alive)
    driver.join(60)
    assert same("ray.gl", "plain.gl")


def test_a_killed_driver_is_resumed_by_the_same_command(cluster, connection):
    write_edges(300_000)
    gz.convert_edges("edges.npy", "plain.gl")
    command = [sys.executable, "-m", "graphzero", "convert", "edges.npy", "ray.gl", "--shards", "12"]
    command += ["--engine", "ray", "--address", cluster.address, "--memory", "64MB", "--work-dir", "work"]
    driver = subprocess.Popen(command)
    work = pathlib.Path("work")
    waits_for(lambda: len(list(work.glob("*.part"))) >= 2, lambda: driver.poll() is None)
    with pytest.raises(OSError, match="another process converts here; wait for it, or name another folder: 'work'"):
        gz.convert_edges("edges.npy", "other.gl", shards=12, work_dir="work")
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert not os.path.exists("ray.gl")
    before = {path: path.stat().st_ino for path in work.glob("*.*") if path.name != "plan.json"}
    assert len(before) >= 3
    seen = {}

    def look(done, total):
        seen.update({path: path.stat().st_ino for path in work.glob("*.part")})

    gz.convert_edges(
        "edges.npy", "ray.gl", shards=12, engine="ray", work_dir="work", **SMALL, progress=look
    )  # fmt: skip
    assert {path: seen[path] for path in before if path.suffix == ".part"}.items() <= before.items()
    assert same("ray.gl", "plain.gl")
    assert not work.exists()


def test_ctrl_c_ends_the_tasks(cluster):
    write_edges(300_000)
    command = [sys.executable, "-m", "graphzero", "convert", "edges.npy", "ray.gl", "--shards", "200"]
    command += ["--engine", "ray", "--address", cluster.address, "--memory", "64MB"]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    waits_for(lambda: list(pathlib.Path("ray.gl.steps").glob("*.part")), lambda: driver.poll() is None)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=20)
    assert driver.returncode == 130
    assert said.strip().splitlines()[-1] == "graphzero: interrupted"
    waits_for(lambda: not any("ray::compile_shard" in title for _, title in processes().values()), seconds=20)
    assert len(list(pathlib.Path("ray.gl.steps").glob("*.part"))) < 400
    assert not os.path.exists("ray.gl")


# What is wrong.


def test_an_error_of_a_task_is_that_of_the_step(connection):
    pathlib.Path("edges.csv").write_text("src,dst\n" + "0,1\n" * 50 + "4,x\n" + "2,3\n" * 50)
    with pytest.raises(ValueError) as plain:
        gz.convert_edges("edges.csv", "g.gl")
    with pytest.raises(ValueError) as found:
        gz.convert_edges("edges.csv", "g.gl", shards=2, engine="ray", **SMALL)
    assert str(found.value).endswith(str(plain.value))
    assert "ray" not in type(found.value).__module__
    assert found.value.__cause__ is None
    assert os.listdir("g.gl.steps") == ["plan.json"]


def test_an_error_of_the_system_names_the_node(connection):
    size = write_edges(1000, tasks=2)
    sharded.plan_shards("edges.npy", "steps", shards=2, task_size=size)
    os.remove("edges.npy")
    with pytest.raises(FileNotFoundError, match=rf"No such file or directory \(on node {socket.gethostname()}\): '.*e"):
        ray_engine.run_on_ray("steps", "g.gl", **SMALL)


def test_a_task_that_always_dies(connection, monkeypatch):
    write_edges(1000)
    sharded.plan_shards("edges.npy", "steps", shards=1)

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ray_engine, "_step", die)
    monkeypatch.setattr(ray_engine, "_RETRIES", 1)
    message = r"partition_edges 0: the process of this task died 2 times; the logs of Ray say more"
    with raises(ChildProcessError, message):
        ray_engine.run_on_ray("steps", "g.gl", **SMALL)


def test_a_folder_that_nodes_do_not_see(connection):
    write_edges(1000)
    os.mkdir("here")
    descriptor = os.open("here", os.O_RDONLY)
    folder = f"/proc/self/fd/{descriptor}/steps"  # a path that leads elsewhere in every other process
    try:
        sharded.plan_shards("edges.npy", folder, shards=1)
        message = (
            rf"work_dir: node .+ \(.+\): expected a folder that all nodes see under this path: {folder}; name an.*"
        )
        with raises(ValueError, message):
            ray_engine.run_on_ray(folder, "g.gl", **SMALL)
    finally:
        os.close(descriptor)
    assert os.listdir("here/steps") == ["plan.json"]


def test_another_version_on_the_nodes(connection, monkeypatch):
    write_edges(1000)
    sharded.plan_shards("edges.npy", "steps", shards=1)
    here = gz.__version__
    monkeypatch.setattr(gz, "__version__", "0.0.1")
    message = rf"work_dir: node .+: expected graphzero 0\.0\.1 on every node, as here, found {here}"
    with raises(ValueError, message):
        ray_engine.run_on_ray("steps", "g.gl", **SMALL)


def test_tasks_that_no_node_has_room_for(connection):
    write_edges(1000)
    sharded.plan_shards("edges.npy", "steps", shards=1)
    with raises(ValueError, "threads: expected at most 2, as no node of Ray has more CPUs, found 3"):
        ray_engine.run_on_ray("steps", "g.gl", threads=3)
    with raises(
        ValueError, r"memory: expected at most 3\.7 GB for a task, as no node of Ray has more .* found 8\.0 GB"
    ):
        ray_engine.run_on_ray("steps", "g.gl", memory="8GB")
    with raises(ValueError, "address: expected none, as this process is connected to a Ray cluster already"):
        ray_engine.run_on_ray("steps", "g.gl", address="auto")
