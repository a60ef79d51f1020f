"""A ``systemd-run`` for tests: no systemd runs in a container, but root may make the group that a scope would be."""

import stat
import sys
import textwrap

from graphzero._tools import cgroup, user_scope

REFUSES = "import sys; sys.exit('Failed to connect to bus: No medium found')"
OF_OLD = "import sys; 'OOMPolicy=continue' in sys.argv and sys.exit('Unknown assignment: OOMPolicy=continue')\n"
WITHOUT_A_LIMIT = "import os, sys; command = sys.argv[sys.argv.index(sys.executable) :]; os.execv(command[0], command)"
# Enters a new group with the limit asked for, and becomes the command. A second process removes the group, as systemd
# does with a scope, when it is empty.
MAKES_SCOPES = f"""
import os, sys, time
sys.path.insert(0, {cgroup.__file__.rsplit("/", 1)[0]!r})
from cgroup import ControlGroup
with open({{log!r}}, "a") as log:
    print(*sys.argv[1:], file=log)
limit = int(next(word for word in sys.argv if word.startswith("MemoryMax=")).removeprefix("MemoryMax="))
group = ControlGroup(limit)
command = sys.argv[sys.argv.index(sys.executable) :]
inside = group.command(command)
becomes_it = os.getpid()
if os.fork() == 0:
    os.setsid()
    for stream in (0, 1, 2):
        os.close(stream)
    procs = group.path / "cgroup.procs"
    while os.getppid() == becomes_it and not procs.read_text():  # until the command is in, or has ended
        time.sleep(0.02)
    while group.path.exists():
        try:
            group.path.rmdir()
        except OSError:
            time.sleep(0.02)
    os._exit(0)
os.execv(inside[0], inside)
"""


def put_systemd_run(monkeypatch, folder, script):
    """Make ``script`` the systemd-run of this process. Returns the file that MAKES_SCOPES writes its arguments to."""
    path, log = folder / "systemd-run", folder / "log"
    script = script.format(log=str(log)) if "{log" in script else script
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(script)}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(user_scope, "SYSTEMD_RUN", str(path))
    return log
