"""What a command prints where somebody looks: it runs at the other end of a terminal."""

import os
import re
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "graphzero"]


def shown(*arguments, columns=100, lines=40, code=0, **environment):
    """Run ``graphzero`` on a terminal and return what it printed there, without colours and cursor movements."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals as Python opens them")
    ours, theirs = pty.openpty()
    around = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": str(lines), **environment}
    child = subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=around)
    os.close(theirs)
    printed = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        printed += part
    os.close(ours)
    assert child.wait() == code, printed.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())
