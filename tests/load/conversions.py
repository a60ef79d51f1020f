"""Conversions that meet: two at once with one target, some killed midway, some on a disk that is full."""

import contextlib
import ctypes
import errno
import faulthandler
import os
import random
import shutil
import threading
import time

import numpy as np

import graphzero as gz
from load import answers
from load.journal import Journal

NODES = 30_000
MEMORY = "36MB"  # little more than the least


def write_sources(folder):
    """Write what conversions read: edges as text with ids and with labels, features, a folder of PyG's kind."""
    os.makedirs(folder)
    for generation in (0, 1):
        src, dst = answers.edges_of(generation, NODES)
        with open(f"{folder}/edges{generation}.csv", "w") as file:
            file.writelines(f"{a},{b}\n" for a, b in zip(src.tolist(), dst.tolist(), strict=True))
        with open(f"{folder}/labels{generation}.csv", "w") as file:
            file.write("src,dst\n")
            file.writelines(f"n{a},n{b}\n" for a, b in zip(src.tolist(), dst.tolist(), strict=True))
        np.save(f"{folder}/x{generation}.npy", answers.rows(range(NODES), generation, 64))
        processed = f"{folder}/mag{generation}/processed"
        os.makedirs(f"{processed}/paper___cites___paper")
        os.makedirs(f"{processed}/paper")
        np.save(f"{processed}/paper___cites___paper/edge_index.npy", np.stack([src, dst]))
        np.save(f"{processed}/paper/node_feat.npy", answers.rows(range(NODES), generation, 32))


def convert_edges(sources, generation, target):
    gz.convert_edges(f"{sources}/edges{generation}.csv", target, memory=MEMORY)


def convert_labels(sources, generation, target):
    gz.convert_edges(f"{sources}/labels{generation}.csv", target, memory=MEMORY)


def convert_features(sources, generation, target):
    gz.convert_features(f"{sources}/x{generation}.npy", target, memory=MEMORY)


def convert_in_order(sources, generation, target):
    """Write the rows in an order of their own, which takes a file in between."""
    order = np.arange(NODES)[:: -1 if generation else 1].copy()
    gz.convert_features(f"{sources}/x{generation}.npy", target, memory=MEMORY, order=order)


def convert_dataset(sources, generation, target):
    gz.convert_dataset(f"{sources}/mag{generation}", target, memory=MEMORY, overwrite=True)


def convert_resumed(sources, generation, target):
    gz.convert_dataset(f"{sources}/mag{generation}", target, memory=MEMORY, overwrite=True, resume=True)


# How each is done, and what it leaves in its folder.
KINDS = {
    "edges": (convert_edges, ["out.gl"]),
    "labels": (convert_labels, ["out.gl", "out.gi"]),
    "features": (convert_features, ["out.gd"]),
    "in order": (convert_in_order, ["out.gd"]),
    "data set": (convert_dataset, ["out"]),
    "resumed": (convert_resumed, ["out"]),
}


def opened_as(path):
    if os.path.isdir(path):
        return gz.open(path)
    return {".gl": gz.Graph, ".gd": gz.FeatureStore, ".gi": gz.IdDictionary}[os.path.splitext(path)[1]](path)


def mark_of(path):
    """Return a number that tells what a file or folder is, after reading all of it."""
    wrong = [check for check in gz.verify(path) if check.state == "fails"]
    if wrong:
        raise gz.FormatError(f"{path}: {wrong[0].name}: {wrong[0].problem}")
    with opened_as(path) as whole:
        return whole._fingerprint if isinstance(whole, gz.Dataset) else whole.fingerprint


def convert(place, name, kind, generation):
    """Convert in a process of its own, and write down what went wrong."""
    errors = open(place.path("journals", f"{name}.stderr"), "w")  # noqa: SIM115 (open as long as the process is)
    os.dup2(errors.fileno(), 2)
    faulthandler.enable(errors)
    journal = Journal(place.path("journals", f"{name}.jsonl"))
    run, files = KINDS[kind]
    journal.write("ready")
    try:
        run(place.path("sources"), generation, place.path("targets", kind, files[0]))
    except Exception as error:
        journal.write("failure", what=f"conversion of {kind} failed", message=f"{type(error).__name__}: {error}")
    journal.write("end")


class Conversions:
    """Starts conversions, and knows what their targets may be."""

    def __init__(self, place, draw, start, failures):
        self._place, self._draw, self._start, self._failures = place, draw, start, failures
        self._number = 0
        self.marks = {}
        self.kills = 0
        write_sources(place.path("sources"))
        for kind, (run, files) in KINDS.items():
            os.makedirs(place.path("targets", kind))
            targets = [place.path("targets", kind, file) for file in files]
            self.marks[kind] = []
            for generation in (1, 0):
                run(place.path("sources"), generation, targets[0])
                self.marks[kind].insert(0, [mark_of(target) for target in targets])

    def clash(self, context):
        """Let two conversions have one target, kill some of them, and look at what is there."""
        kind = self._draw.choice(list(KINDS))
        children = []
        for generation in self._draw.sample([0, 1], 2):
            self._number += 1
            name = f"conversion{self._number}"
            children.append((name, context.Process(target=convert, args=(self._place, name, kind, generation))))
        for _, child in children:
            child.start()
        killed = [self._draw.random() < 0.4 for _ in children]
        self._await_start([name for name, _ in children])
        time.sleep(self._draw.uniform(0, 0.6))
        for (_, child), kill in zip(children, killed, strict=True):
            if kill and child.is_alive():
                child.kill()
                self.kills += 1
        for (name, child), kill in zip(children, killed, strict=True):
            child.join(60)
            if child.is_alive():
                child.kill()
                child.join()
                self._failures.add("hang", f"{name} of {kind} did not end in 60 s")
            elif child.exitcode not in ((0, -9) if kill else (0,)):
                self._failures.add("crash", f"{name} of {kind} ended with {child.exitcode}")
            self._failures.take(name)
        self.look_at(kind)
        return f"two conversions of {kind}"

    def _await_start(self, names):
        """Imports take longer than conversions: a kill should find one at work."""
        end = time.monotonic() + 30
        while time.monotonic() < end and not all(
            os.path.exists(self._place.path("journals", f"{name}.jsonl")) for name in names
        ):
            time.sleep(0.01)

    def look_at(self, kind):
        """Compare the target with both generations: it must be one of them, whole."""
        targets = [self._place.path("targets", kind, file) for file in KINDS[kind][1]]
        try:
            found = [mark_of(target) for target in targets]
        except (OSError, gz.FormatError) as error:
            self._failures.add("lost target", f"{kind}: {error}")
            return
        if found not in self.marks[kind]:
            self._failures.add("mixed target", f"{kind}: expected one of {self.marks[kind]}, found {found}")

    def end(self):
        """Convert once more in peace, which removes what killed ones left, and look for anything else."""
        for kind, (run, files) in KINDS.items():
            for generation in (1, 0):
                run(self._place.path("sources"), generation, self._place.path("targets", kind, files[0]))
            self.look_at(kind)
            left = sorted(set(os.listdir(self._place.path("targets", kind))) - set(files))
            if left:
                self._failures.add("files left", f"beside the target of {kind}: {left}")


def fill_disk(place, name, generation_marks):
    """Convert on a small disk of our own, with and without room, and write down what is not as promised."""
    journal = Journal(place.path("journals", f"{name}.jsonl"))
    disk = place.path("small disk")
    os.makedirs(disk, exist_ok=True)
    if not _mount(disk, 24 << 20):
        journal.write("skipped", message="a small disk: not allowed to mount one here")
        return
    draw = random.Random(f"{place.seed} {name}")
    for kind in ("edges", "features", "data set"):
        run, files = KINDS[kind]
        target, marks = f"{disk}/{files[0]}", [mark for (mark,) in generation_marks[kind]]
        run(place.path("sources"), 0, target)
        for early in (True, False):
            filling = threading.Timer(0 if early else draw.uniform(0, 0.3), _fill, (f"{disk}/ballast",))
            filling.start()
            if early:
                filling.join()
            expected = marks[0]
            try:
                run(place.path("sources"), 1, target)
                expected = marks[1]
            except OSError as error:
                journal.write("full", early=early)
                if error.errno != errno.ENOSPC or disk not in str(error):
                    journal.write("failure", what="unclear error on a full disk", message=f"{kind}: {error!r}")
            filling.join()
            os.remove(f"{disk}/ballast")
            if mark_of(target) != expected:
                journal.write("failure", what="a full disk changed the target", message=kind)
            left = sorted(set(os.listdir(disk)) - {files[0]})
            if left:
                journal.write("failure", what="files left", message=f"{kind} on a full disk: {left}")
            run(place.path("sources"), 0, target)
        shutil.rmtree(target) if os.path.isdir(target) else os.remove(target)
    journal.write("end")


def _fill(path):
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


def _mount(path, size):
    """Mount a file system in memory that only this process sees; return whether that was allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, recursive, private = 0x20000, 0x4000, 0x40000
    return (
        libc.unshare(new_mounts) == 0
        and libc.mount(b"none", b"/", None, recursive | private, None) == 0
        and libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, f"size={size}".encode()) == 0
    )
