"""Commands in a memory control group stay within it, and the group tells what they held."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphzero._tools import cgroup
from graphzero._tools.cgroup import ControlGroup

# A sanitizer takes more than these groups hold.
pytestmark = [pytest.mark.no_asan, pytest.mark.no_tsan]

HOLDS = "import sys; held = b'x' * int(sys.argv[1]); print(len(held))"


@pytest.fixture
def group():
    try:
        made = ControlGroup(100 << 20)
    except PermissionError as error:
        pytest.skip(str(error))
    with made:
        yield made


def holding(group, size):
    return subprocess.run(group.command([sys.executable, "-c", HOLDS, str(size)]), capture_output=True, check=False)


def test_a_default_budget_is_half_of_what_the_group_has_left(group):
    code = "import sys; held = b'x' * (40 << 20); from graphzero._base.memory_sizes import pipeline_budget as budget"
    done = subprocess.run(
        group.command([sys.executable, "-c", f"{code}; print(budget())"]), capture_output=True, check=True
    )
    assert 10 << 20 < int(done.stdout) < 30 << 20


def test_a_command_within_the_limit_runs_and_its_peak_is_told(group):
    done = holding(group, 40 << 20)
    assert (done.returncode, done.stdout) == (0, b"41943040\n")
    usage = group.usage()
    assert usage.kills == 0
    assert usage.peak is None or 40 << 20 < usage.peak <= group.limit


def test_a_command_beyond_the_limit_is_killed_and_counted(group):
    assert holding(group, 300 << 20).returncode == -9
    assert group.usage().kills >= 1


def test_what_a_running_command_holds_is_told_by_kind(group):
    Path("file").write_bytes(bytes(20 << 20))
    os.sync()
    script = "import sys; held = b'x' * (30 << 20); open('file', 'rb').read(); print(1, flush=True); sys.stdin.read()"
    command = group.command([sys.executable, "-c", script])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        running.stdout.readline()
        assert 30 << 20 < group.usage().anonymous < 60 << 20
        running.communicate()


def test_close_removes_the_group_and_may_be_called_again(group):
    group.close()
    assert not group.path.exists()
    group.close()


def test_where_no_group_can_be_made_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(cgroup, "_parents", lambda: iter([(tmp_path / "none", 2)]))
    with pytest.raises(PermissionError, match=r"may not create memory control groups \(.*none: No such file"):
        ControlGroup(1 << 20)
    monkeypatch.setattr(cgroup, "_parents", lambda: iter([(tmp_path, 2)]))
    with pytest.raises(PermissionError, match="processes may not be put into a group of it"):
        ControlGroup(1 << 20)
    monkeypatch.setattr(cgroup, "_parents", lambda: iter([]))
    with pytest.raises(PermissionError, match="no control group file system with a memory controller is mounted"):
        ControlGroup(1 << 20)
