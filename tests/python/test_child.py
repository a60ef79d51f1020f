"""Output of a child process is read until it ends; it shows why it failed, and leaves nothing running."""

import sys
import time

from graphzero._tools.child import Child


def test_lines_are_heard_and_silence_too():
    script = "import sys; print('one', flush=True); sys.stdin.readline(); print('two')"
    with Child([sys.executable, "-c", script]) as child:
        read = []
        for line in child.lines(0.05):
            read.append(line)
            if line is None:
                child.send_line()
        assert child.wait() == 0
    assert [line for line in read if line] == ["one", "two"]
    assert None in read


def test_a_line_that_was_cut_off_is_not_heard():
    with Child([sys.executable, "-c", "print('whole'); print('cut', end='')"]) as child:
        assert [line for line in child.lines() if line] == ["whole"]


def test_a_child_that_closes_its_output_is_heard_until_it_ends():
    with Child([sys.executable, "-c", "import os, time; os.close(1); time.sleep(1); os._exit(3)"]) as child:
        assert list(child.lines(0.05)).count(None) >= 3
        assert child.wait() == 3


def test_the_last_error_line_is_the_last_that_is_not_blank():
    with Child([sys.executable, "-c", "raise ValueError('boom')"]) as child:
        assert (child.wait(), child.last_error_line()) == (1, "ValueError: boom")


def test_leaving_the_block_ends_all_that_it_has_started():
    script = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); input()"
    with Child([sys.executable, "-c", script]) as child:
        started = int(next(line for line in child.lines() if line))
    deadline = time.monotonic() + 10
    while is_running(started) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(started)
    assert child.wait() == -9


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"  # whoever adopts it may be slow to reap it
    except FileNotFoundError:
        return False
