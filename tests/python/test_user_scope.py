"""A limit without root: scopes of the user's systemd, if that runs and limits memory, and a reason if not."""

import subprocess
import sys
import time

import pytest

from graphzero._tools import cgroup, memory_limit, user_scope
from graphzero._tools.cgroup import ControlGroup
from graphzero._tools.child import Child
from graphzero._tools.user_scope import UserScope
from systemd_stand_in import MAKES_SCOPES, OF_OLD, REFUSES, WITHOUT_A_LIMIT, put_systemd_run

# A sanitizer takes more than these scopes hold.
pytestmark = [pytest.mark.no_asan, pytest.mark.no_tsan]

LIMIT = 100 << 20
HOLDS = "import sys; held = b'x' * int(sys.argv[1]); print(len(held))"


@pytest.fixture
def log(monkeypatch, tmp_path):
    """What a systemd-run that makes scopes was asked. Skips where it could not make any."""
    try:
        ControlGroup(LIMIT).close()
    except PermissionError as error:
        pytest.skip(str(error))
    return put_systemd_run(monkeypatch, tmp_path, MAKES_SCOPES)


def holding(scope, size):
    return subprocess.run(scope.command([sys.executable, "-c", HOLDS, str(size)]), capture_output=True, check=False)


def test_commands_run_in_scopes_with_the_limit_and_without_swap(log):
    with UserScope(LIMIT) as scope:
        assert holding(scope, 40 << 20).stdout == b"41943040\n"
        assert holding(scope, 20 << 20).stdout == b"20971520\n"
        usage = scope.usage()
    assert (usage.anonymous, usage.page_cache, usage.kills) == (0, 0, 0)
    assert usage.peak is None or 40 << 20 < usage.peak <= LIMIT  # of the larger one
    probe, *commands = log.read_text().splitlines()
    asked = f"--user --scope --quiet --collect -p MemoryMax={LIMIT} -p MemorySwapMax=0 -p OOMPolicy=continue"
    assert all(line.startswith(f"{asked} {sys.executable} -I {cgroup.__file__} ") for line in (probe, *commands))
    assert probe.endswith(" limit")
    assert len(commands) == 2


def test_a_command_beyond_the_limit_is_killed_and_counted(log):
    with UserScope(LIMIT) as scope:
        assert holding(scope, 300 << 20).returncode == -9
        assert holding(scope, 10 << 20).returncode == 0
        assert scope.usage().kills == 1


def test_what_a_running_command_holds_is_told(log):
    script = "import sys; held = b'x' * (30 << 20); print(1, flush=True); sys.stdin.read()"
    with UserScope(LIMIT) as scope:
        assert scope.usage() == cgroup.GroupUsage(0, 0, None, 0)
        with Child([sys.executable, "-c", script], scope) as child:
            assert next(line for line in child.lines() if line) == "1"
            assert 30 << 20 < scope.usage().anonymous < 70 << 20
        deadline = time.monotonic() + 30
        while scope.usage().peak is not None and time.monotonic() < deadline:  # it was killed and left no notes
            time.sleep(0.02)
        assert scope.usage() == cgroup.GroupUsage(0, 0, None, 0)


def test_an_exit_code_is_that_of_the_command(log):
    with UserScope(LIMIT) as scope:
        assert subprocess.run(scope.command(["sh", "-c", "exit 7"]), check=False).returncode == 7


def test_a_systemd_that_knows_no_policy_for_scopes_is_asked_without(log):
    program = log.parent / "systemd-run"
    program.write_text(program.read_text().replace("\n", f"\n{OF_OLD}", 1))
    with UserScope(LIMIT) as scope:
        assert "OOMPolicy=continue" not in scope.command(["true"])


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (REFUSES, "--user: Failed to connect to bus: No medium found$"),
        ("raise SystemExit(3)", "--user: exit code 3$"),
        (WITHOUT_A_LIMIT, f"--user: expected a scope with a limit of {LIMIT} bytes, found "),
        ("import time; time.sleep(60)", r"--user: no answer within 0 s$"),
    ],
)
def test_a_systemd_run_that_gives_no_limit_is_refused_with_the_reason(script, reason, monkeypatch, tmp_path):
    monkeypatch.setattr(user_scope, "_PATIENCE", 0.3 if "sleep" in script else 30)
    put_systemd_run(monkeypatch, tmp_path, script)
    with pytest.raises(PermissionError, match=reason):
        UserScope(LIMIT)


def test_without_systemd_run_or_if_it_does_not_start_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(user_scope, "SYSTEMD_RUN", "no-such-program")
    with pytest.raises(PermissionError, match="^no-such-program is not installed$"):
        UserScope(LIMIT)
    put_systemd_run(monkeypatch, tmp_path, REFUSES)
    (tmp_path / "systemd-run").write_text("#!/no/such/interpreter\n")
    with pytest.raises(PermissionError, match="systemd-run --user: No such file or directory$"):
        UserScope(LIMIT)


def test_a_control_group_of_our_own_comes_first(log):
    with memory_limit.memory_limit(LIMIT) as limit:
        assert isinstance(limit, ControlGroup)
    assert not log.exists()


def test_without_groups_a_scope_is_taken_and_without_either_both_reasons_are_told(log, monkeypatch, tmp_path):
    monkeypatch.setattr(cgroup, "_parents", lambda: iter([]))
    with memory_limit.memory_limit(LIMIT) as limit:
        assert isinstance(limit, UserScope)
    put_systemd_run(monkeypatch, tmp_path, REFUSES)
    with pytest.raises(PermissionError) as error:
        memory_limit.memory_limit(LIMIT)
    assert str(error.value) == (
        "this process may not create memory control groups (no control group file system with a memory controller is "
        f"mounted), and systemd gives it no scope ({tmp_path}/systemd-run --user: Failed to connect to bus: No medium "
        "found)"
    )


def test_where_no_group_file_system_is_mounted_a_process_has_no_group(monkeypatch):
    monkeypatch.setattr(cgroup.Path, "read_text", lambda path: "")
    with pytest.raises(FileNotFoundError, match="no control group file system with a memory controller is mounted"):
        cgroup.own_group()
