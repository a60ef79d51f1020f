"""One process that reads one mutated file after the other, and prints the number of each before it starts on it."""

import json
import os
import random
import sys
import traceback
import warnings
from pathlib import Path

from fuzzing import kinds, limits
from fuzzing.places import places

OUT_OF_MEMORY = 77  # the exit code after a file that took more than it may


def target_of(kind, folder, scratch):
    """Make the target of a kind, with ``folder`` for its files; what it converts goes to ``scratch``."""
    os.chdir(scratch)
    warnings.simplefilter("ignore")  # of what is left out, of deprecations and of names that repeat
    target = kinds.make(kind, Path(folder))
    limits.set_limits()
    return target


def run(kind, seed, begin, count, folder, scratch):
    """Try mutations ``begin`` and following; a failure is told and the next is tried."""
    target = target_of(kind, folder, scratch)
    before = limits.peak_memory()
    for number in range(begin, begin + count):
        tell("try", number)
        limits.start_clock()
        try:
            what, text = "outcome", target(random.Random(f"{seed} {kind} {number}"))
        except Exception:
            what, text = "failure", shortened(traceback.format_exc())
        limits.stop_clock()
        grown = limits.peak_memory() - before
        if grown > limits.MOST_MEMORY:
            tell("failure", number, f"took {grown >> 20} MiB of memory")
            return OUT_OF_MEMORY
        tell(what, number, text)
    return 0


def shortened(text):
    """A traceback without its middle, which may be a thousand levels deep."""
    return text if len(text) < 6000 else f"{text[:1000]}\n…\n{text[-4000:]}"


def tell(*facts):
    """Write a line for the parent."""
    print(json.dumps(facts), file=sys.__stdout__, flush=True)


def again(kind, seed, number):
    """Run one mutation here, and let its error through."""
    with places() as (folder, scratch):
        target = target_of(kind, folder, scratch)
        limits.start_clock()
        print(target(random.Random(f"{seed} {kind} {number}")))
        limits.stop_clock()
