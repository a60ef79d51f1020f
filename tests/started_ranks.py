"""Ranks on hosts, started by torchrun or forked from a process that has torch already, and how soon they must answer.

A process of a rank imports torch, which takes its time on a machine that has much else to do: it has START_S to be
ready. From then on, or from the moment on at which another rank gets into trouble, it has ANSWER_S. Ranks say when that
is in files, with ``mark()``.
"""

import contextlib
import gc
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

from hosts import join_network

START_S = 120
ANSWER_S = 20


def mark(folder, name):
    """Write down this process and the time. All processes of a machine have this clock in common."""
    with pathlib.Path(folder, name).open("a") as file:
        file.write(f"{os.getpid()} {time.monotonic()}\n")


def marks(folder, name):
    """Return what processes have written down, one after the other."""
    file = pathlib.Path(folder, name)
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return [(int(process), float(moment)) for process, moment in pairs]


def wait_for_mark(folder, name, has_ended, said, number=0):
    """Return a mark, for which a process has START_S unless it ends before."""
    end = time.monotonic() + START_S
    while True:
        is_last_look = has_ended()
        if len(found := marks(folder, name)) > number:
            return found[number]
        assert not is_last_look, f"a rank has ended without {name}: {said()}"
        assert time.monotonic() < end, f"no {name} in time: {said()}"
        time.sleep(0.02)


def unused_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def environment_of(hosts, script):
    paths = [str(script.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "GLOO_SOCKET_IFNAME": hosts.interface,
        "OMP_NUM_THREADS": "1",
    }


# Forked ranks. A line of a starter's standard input is an order as JSON: {"folder": …, "data": [of each rank],
# "environment": {…}, "network": of its host, …}. What a rank says is in ``{folder}/{rank}.txt``, what it finds in ``{rank}.json``, its exit code
# and when it ended in ``{rank}.rc``.


def main(run, forks=True):
    """Do what the order on the command line says, or serve orders. What ``run(order)`` raises ends it as a script."""
    if len(sys.argv) > 1:
        run(json.loads(sys.argv[1]))
    else:
        _serve(run, forks and "tsan" not in os.environ.get("LD_PRELOAD", ""))  # a process that has threads forks


def _serve(run, forks):
    gc.freeze()  # or each rank, when it ends, copies all that was imported, to look for garbage in it
    waiting, ranks = "", {}
    while True:
        while ranks and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            new = ranks.pop(ended[0])
            new.write_text(f"{os.waitstatus_to_exitcode(ended[1])} {time.monotonic()}")
            new.rename(new.with_suffix(".rc"))
        if not select.select([0], [], [], 0.02)[0]:
            continue
        text = os.read(0, 1 << 16).decode()
        if not text:
            return
        *lines, waiting = (waiting + text).split("\n")
        for line in lines:
            order = json.loads(line)
            process = os.fork()
            if process == 0:
                os.environ.update(order["environment"])
                said = os.open(f"{order['folder']}/{os.environ['RANK']}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(said, 1)
                os.dup2(said, 2)
                join_network(order["network"])
                if not forks:
                    os.execv(sys.executable, [sys.executable, sys.argv[0], line])
                return run(json.loads(line))
            print(process, flush=True)
            ranks[process] = pathlib.Path(order["folder"], f"{order['environment']['RANK']}.new")


@contextlib.contextmanager
def starter_of(hosts, script):
    """Start a process that serves orders."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, script], env=environment_of(hosts, script), **options) as made:
        yield made
        made.stdin.close()


class Ranks:
    """Forked ranks that do what an order says, one on each host in turn."""

    def __init__(self, hosts, starter, folder, data, **order):
        self.folder, self.count = folder, len(data)
        port = unused_port()
        self.processes = []
        for rank in range(self.count):
            environment = {"RANK": rank, "WORLD_SIZE": self.count, "MASTER_ADDR": hosts.address(0), "MASTER_PORT": port}
            # Ranks with names of their own may share one GPU.
            environment |= {"NCCL_HOSTID": f"host {rank}", "NCCL_SOCKET_IFNAME": hosts.interface}
            environment = {name: str(value) for name, value in environment.items()}
            network = hosts.network(rank % hosts.count)
            told = {"folder": str(folder), "data": data, "environment": environment, "network": network, **order}
            starter.stdin.write(json.dumps(told) + "\n")
            starter.stdin.flush()
            assert select.select([starter.stdout], [], [], START_S)[0], "the starter does not answer"
            self.processes.append(int(starter.stdout.readline()))

    def end(self):
        for rank, process in enumerate(self.processes):
            if not self._has_ended(rank):
                with contextlib.suppress(ProcessLookupError):  # it has ended just now
                    os.kill(process, signal.SIGKILL)

    def ready(self):
        """Return when the last rank had what it needs to start."""
        return max(self._marked(rank, "ready") for rank in range(self.count))

    def trouble(self, rank):
        """Return when a rank got into trouble."""
        return self._marked(rank, "trouble")

    def code(self, rank, after=None):
        """Return the exit code of a rank, which must end within ANSWER_S after this moment if there is one."""
        end = time.monotonic() + START_S if after is None else after + ANSWER_S
        while not self._has_ended(rank):
            assert time.monotonic() < end, f"rank {rank} still runs: {self.said(rank)}"
            time.sleep(0.02)
        code, ended = (self.folder / f"{rank}.rc").read_text().split()
        assert float(ended) < end, f"rank {rank} ended {float(ended) - end:.1f} s too late: {self.said(rank)}"
        return int(code)

    def found(self, rank, after=None):
        """Return what a rank has found, in the time that ``code()`` gives it."""
        assert self.code(rank, after) == 0, self.said(rank)
        return json.loads((self.folder / f"{rank}.json").read_text())

    def said(self, rank):
        file = self.folder / f"{rank}.txt"
        return file.read_text() if file.exists() else ""

    def _marked(self, rank, what):
        return wait_for_mark(self.folder, f"{rank}.{what}", lambda: self._has_ended(rank), lambda: self.said(rank))[1]

    def _has_ended(self, rank):
        return (self.folder / f"{rank}.rc").exists()


@contextlib.contextmanager
def running(hosts, starter, folder):
    """Give a function that starts ranks, each time in a folder of their own, and end those that still run."""
    made = []

    def run(data, **order):
        own = folder / str(len(made))
        own.mkdir()
        made.append(Ranks(hosts, starter, own, data, **order))
        return made[-1]

    try:
        yield run
    finally:
        for ranks in made:
            ranks.end()


# Ranks of torchrun. Options of its command that all hosts have in common name an ``{address}`` and a ``{port}``.

STATIC = ("--node-rank={host}", "--master-addr={address}", "--master-port={port}")
C10D = (
    "--max-restarts=2",
    "--rdzv-backend=c10d",
    "--rdzv-id=one",
    "--rdzv-endpoint={address}:{port}",
    "--rdzv-conf=is_host={first}",
    "--local-addr={own}",
)


class Torchrun:
    """Torchrun on each of some hosts, with a rank that does what an order says; what they say is in ``{host}.txt``."""

    def __init__(self, hosts, script, folder, words, data, **order):
        self.folder, self.num_hosts = folder, len(data)
        # Without it, ranks that are started again read addresses of the dead.
        environment = environment_of(hosts, script) | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        port = unused_port()
        told = json.dumps({"folder": str(folder), "data": data, **order})
        self.processes = []
        for host in range(self.num_hosts):
            known = {"host": host, "first": int(host == 0), "own": hosts.address(host)}
            options = [word.format(**known, address=hosts.address(0), port=port) for word in words]
            command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={self.num_hosts}"]
            command += ["--nproc-per-node=1", *options, script, told]
            with (folder / f"{host}.txt").open("w") as said:
                self.processes.append(hosts.start(host, command, env=environment, stdout=said, stderr=said))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()  # it ends its rank, which would be left over otherwise
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ANSWER_S)
            process.kill()
            process.wait()

    def wait(self, end=None):
        """Return the exit codes, of processes that end before a moment."""
        end = time.monotonic() + START_S if end is None else end
        return [process.wait(max(0.1, end - time.monotonic())) for process in self.processes]

    def wait_for_restart(self, dies):
        """Wait until a rank has died and all have been started again; return the exit codes.

        Those that are left over must be gone soon, and the next ones must not stand still once they have torch.
        """
        first = [self._marked(rank, "ready")[0] for rank in range(self.num_hosts)]
        end = self._marked(dies, "trouble")[1] + ANSWER_S
        for rank, process in enumerate(first):
            while _is_there(process):
                assert time.monotonic() < end, f"the process of rank {rank} is still there: {self.said()}"
                time.sleep(0.02)
        return self.wait(max(self._marked(rank, "ready", 1)[1] for rank in range(self.num_hosts)) + ANSWER_S)

    def said(self):
        return "".join((self.folder / f"{host}.txt").read_text() for host in range(self.num_hosts))

    def _marked(self, rank, what, number=0):
        return wait_for_mark(
            self.folder, f"{rank}.{what}", lambda: self.processes[rank].poll() is not None, self.said, number
        )


def _is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
