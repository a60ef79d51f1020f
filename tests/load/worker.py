"""One process under load: threads that open, sample, read and check one data set, whatever happens to its files."""

import contextlib
import faulthandler
import gc
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
import traceback

import numpy as np
import torch
from torch_geometric.data import Data  # here, so that forked workers have it: its import takes seconds

import graphzero as gz
from load import answers
from load.answers import WrongAnswer
from load.journal import Counters, Journal, TroubleCount

READERS = ["auto", "mmap", "direct", "pread"]


class Opened:
    """A data set, its generation, and the state of trouble when it was opened."""

    def __init__(self, place, trouble):
        self.trouble_before = trouble.read()
        self.data = gz.open(place.data)
        try:
            self.generation = answers.generation_of(self.data)
        except BaseException:
            self.data.close()
            raise


def run_pipeline(worker, opened, draw):
    variant, take = draw.randrange(answers.VARIANTS), draw.randint(1, answers.BATCHES)
    options = {"reader": draw.choice(READERS), "threads": draw.choice([None, 1, 2])}
    with answers.pipeline(opened.data, variant, worker.size, **options) as batches:
        for number, batch in zip(range(take), batches, strict=False):
            found = answers.check_batch(batch, opened.generation, worker.size)
            worker.recorded.compare(found, opened.generation, variant, "pipeline", number)
            yield


def run_loader(worker, opened, draw):
    variant, take = draw.randrange(answers.VARIANTS), draw.randint(1, answers.BATCHES)
    options = {"reader": draw.choice(READERS), "form": draw.choice(["torch", "pyg"])}
    batches = iter(answers.loader(opened.data, variant, worker.size, **options))
    for number, batch in zip(range(take), batches, strict=False):
        found = answers.check_loaded(batch, opened.generation, worker.size)
        worker.recorded.compare(found, opened.generation, variant, "loader", number)
        yield


def run_sample(worker, opened, draw):
    for _ in range(5):
        variant = draw.randrange(answers.VARIANTS)
        found = answers.check_sample(answers.sample(opened.data, variant, worker.size), opened.generation, worker.size)
        worker.recorded.compare(found, opened.generation, variant, "sample")
        yield


def run_walk(worker, opened, draw):
    for _ in range(5):
        variant = draw.randrange(answers.VARIANTS)
        walks, starts = answers.walk(opened.data, variant, worker.size), answers.starts_of(variant, worker.size)
        found = answers.check_walks(walks, starts, opened.generation, worker.size)
        worker.recorded.compare(found, opened.generation, variant, "walk")
        yield


def run_gather(worker, opened, draw):
    store = opened.data.features("x")
    for _ in range(5):
        ids = [draw.randrange(worker.size.nodes) for _ in range(draw.choice([1, 100, 3000]))]
        found = store.gather(ids, reader=draw.choice(READERS))
        answers.same(found, answers.rows(ids, opened.generation, worker.size.columns), "gathered rows")
        yield


def run_reopening(worker, opened, draw):
    for _ in range(5):
        with pickle.loads(pickle.dumps(opened.data)) as again:
            node = draw.randrange(worker.size.nodes)
            found = again.graph.neighbors(node).copy()
            again.graph.degree([node])  # a view reads zeros where its file has shrunk; the next call says so
            first = node * answers.EDGES_PER_NODE
            ids = range(first, first + answers.EDGES_PER_NODE)
            there = answers.destinations(list(ids), opened.generation, worker.size.nodes)
            answers.same(sorted(found), np.sort(there), "neighbours")
        yield


def run_verify(worker, opened, draw):
    for check in gz.verify(opened.data.path):
        if check.state == "fails":
            raise gz.FormatError(f"{os.path.join(opened.data.path, check.file)}: {check.name}: {check.problem}")
    yield


def run_temporary(worker, opened, draw):
    """Sample from edges in memory, which are written to a temporary file."""
    nodes = 1000
    ids = np.arange(nodes * answers.EDGES_PER_NODE)
    dst = answers.destinations(ids, 0, nodes)
    edges = torch.from_numpy(np.stack([ids // answers.EDGES_PER_NODE, dst]))
    data = Data(x=torch.from_numpy(answers.rows(range(nodes), 0, 4)), edge_index=edges)
    batch = next(iter(answers.NeighborLoader(data, [3], batch_size=64, seed=1)))
    answers.same(batch.x.numpy(), answers.rows(batch.n_id.numpy(), 0, 4), "x of a graph in memory")
    yield


JOBS = [
    run_pipeline,
    run_pipeline,
    run_loader,
    run_loader,
    run_sample,
    run_walk,
    run_gather,
    run_reopening,
    run_verify,
    run_temporary,
]
SHARED_JOBS = [run_pipeline, run_loader, run_sample, run_walk, run_gather]


class Worker:
    """The threads of one process, the data set that they share, and what they found."""

    def __init__(self, place, name, number):
        self.place, self.size, self._number = place, place.size, number
        self.recorded = answers.Recorded(place.path("answers.json"))
        self._journal = Journal(place.path("journals", f"{name}.jsonl"))
        self._counters = Counters(place.path("journals", f"{name}.counters"), place.threads)
        self._trouble = TroubleCount(place.path("trouble"))
        self._shared = None
        self._shared_lock = threading.Lock()
        self._stop = threading.Event()
        self.leaving = False  # at once: temporary folders are removed under the hands of threads
        self._rest = threading.Barrier(place.threads, action=self._measure)
        self._next_rest = time.monotonic() + place.rest_every
        self._threads = [
            threading.Thread(target=self._work, args=(thread,), daemon=True) for thread in range(place.threads)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()
        self._journal.write("ready", pid=os.getpid())

    def wait(self):
        """Return when the watcher says that it is enough."""
        while not self.place.is_over():
            time.sleep(0.2)

    def end_in_order(self):
        self._stop.set()
        self._rest.abort()
        for thread in self._threads:
            thread.join()
        self._close_shared()
        gc.collect()
        self._journal.write("end")

    def _work(self, thread):
        draw = random.Random(f"{self.place.seed} {self._number} {thread} {os.getpid()}")
        while not self._stop.is_set():
            self._counters.beat(thread)
            if time.monotonic() > self._next_rest:
                with contextlib.suppress(threading.BrokenBarrierError):
                    self._rest.wait()
                continue
            if draw.random() < 0.5:
                self._attempt(thread, draw.choice(SHARED_JOBS), self._share, draw)
            else:
                self._attempt(thread, draw.choice(JOBS), self._own, draw)

    def _attempt(self, thread, job, data, draw):
        before = self._trouble.read()
        try:
            with data(draw) as opened:
                before = min(before, opened.trouble_before)
                for _ in job(self, opened, draw):
                    self._counters.beat(thread, right=1)
                    if self._stop.is_set():
                        return
        except Exception as error:
            self._note(thread, job, error, before, shared=data == self._share)
            time.sleep(0.05)  # a file that is missing stays so for a while

    @contextlib.contextmanager
    def _own(self, draw):
        opened = Opened(self.place, self._trouble)
        with opened.data:
            yield opened

    @contextlib.contextmanager
    def _share(self, draw):
        with self._shared_lock:
            if self._shared is None or draw.random() < 0.1:
                if draw.random() < 0.5:
                    self._close_shared()  # under the hands of other threads
                self._shared = None
                self._shared = Opened(self.place, self._trouble)
            opened = self._shared
        yield opened

    def _close_shared(self):
        if self._shared is not None:
            self._shared.data.close()
            self._shared = None

    def _note(self, thread, job, error, before, *, shared):
        """Write down an error, and whether it is one that may be."""
        message, now = str(error), self._trouble.read()
        closed = shared and type(error) is ValueError and "is closed" in message
        failure = None
        if isinstance(error, WrongAnswer):
            failure = "wrong answer"
        elif not closed and not isinstance(error, (OSError, gz.FormatError)):
            failure = "unexpected exception"
        elif self.place.root not in message:
            failure = "the message names no file"
        elif self.leaving and isinstance(error, FileNotFoundError) and tempfile.tempdir in message:
            failure = None
        elif not closed and before == now and now % 2 == 0:
            failure = "an error that nothing provoked"
        facts = {"job": job.__name__, "thread": thread, "error": type(error).__name__, "message": message}
        if failure is None:
            self._journal.write("error", **facts)
            return
        trace = "".join(traceback.format_exception(error))
        self._journal.write("failure", what=failure, trouble=(before, now), trace=trace, **facts)

    def _measure(self):
        """Count what the process holds while no thread holds anything."""
        self._close_shared()
        gc.collect()
        self._journal.write("rest", **held_by("self"))
        self._next_rest = time.monotonic() + self.place.rest_every


def held_by(process):
    """Return what a process holds: bytes of anonymous memory, threads, descriptors, mappings."""
    with open(f"/proc/{process}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    with open(f"/proc/{process}/maps") as file:
        mappings = sum(1 for _ in file)
    return {
        "anonymous": int(status["RssAnon"].split()[0]) * 1024,
        "threads": int(status["Threads"]),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
        "mappings": mappings,
    }


def work(place, name, number):
    """Be worker ``number`` until told to stop: SIGTERM ends in order, SIGINT at once, amid what the threads do."""
    errors = open(place.path("journals", f"{name}.stderr"), "w")  # noqa: SIM115 (open as long as the process is)
    os.dup2(errors.fileno(), 2)
    faulthandler.enable(errors)
    faulthandler.register(signal.SIGUSR1, errors, all_threads=True)
    tempfile.tempdir = place.path("temporary", name)
    os.makedirs(tempfile.tempdir)
    worker = Worker(place, name, number)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        worker.start()
        worker.wait()
    except SystemExit:
        pass
    except KeyboardInterrupt:
        worker.leaving = True
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker.end_in_order()
