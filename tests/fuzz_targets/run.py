"""Runs every libFuzzer target for its share of a time and prints what each has seen."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = ("text_edges", "text_labels", "feature_text")
# Small headers whose numbers must fit each other: libFuzzer notes how near it came, which would slow down the others.
GUESSED = ("graphzero02", "control_groups", "read_cost")
# Seconds for one input, many since a machine may be busy, and megabytes: at once, and in all with what the sanitizers
# hold themselves.
LIMITS = ("-timeout=60", "-malloc_limit_mb=512", "-rss_limit_mb=2048")


@dataclass
class Result:
    target: str
    runs: int
    coverage: int
    seconds: float
    processor: float  # seconds of a core: fewer on a machine that others use too
    findings: list[Path]
    log: Path


def number(pattern, text):
    """The last number that ``pattern`` finds; 0 if there is none."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def write_seeds(build):
    corpus = build / "corpus"
    subprocess.run([build / "tests/fuzz_targets/fuzz_seeds", corpus], check=True)
    old = corpus / "graphzero02"
    old.mkdir(exist_ok=True)
    for path in sorted((HERE.parent / "data/graphzero02").glob("*.g[ld]")):
        shutil.copy(path, old)


def run(target, build, seconds):
    corpus, findings = build / "corpus" / target, build / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    log = build / f"{target}.log"
    command = [
        build / f"tests/fuzz_targets/fuzz_{target}",
        corpus,
        f"-max_total_time={seconds}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        *LIMITS,
        *([f"-dict={HERE / 'text.dict'}"] if target in TEXTS else []),
        *(["-use_value_profile=1"] if target in GUESSED else []),
    ]
    # What a target writes goes to memory where there is such a place.
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir=memory) as scratch, open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": scratch}
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    text = log.read_text(errors="replace")
    found = sorted(set(findings.iterdir()) - known)
    if status != 0 and not found:
        found = [log]  # it ended before or beside an input
    runs = number(r"stat::number_of_executed_units: (\d+)", text)
    processor = usage.ru_utime + usage.ru_stime
    return Result(target, runs, number(r"cov: (\d+)", text), seconds, processor, found, log)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build folder of the preset fuzz")
    parser.add_argument("--seconds", type=int, default=3600, help="in all")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="targets that run at the same time")
    parser.add_argument("--targets", nargs="*", metavar="TARGET", help="some of them alone")
    options = parser.parse_args()
    build = options.build.resolve()
    write_seeds(build)
    targets = options.targets or sorted(path.name for path in (build / "corpus").iterdir())
    each = max(options.seconds * options.cores // len(targets), 1)
    with ThreadPoolExecutor(options.cores) as pool:
        results = list(pool.map(lambda target: run(target, build, each), targets))
    print(f"{'target':<16}{'runs':>12}{'coverage':>10}{'seconds':>9}{'of a core':>11}{'findings':>10}")
    for result in results:
        times = f"{result.seconds:>9.0f}{result.processor:>11.0f}"
        print(f"{result.target:<16}{result.runs:>12,}{result.coverage:>10,}{times}{len(result.findings):>10}")
    for result in results:
        for path in result.findings:
            print(f"{result.target}: {path}, told in {result.log}", file=sys.stderr)
    sys.exit(any(result.findings for result in results))


if __name__ == "__main__":
    main()
