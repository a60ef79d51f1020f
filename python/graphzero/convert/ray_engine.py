"""The steps of a conversion in shards as tasks of a Ray cluster. Only names and numbers pass through Ray."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import socket
import time as clock
import uuid
from collections.abc import Iterator
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer_from
from graphzero._base.memory_sizes import byte_count, byte_text
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import shown_url
from graphzero.convert._shards.edge_commit import IdsPath
from graphzero.convert._shards.edge_plan import EdgePlan
from graphzero.convert._shards.job import Job, Report, Step
from graphzero.convert._shards.row_plan import RowPlan
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.feature_report import FeatureReport
from graphzero.convert.sharded import EdgeJob
from graphzero.convert.sharded_features import RowJob
from graphzero.convert.step_files import StepFiles

_MEMORY = 2_000_000_000
_WORKER = 256 << 20  # what a worker process takes beside the budget of its step
_RETRIES = 5  # of a task whose process or node died; what a step raises is not tried again
_PATIENCE = 10.0  # seconds for the head to take a connection


def run_on_ray(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    address: str | None = None,
    ids_path: IdsPath | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> ConversionReport:
    """Run the steps of a plan that are not done yet, as tasks of a Ray cluster; the last one, here.

    Args:
        folder: The folder of the plan. All nodes see it, and the source, under the same path; or a URL, which all of
            them can read and write with the credentials of their environment.
        path: As in ``commit_shards()``; only this process needs to see it.
        address: ``host:port`` of the cluster's head, or ``"auto"`` for the cluster that this machine belongs to.
            Default: the cluster this process is connected to, else ``RAY_ADDRESS``, else ``"auto"``.
        ids_path: The dictionary of labels to write, or those of both ends.
        memory: Bytes that a task may hold, which Ray sets aside for it. Default: 2 GB.
        threads: The number of threads, and of Ray's CPUs, of a task. Default: 1.
        progress: ``True`` shows bars. A function is called with what is done and all there is of each step in turn.

    Returns:
        A report, as of ``commit_shards()``.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: No Ray cluster answers.
        ChildProcessError: The process of a task died, time and again.
        ValueError: As of the steps; the cluster has no node for such a task; a node does not see the folder.
        OSError: As of the steps.
    """
    return run_job(
        EdgeJob(EdgePlan(folder), path, ids_path), begin=clock.perf_counter(), address=address, memory=memory,
        threads=threads, progress=progress,
    )  # fmt: skip


def run_features_on_ray(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    address: str | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> FeatureReport:
    """Run the steps of a plan of features that are not done yet, as tasks of a Ray cluster; the last one, here.

    Args:
        folder: The folder of the plan, as in ``run_on_ray()``.
        path: As in ``commit_features()``; only this process needs to see it.
        address: ``host:port`` of the cluster's head, as in ``run_on_ray()``.
        memory: Bytes that a task may hold, which Ray sets aside for it. Default: 2 GB.
        threads: The number of threads, and of Ray's CPUs, of a task. Default: 1.
        progress: ``True`` shows bars. A function is called with what is done and all there is of each step in turn.

    Returns:
        A report, as of ``commit_features()``.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: No Ray cluster answers.
        ChildProcessError: The process of a task died, time and again.
        ValueError: As of ``run_on_ray()``.
        OSError: As of the steps.
    """
    return run_job(
        RowJob(RowPlan(folder), path), begin=clock.perf_counter(), address=address, memory=memory, threads=threads,
        progress=progress,
    )  # fmt: skip


def run_job(
    job: Job[Report],
    *,
    begin: float,
    address: str | None,
    memory: int | str | None,
    threads: int | None,
    progress: Progress,
) -> Report:
    """Run the steps of a job that are not done yet as tasks of a Ray cluster, and commit it here."""
    if address is not None:
        check_address(address)
    job.check_target()
    budget = _MEMORY if memory is None else byte_count(memory)
    cpus = integer_from(1 if threads is None else threads, 1, "threads")
    with _connected(address) as ray:
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        _check_room(nodes, budget + _WORKER, cpus)
        with watching(progress, "looking at nodes", len(nodes), "nodes", lambda: 0):
            _check_nodes(ray, nodes, job.files)
        remote = ray.remote(_step)
        options: dict[str, Any] = {"num_cpus": cpus, "memory": budget + _WORKER, "max_retries": _RETRIES}
        options["scheduling_strategy"] = "SPREAD"

        for stage in job.stages():
            done: list[Any] = []
            with watching(progress, stage.title, len(stage.steps), stage.unit, functools.partial(len, done)):
                begun = {}
                for step in stage.steps:
                    name = str(step)
                    begun[remote.options(name=name, **options).remote(job.files.address, step, budget, cpus)] = name
                _finish(ray, begun, done)
    return job.commit(begin)


def _step(folder: str, step: Step, memory: int, threads: int) -> None:
    """Run one step in a process of Ray. An error of the system says on which node."""
    try:
        step.run(folder, *step.details, memory=memory, threads=threads)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"{error.strerror} (on node {socket.gethostname()})", error.filename) from None


@contextlib.contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Return the module of Ray, connected to a cluster for the block; one that was connected before stays so."""
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            "expected Ray, which runs the steps of engine='ray', found none: pip install 'graphzero[ray]'", name="ray"
        ) from error
    if ray.is_initialized():
        if address is not None:
            raise value_error("address", "expected none, as this process is connected to a Ray cluster already")
        yield ray
        return
    target = address or os.environ.get("RAY_ADDRESS") or "auto"
    if target != "auto":
        _check_answers(target)
    try:
        ray.init(address=target, log_to_driver=False, logging_level=logging.ERROR)
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ConnectionError(
            f"address: expected a Ray cluster at {target} that this machine belongs to, found none: {lines[0]}; one "
            "that asks for a token takes connections with RAY_AUTH_MODE=token in the environment, and its token"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def check_address(address: str) -> None:
    """Refuse what is no address of a cluster."""
    what = "expected host:port of the head of a Ray cluster, or auto"
    if not isinstance(address, str):
        raise type_error("address", f"{what}, found {type(address).__name__}")
    if "@" in address:  # what stands before it may be a password
        raise value_error("address", f"{what}, found a user and @ before the host")
    if address in ("", "auto"):
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not host or not port.isdigit():
        raise value_error("address", f"{what}, found {shown_url(address)!r}")


def _check_answers(address: str) -> None:
    """Refuse an address where nobody listens: Ray would try for minutes, and end the process."""
    check_address(address)
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"address: expected a Ray cluster at {address}, found none that answers: {error}; "
            "ray start --head begins one, and prints its address"
        ) from error


def _check_room(nodes: list[dict[str, Any]], memory: int, cpus: int) -> None:
    """Refuse tasks that no node has room for: Ray would wait for one for ever."""
    if not nodes:
        raise ConnectionError("address: expected a Ray cluster with CPUs for tasks, found none")
    most_cpus = int(max(node["Resources"]["CPU"] for node in nodes))
    if cpus > most_cpus:
        raise value_error("threads", f"expected at most {most_cpus}, as no node of Ray has more CPUs, found {cpus}")
    most = int(max(node["Resources"].get("memory", 0) for node in nodes if node["Resources"]["CPU"] >= cpus))
    if memory > most:
        raise value_error(
            "memory",
            f"expected at most {byte_text(max(0, most - _WORKER))} for a task, as no node of Ray has more to give with "
            f"{byte_text(_WORKER)} for the process itself, found {byte_text(memory - _WORKER)}",
        )


def _check_nodes(ray: Any, nodes: list[dict[str, Any]], files: StepFiles) -> None:
    """Refuse a folder that a node cannot read or write, and a node without this version of graphzero."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    import graphzero

    # Functions in functions travel by value: this one answers where graphzero cannot be imported.
    def look(folder: str, name: str, version: str) -> str:
        import uuid

        try:
            import graphzero
            from graphzero.convert.step_files import StepFiles
        except ImportError as error:
            return f"expected graphzero {version} on every node, found none that can be imported: {error}"
        if graphzero.__version__ != version:
            return f"expected graphzero {version} on every node, as here, found {graphzero.__version__}"
        try:
            files = StepFiles(folder)
            if not files.has(name):
                return f"expected a folder that all nodes see under this path: {folder}; name another"
            own = f".{uuid.uuid4().hex}.graphzero-seen"
            files.replace(own, b"seen")
            files.remove(own)
        except OSError as error:
            return f"expected a folder that it can read and write: {folder}; found: {error}"
        return ""

    seen = f".{uuid.uuid4().hex}.graphzero-seen"
    files.replace(seen, b"seen")
    try:
        remote = ray.remote(look)
        found = {}
        for node in nodes:
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = {"num_cpus": 0, "max_retries": _RETRIES, "scheduling_strategy": strategy, "name": "look at node"}
            name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            found[remote.options(**options).remote(files.address, seen, graphzero.__version__)] = name
        for ref, name in found.items():
            try:
                problem = ray.get(ref)
            except (ray.exceptions.NodeDiedError, ray.exceptions.TaskUnschedulableError):
                continue  # it left; others take its tasks
            except ray.exceptions.WorkerCrashedError as error:
                raise _died(f"look at node {name}") from error
            if problem:
                raise ValueError(f"work_dir: node {name}: {problem}")
    finally:
        files.remove(seen)


def _finish(ray: Any, begun: dict[Any, str], done: list[str]) -> None:
    """Wait for tasks. The first error, and Ctrl-C, end the others."""
    pending = list(begun)
    try:
        while pending:
            # Not one by one: each look goes over all that are pending.
            ready, pending = ray.wait(pending, num_returns=min(64, len(pending)), timeout=0.2)
            for ref in ready:
                _result(ray, ref, begun[ref])
                done.append(begun[ref])
    except BaseException:
        for ref in pending:
            ray.cancel(ref, force=True)  # a step writes its file whole or not at all
        raise


def _result(ray: Any, ref: Any, name: str) -> None:
    """Raise what the task raised, as if the step had run here."""
    try:
        ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, Exception):
            raise error.cause from None
        raise
    except ray.exceptions.OutOfMemoryError as error:
        raise MemoryError(f"{name}: Ray ended the process of this task, as its node ran out of memory") from error
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
        raise _died(name) from error


def _died(name: str) -> ChildProcessError:
    return ChildProcessError(f"{name}: the process of this task died {_RETRIES + 1} times; the logs of Ray say more")
