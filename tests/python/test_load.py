"""The load test, for a few seconds: workers on one data set while it is disturbed. `make load` is the long one."""

import os
import pathlib
import subprocess
import sys

import pytest

LOAD_TRIAL = pathlib.Path(__file__).parents[1] / "load_trial.py"


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_workers_get_right_batches_or_clear_errors_whatever_happens_to_the_files(tmp_path):
    pytest.importorskip("torch_geometric")
    short = "--seconds 3 --processes 2 --lasting 1 --threads 4 --nodes 20000 --rest-every 0.5 --pause 0.3 --seed 15"
    done = subprocess.run(
        [sys.executable, LOAD_TRIAL, *short.split(), "--methods", "fork", "--folder", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all as promised" in done.stdout
    assert os.listdir(tmp_path) == []
