"""A conversion on a Ray cluster writes the file of one machine, byte for byte, whatever dies meanwhile.

One cluster with two nodes serves all tests; those that kill a node add one. `make test-ray` installs Ray and runs them.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
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

START = 120  # seconds: a machine that does much else starts processes slowly
ANSWER = 20  # seconds between a failure and what is told of it, or what goes on
# Whether a node is alive is up to Ray, which needs over 12 seconds for one that was killed, and 2 if it asks more often.
# One that answers slowly is given time: what was killed refuses connections at once.
HEALTH = {"initial_delay_ms": 1000, "period_ms": 500, "timeout_ms": 5000, "failure_threshold": 4}
NODE = {"num_cpus": 2, "object_store_memory": 80 << 20, "memory": 4_000_000_000}
SMALL = {"memory": "64MB"}


@pytest.fixture(scope="module")
def cluster(s3_server):
    with pytest.MonkeyPatch.context() as environment:  # which nodes have from the process that starts them
        for name, value in s3_server.credentials.items():
            environment.setenv(name, value)
        for name, value in HEALTH.items():
            environment.setenv(f"RAY_health_check_{name}", str(value))
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


def begun(body, *arguments, **options):
    """Call a function in a thread, which nobody waits for when a test fails, and return its future."""
    found = concurrent.futures.Future()

    def call():
        try:
            found.set_result(body(*arguments, **options))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return found


def answer(body, *arguments, **options):
    """Return or raise what a function does, which must not take long."""
    return begun(body, *arguments, **options).result(ANSWER)


def waits_for(ready, goes_on=lambda: True, seconds=START):
    """Wait for what must come while the driver goes on."""
    deadline = clock.monotonic() + seconds
    while not (found := ready()):
        assert goes_on(), "the driver has ended"
        assert clock.monotonic() < deadline, "it takes too long"
        clock.sleep(0.002)
    return found


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


@pytest.mark.parametrize("shards", [1, 3, 8])
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


def write_text(path, names, *columns):
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    pathlib.Path(path).write_text("\n".join([names, *lines, ""]))


def write_sources():
    """Write edges with a hub at each end, duplicates, loops and nodes without any edge, in several ways."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 300, 2000), rng.integers(0, 250, 2000)
    src[:500], dst[1000:1400] = 17, 3
    weights, times = rng.integers(0, 8, 2000) / 4, rng.integers(-5, 5, 2000)
    columns = [column.tolist() for column in (src, dst, weights, times)]
    write_text("edges.csv", "src,dst,w,t", *columns)
    write_text("a.csv", "src,dst,w,t", *(column[:900] for column in columns))
    write_text("b.csv", "src,dst,w,t", *(column[900:] for column in columns))
    write_text("names.csv", "src,dst", [f"name {i}" for i in columns[0]], [f"Ω{i * 7}" for i in columns[1]])
    # Only the last tasks have ids that do not fit in four bytes, so that records of both widths meet.
    wide = [*columns[1][:1500], *rng.integers(0, 2**33, 500).tolist()]
    write_text("wide.csv", "src,dst", (src % 10).tolist(), wide)
    write_text("one.csv", "src,dst", [5] * 400, [70] * 400)
    table = pyarrow.table({"src": src, "dst": dst, "w": weights, "t": pyarrow.array(times, pyarrow.timestamp("ms"))})
    parquet.write_table(table, "edges.parquet", row_group_size=150)
    parquet.write_table(table.slice(0, 900), "a.parquet", row_group_size=150)
    parquet.write_table(table.slice(0, 0), "b.parquet")
    parquet.write_table(table.slice(900), "c.parquet", row_group_size=300)


CASES = {  # the source, options, and what the graph says of itself
    "undirected": ("edges.csv", {"directed": False, "weight": "w", "duplicates": "drop"}, "undirected, .* weighted,"),
    "bipartite": ("edges.csv", {"bipartite": True, "time": "t"}, "300 → 250 nodes, .* timed,"),
    "weights and times": (
        "edges.csv",
        {"weight": "w", "time": "t", "self_loops": "drop"},
        " directed, .* weighted, timed,",
    ),
    "several texts": (["b.csv", "a.csv"], {"weight": "w", "duplicates": "drop"}, " directed, .* weighted,"),
    "Parquet": ("edges.parquet", {"weight": "w", "time": "t"}, " directed, .* weighted, timed,"),
    "several Parquet files": (
        "?.parquet",
        {"directed": False, "time": "t", "time_unit": "us"},
        "undirected, .* timed,",
    ),
    "labels of both ends": ("names.csv", {"bipartite": True}, "298 → 249 nodes, "),
    "ids of eight bytes": ("wide.csv", {"num_nodes": (10, 2**33), "index": "out"}, " int64 ids"),
    "ranges without edges": ("one.csv", {"num_nodes": 100_000}, " 100,000 nodes, 400 edges, "),
}


@pytest.mark.parametrize("shards", [1, 3, 8])
@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_graph_and_source(connection, name, shards):
    write_sources()
    source, options, shown = CASES[name]
    plain = gz.convert_edges(source, "plain.gl", **options)
    assert re.search(shown, repr(gz.Graph("plain.gl")))
    size = os.path.getsize(source) // 4 if os.path.exists(str(source)) else 5000
    plan = sharded.plan_shards(source, "steps", shards=shards, task_size=size, **options)
    assert plan.num_tasks > 3
    found = ray_engine.run_on_ray("steps", "ray.gl", **SMALL)
    assert same("ray.gl", "plain.gl")
    assert len(list(pathlib.Path("steps").glob("*.part"))) == shards * len(plan.indexes)
    for count in ("num_rows", "num_edges", "num_src_nodes", "num_dst_nodes", "num_self_loops", "num_duplicates"):
        assert getattr(found, count) == getattr(plain, count), count
    for written in pathlib.Path().glob("plain.*.gi"):
        assert same(written, written.name.replace("plain", "ray"))
    assert len(list(pathlib.Path().glob("ray.*.gi"))) == (2 if plan.has_labels else 0)


def test_no_edges_at_all(connection):
    pathlib.Path("none.csv").write_text("src,dst\n")
    gz.convert_edges("none.csv", "plain.gl", num_nodes=7)
    gz.convert_edges("none.csv", "ray.gl", num_nodes=7, shards=3, engine="ray", **SMALL)
    assert same("ray.gl", "plain.gl")
    assert sorted(os.listdir()) == ["none.csv", "plain.gl", "ray.gl"]


@pytest.mark.parametrize("shards", [1, 3, 8])
def test_labels_get_the_numbers_of_one_machine(connection, shards):
    rng = np.random.default_rng(2)
    lines = "".join(f"name {a},{b * 7}\n" for a, b in rng.integers(0, 3000, (20_000, 2)).tolist())
    pathlib.Path("edges.csv").write_text(f"src,dst\n{lines}")
    gz.convert_edges("edges.csv", "plain.gl")
    plan = sharded.plan_shards("edges.csv", "steps", shards=shards, task_size=len(lines) // 3)
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
        answer(
            gz.convert_features, "x.csv", "x.gd", dtype="float32", header=False, shards=4, engine="ray", **SMALL
        )  # fmt: skip
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


def test_steps_in_storage_that_nodes_cannot_reach(connection, s3, monkeypatch):
    write_edges(1000)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{s3.direct}")  # of this process; nodes have another
    folder = f"s3://{KEY}:{SECRET}@bucket/steps"
    sharded.plan_shards("edges.npy", folder, shards=1)
    s3.cut()  # the way that nodes take
    try:
        message = (
            r"work_dir: node .+ \(.+\): expected a folder that it can read and write: s3://bucket/steps; found: .*"
        )
        with raises(ValueError, message) as found:
            answer(ray_engine.run_on_ray, folder, "g.gl", **SMALL)
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
            answer(ray_engine.run_on_ray, "steps", "ray.gl", memory="1GB")  # the limit is one
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


def are_gone(pids):
    """Whether processes have ended; what is left of one that nobody waits for has no title."""
    running = processes()
    return not any(running.get(int(pid), (0, ""))[1] for pid in pids)


@pytest.mark.parametrize(("stage", "ending"), [("partition_edges", "records"), ("compile_shard", "part")])
def test_a_node_is_killed_that_has_written_a_file_and_is_at_others(cluster, connection, monkeypatch, stage, ending):
    size = write_edges(tasks=8)
    gz.convert_edges("edges.npy", "plain.gl")
    plan = sharded.plan_shards("edges.npy", "steps", shards=4, task_size=size)
    assert (plan.num_tasks, len(plan.indexes)) == (8, 2)
    os.mkdir("held")
    first, held_tasks, killed = map(os.path.abspath, ("first", "held", "killed"))
    node = cluster.add_node(**{**NODE, "num_cpus": 4})
    doomed = node.node_id

    def held(folder, step, memory, threads):
        import time

        import ray

        from graphzero.convert import ray_engine

        if step.run.__name__ == stage and ray.get_runtime_context().get_node_id() == doomed:
            try:
                os.close(os.open(first, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pathlib.Path(held_tasks, str(os.getpid())).touch()
                time.sleep(600)  # it dies first
        elif step.run.__name__ == stage:
            # The others have four CPUs, so that four of the eight tasks are left for the node that dies.
            while not os.path.exists(killed):
                time.sleep(0.01)
        ray_engine._step(folder, step, memory, threads)  # of the worker, which is not replaced

    def written():
        return {path: path.stat().st_ino for path in pathlib.Path("steps").glob(f"*.{ending}")}

    monkeypatch.setattr(ray_engine, "_step", held)
    driver = begun(ray_engine.run_on_ray, "steps", "ray.gl", **SMALL)
    try:
        waits_for(lambda: written() and len(os.listdir(held_tasks)) >= 2, lambda: not driver.done())
        before = written()
        assert len(before) == 1  # all others wait
        cluster.remove_node(node, allow_graceful=False)
        waits_for(lambda: are_gone(os.listdir(held_tasks)), seconds=ANSWER)
        assert written() == before
    finally:
        if node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)
        pathlib.Path(killed).touch()
    driver.result(ANSWER)
    assert same("ray.gl", "plain.gl")
    assert before.items() <= written().items()  # what it had written was not written again
    assert len(written()) == 8


def test_a_node_is_killed_while_it_is_looked_at(cluster, connection, monkeypatch):
    size = write_edges(1000, tasks=3)
    gz.convert_edges("edges.npy", "plain.gl")
    sharded.plan_shards("edges.npy", "steps", shards=2, task_size=size)
    looked = os.path.abspath("looked")
    node = cluster.add_node(**NODE)
    doomed, version = node.node_id, gz.__version__

    def arrive():
        import time

        import ray

        if ray.get_runtime_context().get_node_id() == doomed:
            pathlib.Path(looked).touch()
            time.sleep(600)  # it dies first
        return version

    class Version:  # is brought to a node, and holds it up there
        def __reduce__(self):
            return arrive, ()

    monkeypatch.setattr(gz, "__version__", Version())
    driver = begun(ray_engine.run_on_ray, "steps", "ray.gl", **SMALL)
    try:
        waits_for(lambda: os.path.exists(looked), lambda: not driver.done())
        assert not list(pathlib.Path("steps").glob("*.records"))
    finally:
        cluster.remove_node(node, allow_graceful=False)
    driver.result(ANSWER)
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
    driver = begun(ray_engine.run_on_ray, "steps", "ray.gl", **SMALL)
    waits_for(lambda: os.path.exists(tried), lambda: not driver.done())
    os.kill(int(pathlib.Path(tried).read_text()), signal.SIGKILL)
    driver.result(ANSWER)
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
        _, said = driver.communicate(timeout=ANSWER)
    assert driver.returncode == 130
    assert said.strip().splitlines()[-1] == "graphzero: interrupted"
    waits_for(lambda: not any("ray::compile_shard" in title for _, title in processes().values()), seconds=ANSWER)
    assert len(list(work.glob("*.part"))) == 11
    assert not os.path.exists("ray.gl")


# What is wrong.


def test_an_error_of_a_task_is_that_of_the_step(connection):
    pathlib.Path("edges.csv").write_text("src,dst\n" + "0,1\n" * 50 + "4,x\n" + "2,3\n" * 50)
    with pytest.raises(ValueError) as plain:
        gz.convert_edges("edges.csv", "g.gl")
    with pytest.raises(ValueError) as found:
        answer(gz.convert_edges, "edges.csv", "g.gl", shards=2, engine="ray", **SMALL)
    assert str(found.value).endswith(str(plain.value))
    assert "ray" not in type(found.value).__module__
    assert found.value.__cause__ is None
    assert os.listdir("g.gl.steps") == ["plan.json"]


def test_an_error_of_a_task_ends_the_others(connection, monkeypatch):
    text = "src,dst\n" + "0,1\n" * 50 + "4,x\n"
    pathlib.Path("edges.csv").write_text(text)
    assert sharded.plan_shards("edges.csv", "steps", shards=2, task_size=len(text) // 2).num_tasks > 1
    going = os.path.abspath("going")

    def held(folder, step, memory, threads):
        import time

        from graphzero.convert import ray_engine

        if step.details == (0,):
            pathlib.Path(f"{going}.new").write_text(str(os.getpid()))
            os.rename(f"{going}.new", going)
            time.sleep(600)  # it is ended first
        while not os.path.exists(going):
            time.sleep(0.01)
        ray_engine._step(folder, step, memory, threads)

    monkeypatch.setattr(ray_engine, "_step", held)
    driver = begun(ray_engine.run_on_ray, "steps", "g.gl", **SMALL)
    waits_for(lambda: os.path.exists(going), seconds=START)
    with raises(ValueError, r".*edges\.csv: line 52: expected .*, found .*"):
        driver.result(ANSWER)
    waits_for(lambda: are_gone([pathlib.Path("going").read_text()]), seconds=ANSWER)
    assert not os.path.exists("g.gl")


def test_a_process_that_always_dies_when_it_looks_at_a_node(connection, monkeypatch):
    write_edges(1000)
    sharded.plan_shards("edges.npy", "steps", shards=1)

    class Deadly:
        def __reduce__(self):
            return os._exit, (1,)

    monkeypatch.setattr(gz, "__version__", Deadly())
    monkeypatch.setattr(ray_engine, "_RETRIES", 1)
    message = r"look at node .+ \(.+\): the process of this task died 2 times; the logs of Ray say more"
    with raises(ChildProcessError, message):
        answer(ray_engine.run_on_ray, "steps", "g.gl", **SMALL)
    assert os.listdir("steps") == ["plan.json"]


def test_an_error_of_the_system_names_the_node(connection):
    size = write_edges(1000, tasks=2)
    sharded.plan_shards("edges.npy", "steps", shards=2, task_size=size)
    os.remove("edges.npy")
    with pytest.raises(FileNotFoundError, match=rf"No such file or directory \(on node {socket.gethostname()}\): '.*e"):
        answer(ray_engine.run_on_ray, "steps", "g.gl", **SMALL)


def test_a_task_that_always_dies(connection, monkeypatch):
    write_edges(1000)
    sharded.plan_shards("edges.npy", "steps", shards=1)

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ray_engine, "_step", die)
    monkeypatch.setattr(ray_engine, "_RETRIES", 1)
    message = r"partition_edges 0: the process of this task died 2 times; the logs of Ray say more"
    with raises(ChildProcessError, message):
        answer(ray_engine.run_on_ray, "steps", "g.gl", **SMALL)


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
            answer(ray_engine.run_on_ray, folder, "g.gl", **SMALL)
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
        answer(ray_engine.run_on_ray, "steps", "g.gl", **SMALL)


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
