"""Conversions that meet: two at once with one target, some killed midway, some on a disk that is full."""

import contextlib
import ctypes
import errno
import faulthandler
import multiprocessing
import os
import random
import shutil
import threading
import time

import numpy as np

import graphzero as gz
from load import answers
from load.journal import Journal

MEMORY = "36MB"  # little more than the least


def write_sources(folder, nodes):
    """Write what conversions read: edges as text with ids and with labels, features, a folder of OGB's kind."""
    os.makedirs(folder)
    for generation in (0, 1):
        src, dst = answers.edges_of(generation, nodes)
        with open(f"{folder}/edges{generation}.csv", "w") as file:
            file.writelines(f"{a},{b}\n" for a, b in zip(src.tolist(), dst.tolist(), strict=True))
        with open(f"{folder}/labels{generation}.csv", "w") as file:
            file.write("src,dst\n")
            file.writelines(f"n{a},n{b}\n" for a, b in zip(src.tolist(), dst.tolist(), strict=True))
        np.save(f"{folder}/x{generation}.npy", answers.rows(range(nodes), generation, 64))
        processed = f"{folder}/mag{generation}/processed"
        os.makedirs(f"{processed}/paper___cites___paper")
        os.makedirs(f"{processed}/paper")
        np.save(f"{processed}/paper___cites___paper/edge_index.npy", np.stack([src, dst]))
        np.save(f"{processed}/paper/node_feat.npy", answers.rows(range(nodes), generation, 32))


def convert_edges(sources, generation, target):
    gz.convert_edges(f"{sources}/edges{generation}.csv", target, memory=MEMORY)


def convert_labels(sources, generation, target):
    gz.convert_edges(f"{sources}/labels{generation}.csv", target, memory=MEMORY)


def convert_features(sources, generation, target):
    gz.convert_features(f"{sources}/x{generation}.npy", target, memory=MEMORY)


def convert_in_order(sources, generation, target):
    """Write the rows in an order of their own, which takes a file in between."""
    source = f"{sources}/x{generation}.npy"
    order = np.arange(len(np.load(source, mmap_mode="r")))[:: -1 if generation else 1].copy()
    gz.convert_features(source, target, memory=MEMORY, order=order)


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
        if isinstance(error, OSError) and error.errno == errno.EBUSY and kind == "resumed":
            journal.write("error", error="OSError", message=str(error))  # the other one converts the same
        else:
            journal.write("failure", what=f"conversion of {kind} failed", message=f"{type(error).__name__}: {error}")
    journal.write("end")


class Conversions:
    """Starts conversions, and knows what their targets may be."""

    def __init__(self, place, methods):
        self._place, self._methods = place, methods
        self._draw = random.Random(f"{place.seed} conversions")
        self._journal = Journal(place.path("journals", "conversions.jsonl"))
        self._number = 0
        self._marks = {}
        write_sources(place.path("sources"), place.size.nodes // 8)
        for kind, (run, files) in KINDS.items():
            os.makedirs(place.path("targets", kind))
            targets = [place.path("targets", kind, file) for file in files]
            self._marks[kind] = []
            for generation in (1, 0):
                run(place.path("sources"), generation, targets[0])
                self._marks[kind].insert(0, [mark_of(target) for target in targets])

    def run(self):
        """Let conversions meet until it is enough."""
        while not self._place.is_over():
            self._clash(self._draw.choice(list(KINDS)))
            if self._number % 40 == 2:
                self._fill_disk()
            time.sleep(self._draw.uniform(0, 1) * self._place.pause)
        self._end()

    def _begin(self, method, body, *arguments):
        self._number += 1
        name = f"conversion{self._number}"
        child = multiprocessing.get_context(method).Process(
            target=body, args=(self._place, name, *arguments), name=name
        )
        child.start()
        return child

    def _clash(self, kind):
        """Let two conversions have one target, kill some of them, and look at what is there."""
        method = self._draw.choice(self._methods)
        both = self._draw.choice([(0, 1), (1, 0), (0, 0), (1, 1)])
        children = [self._begin(method, convert, kind, generation) for generation in both]
        self._await_start(children)
        time.sleep(self._draw.uniform(0, 0.6))
        killed = [child for child in children if self._draw.random() < 0.4 and child.is_alive()]
        for child in killed:
            child.kill()
            self._journal.write("did", what="conversion killed")
        for child in children:
            self._join(child, (0, -9) if child in killed else (0,), kind)
        self._look_at(kind)
        self._journal.write("did", what=f"two conversions at once of {kind}")

    def _await_start(self, children):
        """Imports take longer than conversions: a kill should find one at work."""
        end = time.monotonic() + 30
        paths = [self._place.path("journals", f"{child.name}.jsonl") for child in children]
        while time.monotonic() < end and not all(map(os.path.exists, paths)):
            time.sleep(0.01)

    def _join(self, child, expected, what):
        child.join(self._place.patience)
        if child.is_alive():
            child.kill()
            self._fail("hang", f"{child.name}, {what}, did not end in {self._place.patience} s")
        elif child.exitcode not in expected:
            self._fail("crash", f"{child.name}, {what}, ended with {child.exitcode}, expected one of {expected}")
        child.join()

    def _look_at(self, kind):
        """Compare the target with both generations: it must be one of them, whole."""
        targets = [self._place.path("targets", kind, file) for file in KINDS[kind][1]]
        try:
            found = [mark_of(target) for target in targets]
        except (OSError, gz.FormatError) as error:
            self._fail("lost target", f"{kind}: {error}")
            return
        if found not in self._marks[kind]:
            self._fail("mixed target", f"{kind}: expected one of {self._marks[kind]}, found {found}")

    def _fill_disk(self):
        """Convert on a disk without room, in a process of its own, which alone sees it."""
        self._join(self._begin("fork", fill_disk, self._marks), (0,), "a full disk")

    def _end(self):
        """Convert once more in peace, which removes what killed ones left, and look for anything else."""
        for kind, (run, files) in KINDS.items():
            for generation in (1, 0):
                run(self._place.path("sources"), generation, self._place.path("targets", kind, files[0]))
            self._look_at(kind)
            left = sorted(set(os.listdir(self._place.path("targets", kind))) - set(files))
            if left:
                self._fail("files left", f"beside the target of {kind}: {left}")

    def _fail(self, what, message):
        self._journal.write("failure", what=what, message=message)


def fill_disk(place, name, generation_marks):
    """Convert on a small disk of our own, with and without room, and write down what is not as promised."""
    journal = Journal(place.path("journals", f"{name}.jsonl"))
    disk = place.path("small disk")
    os.makedirs(disk, exist_ok=True)
    # Two data sets fit beside each other, three do not.
    if not _mount(disk, place.size.nodes // 8 * 900):
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
                journal.write("did", what="full disk refused a conversion")
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
