"""The command line of the harness."""

import argparse
import os
import sys
from functools import partial

from fuzzing import child, kinds, parent

SHOWN = 20  # failures of each kind that are told in full, one of those that end alike


def main():
    """Run what the arguments ask for, and return the exit code."""
    arguments = _parser().parse_args()
    if arguments.child:
        kind, seed, begin, count, folder, scratch = arguments.one
        return child.run(kind, int(seed), int(begin), int(count), folder, scratch)
    if arguments.one:
        if len(arguments.one) != 3:
            sys.exit("expected KIND SEED NUMBER")
        kind, seed, number = arguments.one
        child.again(kind, int(seed), int(number))
        return 0
    counts = parent.shares(arguments.count, arguments.kinds)
    told = partial(_tell, arguments.seed)
    tallies = parent.run_all(counts, arguments.seed, arguments.jobs, arguments.first, told=told)
    for kind, tally in tallies.items():
        alike = {}
        for number, text in tally.failures:
            alike.setdefault(_place(text), []).append((number, text))
        for failures in list(alike.values())[:SHOWN]:
            number, text = failures[0]
            print(f"\n{kind} {arguments.seed} {number}, and {len(failures) - 1} alike: {text}")
    print("\n" + "\n".join(parent.table(tallies)))
    return 1 if any(tally.failures for tally in tallies.values()) else 0


def _tell(seed, kind, number, text):
    print(f"{kind} {seed} {number}: {text.strip().splitlines()[-1][:200]}", file=sys.stderr, flush=True)


def _place(text):
    """The last place that a traceback names, and how its message begins."""
    lines = text.strip().splitlines()
    places = [line for line in lines if line.lstrip().startswith("File ")]
    return (places[-1], lines[-1][:60]) if places else lines[0]


def _parser():
    parser = argparse.ArgumentParser(prog="python tests/fuzzing", description=__doc__)
    parser.add_argument("one", nargs="*", metavar="KIND SEED NUMBER", help="run this mutation alone")
    parser.add_argument("--count", type=int, default=200_000, help="how many files, of all kinds together")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutation of each kind")
    parser.add_argument("--kinds", nargs="+", default=list(kinds.SHARES), choices=kinds.SHARES)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser
