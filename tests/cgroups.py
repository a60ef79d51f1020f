"""Memory control groups for tests: run a command that may use so much and no more, page cache included."""

import pytest

from graphzero._tools.cgroup import ControlGroup


def limited_to(limit, command):
    """The command, run in a new control group of ``limit`` bytes. Skips where that is not allowed."""
    try:
        return ControlGroup(limit).command(command)
    except PermissionError as error:
        pytest.skip(str(error))
