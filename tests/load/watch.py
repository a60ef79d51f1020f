"""Starts workers, kills some, starts them again, and looks at what they hold and how they end."""

import multiprocessing
import os
import signal
import statistics
import sys
import time
from collections import Counter

from load.journal import Counters, read
from load.worker import held_by, work

# More at rest than at the first rests is a leak. The allocator's memory is not given back to the byte, and differs with
# the jobs that came before.
GROWTH = {"anonymous": 64 << 20, "threads": 0, "descriptors": 0, "mappings": 60}
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


class Failures:
    """What must not happen, with its time; printed when it does."""

    def __init__(self, place):
        self._place, self._begin = place, time.monotonic()
        self.found = []
        self.errors = Counter()
        self.did = Counter()
        self.skipped = set()

    def add(self, what, message, at=None):
        self.found.append(what)
        after = (time.monotonic() if at is None else at) - self._begin
        print(f"FAILURE at {after:.1f} s, seed {self._place.seed}: {what}: {message}", flush=True)

    def take(self, name):
        """Add up the journal of a process that has ended; return its lines."""
        lines = read(self._place.path("journals", f"{name}.jsonl"))
        for line in lines:
            if line["kind"] == "failure":
                facts = {key: value for key, value in line.items() if key not in ("kind", "what", "trace", "time")}
                self.add(line["what"], f"{name}: {facts}\n{line.get('trace', '')}", line["time"])
            elif line["kind"] == "error":
                self.errors[line["error"], self._shape(line["message"])] += 1
            elif line["kind"] == "did":
                self.did[line["what"]] += 1
            elif line["kind"] == "skipped":
                self.skipped.add(line["message"])
        return lines

    def _shape(self, message):
        """Leave out of a message what differs from one time to the next."""
        words = message.replace(self._place.data, "").replace(self._place.root, "").split()
        plain = ["…" if any(letter.isdigit() for letter in word) or "/" in word else word for word in words]
        return " ".join(
            word for word, before in zip(plain, ["", *plain], strict=False) if word != "…" or before != "…"
        )[:90]


class _Process:
    def __init__(self, place, number, life, method):
        self.name = f"worker{number}.{life}"
        self.number, self.life, self.method = number, life, method
        self.sent = None  # the signal that we sent
        context = multiprocessing.get_context(method)
        self.process = context.Process(target=work, args=(place, self.name, number), name=self.name)
        self.counters = Counters(place.path("journals", f"{self.name}.counters"), place.threads)
        self.begin = time.monotonic()
        self.process.start()


class Watch:
    """The workers, the first ``lasting`` of which are never killed, so that a leak has time to show."""

    def __init__(self, place, methods, processes, lasting, failures):
        self._place, self._methods, self._lasting, self._patience = place, methods, lasting, place.patience
        self._failures = failures
        self.right = self.lives = self.rests = 0
        self.ends = Counter()
        self.peaks = Counter()
        self._processes = [self._begin(number, 0) for number in range(processes)]

    def _begin(self, number, life):
        self.lives += 1
        return _Process(self._place, number, life, self._methods[number % len(self._methods)])

    def kill(self, draw):
        """Send one of the mortal workers a signal. One that still starts can only be killed."""
        mortal = [one for one in self._processes[self._lasting :] if one.sent is None]
        if not mortal:
            return
        one = draw.choice(mortal)
        sent = draw.choice(SIGNALS)
        lines = read(self._place.path("journals", f"{one.name}.jsonl"))
        if sent != signal.SIGKILL and not any(line["kind"] == "ready" for line in lines):
            return
        one.sent = sent
        os.kill(one.process.pid, sent)

    def look(self):
        """Note what workers hold, start those again that ended, and find those that hang."""
        for place, one in enumerate(self._processes):
            if not one.process.is_alive():
                self._end(one)
                self._processes[place] = self._begin(one.number, one.life + 1)
                continue
            self._look_at(one)

    def _look_at(self, one):
        try:
            held = held_by(one.process.pid)
        except (OSError, KeyError):  # it ends right now
            return
        for name, value in held.items():
            self.peaks[name] = max(self.peaks[name], value)
        last = one.counters.table[:, Counters.SEEN].min() / 1e9
        # A worker that is spawned imports torch first, beside all others that do.
        if time.monotonic() - (last or one.begin + 4 * self._patience) > self._patience:
            os.kill(one.process.pid, signal.SIGUSR1)
            time.sleep(2)
            one.sent = signal.SIGKILL
            os.kill(one.process.pid, signal.SIGKILL)
            self._failures.add(
                "hang", f"{one.name}, {one.method}: no progress in {self._patience} s\n{self._stderr(one)}"
            )

    def _stderr(self, one):
        try:
            with open(self._place.path("journals", f"{one.name}.stderr")) as file:
                return file.read()[-6000:]
        except FileNotFoundError:
            return ""

    def _end(self, one):
        """Check how a worker ended, and what it left."""
        one.process.join()
        code = one.process.exitcode
        self.right += int(one.counters.table[:, Counters.RIGHT].sum())
        expected = {signal.SIGKILL: -9, signal.SIGTERM: 0, signal.SIGINT: 0, None: 0}[one.sent]
        in_torch = one.sent == signal.SIGINT and code == -signal.SIGABRT and sys.version_info < (3, 14)
        self.ends[(one.sent.name if one.sent else "in order") + in_torch * ", aborted"] += 1
        lines = self._failures.take(one.name)
        if (
            in_torch
        ):  # a daemon thread that wants the GIL back (docs/guide/processes-and-threads.md); ours do not: test_exits.py
            return
        if code != expected:
            self._failures.add(
                "crash", f"{one.name}, {one.method}, ended with {code}, expected {expected}\n{self._stderr(one)}"
            )
        if one.sent is None and not os.path.exists(self._place.path("stop")):
            self._failures.add("crash", f"{one.name} ended without being asked\n{self._stderr(one)}")
        if any(text in self._stderr(one) for text in ("Traceback", "Fatal", "terminate called")):
            self._failures.add("noise", f"{one.name} wrote\n{self._stderr(one)}")
        if one.sent in (None, signal.SIGTERM):
            left = os.listdir(self._place.path("temporary", one.name))
            if left:
                self._failures.add("files left", f"{one.name} ended in order and left {left}")
        self._check_growth(one, [line for line in lines if line["kind"] == "rest"])

    def _check_growth(self, one, rests):
        self.rests += len(rests)
        part = max(2, len(rests) // 4)
        first, last = rests[2 : 2 + part], rests[-part:]
        if len(rests) < 2 + 2 * part:
            return
        for name, allowed in GROWTH.items():
            before = statistics.median(rest[name] for rest in first)
            after = statistics.median(rest[name] for rest in last)
            if after > before + allowed:
                series = [rest[name] for rest in rests]
                self._failures.add(
                    "leak", f"{name} of {one.name}, {one.method}, at rest: {before} became {after}: {series}"
                )

    def end(self):
        """Ask all workers to end, and wait."""
        with open(self._place.path("stop"), "w"):
            pass
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline and any(one.process.is_alive() for one in self._processes):
            time.sleep(0.1)
        for one in self._processes:
            if one.process.is_alive():
                os.kill(one.process.pid, signal.SIGUSR1)
                time.sleep(2)
                one.sent = signal.SIGKILL
                one.process.kill()
                self._failures.add("hang", f"{one.name} did not end in {self._patience} s\n{self._stderr(one)}")
            self._end(one)
