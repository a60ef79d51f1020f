"""A conversion on a Ray cluster writes the file of one machine, byte for byte, whatever dies meanwhile.

One cluster with two nodes serves all tests. `make test-ray` installs Ray and runs them.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time as clock

import numpy as np
import pytest

import graphzero as gz
from graphzero._tools.cgroup import ControlGroup
from graphzero.convert import ray_engine, sharded, sharded_features
from storage_server import KEY, SECRET

ray = pytest.importorskip("ray", reason="needs Ray: make test-ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

# Ray's own: sockets and files that it leaves to the garbage collector.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.no_asan, pytest.mark.no_tsan]

NODE = {"num_cpus": 2, "object_store_memory": 80 << 20, "memory": 4_000_000_000}
SMALL = {"memory": "64MB"}


@pytest.fixture(scope="module")
def cluster(s3_server):
    with pytest.MonkeyPatch.context() as environment:  # which nodes have from the process that starts them
        for name, value in s3_server.credentials.items():
            environment.setenv(name, value)
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


def waits_for(ready, goes_on=lambda: True, seconds=120):
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


ROWS = np.random.default_rng(3).normal(size=(5000, 8))


def test_features_are_those_of_one_machine(connection):
    np.save("x.npy", ROWS)
    gz.convert_features("x.npy", "plain.gd", dtype="int8-quantised")
    report = gz.convert_features("x.npy", "ray.gd", dtype="int8-quantised", shards=5, engine="ray", **SMALL)
    assert same("ray.gd", "plain.gd")
    assert report.shape == (5000, 8)
    order = np.random.default_rng(4).permutation(5000).tolist()
    lines = [f"{i}," + ",".join(map(repr, ROWS[i].tolist())) for i in order]
    pathlib.Path("x.csv").write_text("\n".join(lines))
    options = {"dtype": "float32", "id_column": 0, "num_rows": 5010, "header": False}
    gz.convert_features("x.csv", "plain.gd", **options)
    plan = sharded_features.plan_features("x.csv", "steps", shards=3, **options)
    assert (plan.num_tasks, plan.num_parts) == (3, 3)
    report = ray_engine.run_features_on_ray("steps", "ray.gd", **SMALL)
    assert same("ray.gd", "plain.gd")
    assert report.absent_rows == 10


def test_a_bad_row_is_that_of_the_step(connection):
    pathlib.Path("x.csv").write_text("1,2\n" * 400 + "1,x\n" + "3,4\n" * 100)
    with pytest.raises(gz.FormatError, match=r"x\.csv: line 401: .*") as found:
        gz.convert_features("x.csv", "x.gd", dtype="float32", header=False, shards=4, engine="ray", **SMALL)
    assert "ray" not in type(found.value).__module__
    assert not os.path.exists("x.gd")


def test_steps_in_storage(connection, s3):
    write_edges(20_000)
    gz.convert_edges("edges.npy", "plain.gl")
    gz.convert_edges("edges.npy", "ray.gl", shards=2, engine="ray", work_dir="s3://bucket/work", **SMALL)
    assert same("ray.gl", "plain.gl")
    np.save("x.npy", ROWS)
    gz.convert_features("x.npy", "plain.gd")
    gz.convert_features(
        "x.npy", "s3://bucket/ds/x.gd", shards=3, engine="ray", work_dir="s3://bucket/ds/steps", **SMALL
    )  # fmt: skip
    gz.stage("s3://bucket/ds", "ds", verify="full")
    assert same("ds/nodes/node/x.gd", "plain.gd")


def test_steps_in_storage_that_nodes_cannot_reach(connection, s3):
    write_edges(1000)
    folder = f"s3://{KEY}:{SECRET}@bucket/steps?scheme=http&endpoint_override={s3.direct}&region=us-east-1"
    sharded.plan_shards("edges.npy", folder, shards=1)
    s3.cut()  # the way that nodes take
    try:
        message = (
            r"work_dir: node .+ \(.+\): expected a folder that it can read and write: s3://bucket/steps; found: .*"
        )
        with raises(ValueError, message) as found:
            ray_engine.run_on_ray(folder, "g.gl", **SMALL)
    finally:
        s3.mend()
    assert SECRET not in str(found.value)


def test_a_task_stays_within_its_memory(connection, monkeypatch):
    write_edges(8_000_000)
    sharded.plan_shards("edges.npy", "steps", shards=1, index="out", task_size="1GB")
    try:
        group = ControlGroup(64_000_000 + (64 << 20))  # what a worker has before is charged to another
    except PermissionError as error:
        pytest.skip(str(error))
    inside = str(group.path / "cgroup.procs")

    def held(folder, step, memory, threads):
        from graphzero._tools.cgroup import own_group
        from graphzero.convert import ray_engine

        before = own_group()[0] / "cgroup.procs"
        pathlib.Path(inside).write_text(str(os.getpid()))
        try:
            ray_engine._step(folder, step, memory, threads)
        finally:
            before.write_text(str(os.getpid()))

    monkeypatch.setattr(ray_engine, "_step", held)
    monkeypatch.setattr(ray_engine, "_RETRIES", 0)
    with group:
        with raises(ChildProcessError, "partition_edges 0: the process of this task died 1 times; .*"):
            ray_engine.run_on_ray("steps", "ray.gl", memory="1GB")  # the limit is one
        ray_engine.run_on_ray("steps", "ray.gl", **SMALL)
        assert group.usage().kills == 1
    assert sum(path.stat().st_size for path in pathlib.Path("steps").glob("*.records")) > group.limit / 2
    gz.convert_edges("edges.npy", "plain.gl", index="out")
    assert same("ray.gl", "plain.gl")


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


def test_a_node_is_killed_while_it_runs_tasks(cluster, connection, monkeypatch):
    size = write_edges(tasks=6)
    gz.convert_edges("edges.npy", "plain.gl")
    assert sharded.plan_shards("edges.npy", "steps", shards=3, task_size=size).num_tasks == 6
    node = cluster.add_node(**{**NODE, "num_cpus": 4})
    doomed, seen = node.node_id, os.path.abspath("seen")

    def held(folder, step, memory, threads):
        import time

        import ray

        from graphzero.convert import ray_engine

        if step.run.__name__ == "partition_edges":
            if ray.get_runtime_context().get_node_id() == doomed:
                pathlib.Path(seen).touch()
                time.sleep(600)  # it dies first
            # The others have four CPUs, so that two of the six tasks are on the node that dies.
            while not os.path.exists(seen):
                time.sleep(0.01)
        ray_engine._step(folder, step, memory, threads)  # of the worker, which is not replaced

    monkeypatch.setattr(ray_engine, "_step", held)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            driver = pool.submit(ray_engine.run_on_ray, "steps", "ray.gl", **SMALL)
            waits_for(lambda: os.path.exists(seen), lambda: not driver.done())
            assert len(list(pathlib.Path("steps").glob("*.records"))) < 6
        finally:
            cluster.remove_node(node, allow_graceful=False)
        driver.result(120)
    assert same("ray.gl", "plain.gl")


def test_a_killed_worker_is_replaced(connection, monkeypatch):
    size = write_edges(tasks=3)
    gz.convert_edges("edges.npy", "plain.gl")
    sharded.plan_shards("edges.npy", "steps", shards=2, task_size=size)
    tried = os.path.abspath("tried")

    def held(folder, step, memory, threads):
        import time

        from graphzero.convert import ray_engine

        if str(step) == "partition_edges 1" and not os.path.exists(tried):
            pathlib.Path(f"{tried}.new").write_text(str(os.getpid()))
            os.rename(f"{tried}.new", tried)
            time.sleep(600)  # it dies first
        ray_engine._step(folder, step, memory, threads)

    monkeypatch.setattr(ray_engine, "_step", held)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        driver = pool.submit(ray_engine.run_on_ray, "steps", "ray.gl", **SMALL)
        waits_for(lambda: os.path.exists(tried), lambda: not driver.done())
        os.kill(int(pathlib.Path(tried).read_text()), signal.SIGKILL)
        driver.result(120)
    assert same("ray.gl", "plain.gl")


# The command, with a last step that waits until its process is ended.
HELD = """
import signal, sys
from graphzero.cli.command import run
from graphzero.convert import ray_engine

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored

def held(folder, step, memory, threads):
    import time
    from graphzero.convert import ray_engine
    if str(step) == "compile_shard in 5":
        time.sleep(600)
    ray_engine._step(folder, step, memory, threads)

ray_engine._step = held
sys.exit(run(sys.argv[1:]))
"""


@contextlib.contextmanager
def held_command(cluster, work):
    """Begin a conversion to twelve parts of which all but the last are there; it is killed behind the block."""
    command = [sys.executable, "-c", HELD, "convert", "edges.npy", "ray.gl", "--shards", "6", "--engine", "ray"]
    command += ["--address", cluster.address, "--memory", "64MB", "--work-dir", str(work)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as driver:
        try:
            waits_for(lambda: len(list(work.glob("*.part"))) == 11, lambda: driver.poll() is None)
            yield driver
        finally:
            driver.kill()


def test_a_killed_driver_is_resumed_by_the_same_command(cluster, connection):
    write_edges()
    gz.convert_edges("edges.npy", "plain.gl")
    work = pathlib.Path("work")
    message = "another process converts here; wait for it, or name another folder: 'work'"
    with held_command(cluster, work), pytest.raises(OSError, match=message):
        gz.convert_edges("edges.npy", "other.gl", shards=6, work_dir="work")
    assert not os.path.exists("ray.gl")
    before = {path: path.stat().st_ino for path in work.glob("*.part")}
    seen = {}

    def look(done, total):
        seen.update({path: path.stat().st_ino for path in work.glob("*.part")})

    gz.convert_edges(
        "edges.npy", "ray.gl", shards=6, engine="ray", work_dir="work", **SMALL, progress=look
    )  # fmt: skip
    assert len(before) == 11
    assert before.items() <= seen.items()
    assert same("ray.gl", "plain.gl")
    assert not work.exists()


def test_ctrl_c_ends_the_tasks(cluster):
    write_edges()
    work = pathlib.Path("work")
    with held_command(cluster, work) as driver:
        waits_for(lambda: any("ray::compile_shard in 5" in title for _, title in processes().values()))
        driver.send_signal(signal.SIGINT)
        _, said = driver.communicate(timeout=120)
    assert driver.returncode == 130
    assert said.strip().splitlines()[-1] == "graphzero: interrupted"
    waits_for(lambda: not any("ray::compile_shard" in title for _, title in processes().values()))
    assert len(list(work.glob("*.part"))) == 11
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
