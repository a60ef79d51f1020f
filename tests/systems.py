"""What tests ask of the system they run on. What Windows lacks is skipped there, with the reason."""

import functools
import importlib
import os
import signal
import subprocess
import sys

import pytest

IS_WINDOWS = sys.platform == "win32"

# A decorator: @posix_only(reason="Windows has no fork").
posix_only = functools.partial(pytest.mark.skipif, IS_WINDOWS)

NO_LIMITS = "Windows has no setrlimit"
NO_USAGE = "Windows has neither getrusage nor /proc"
NO_DESCRIPTORS = "Windows lists neither threads nor open files of a process below /proc"
NO_FORK = "Windows does not fork"
NO_PIPES = "Windows has no mkfifo"
NO_LINKS = "Windows lets only administrators make symbolic links"
NO_MODES = "Windows has no permission bits"
NO_DEVICES = "Windows has no devices below /dev"
NO_CALLS = "Windows has neither seccomp nor mount"
NO_CUT = "Windows lets nobody cut a file that is mapped"
NO_REPLACING = "Windows lets nobody replace a file that is mapped"
NO_DROPPING = "Windows has no call that drops a file from the page cache"
NO_BYTES = "paths are text on Windows"

resource = None if IS_WINDOWS else importlib.import_module("resource")


def killed(code):
    """Tell whether an exit code is that of a process that was killed."""
    return code == (9 if IS_WINDOWS else -signal.SIGKILL)


# Lines for another process, on Windows: Ctrl-C goes to all at a console, and only to these.
_PRESS_CTRL_C = """
import ctypes, sys
kernel = ctypes.WinDLL("kernel32", use_last_error=True)
kernel.FreeConsole()
assert kernel.AttachConsole(int(sys.argv[1])), ctypes.get_last_error()
assert kernel.SetConsoleCtrlHandler(None, True), ctypes.get_last_error()
assert kernel.GenerateConsoleCtrlEvent(0, 0), ctypes.get_last_error()
"""


def start(command, **options):
    """Start a process that interrupt() can reach: on Windows it has a console of its own."""
    flags = {"creationflags": subprocess.CREATE_NO_WINDOW} if IS_WINDOWS else {}
    return subprocess.Popen([os.fspath(word) for word in command], **flags, **options)


def interrupt(process):
    """Do what Ctrl-C does to a process of start()."""
    if IS_WINDOWS:
        subprocess.run([sys.executable, "-c", _PRESS_CTRL_C, str(process.pid)], check=True)
    else:
        process.send_signal(signal.SIGINT)
