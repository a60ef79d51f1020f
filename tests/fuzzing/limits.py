"""Memory and time that one file may take."""

import faulthandler
import os
import resource
import sys
from pathlib import Path

MOST_MEMORY = 512 << 20  # bytes more than at the start: a header may claim 2^62
MOST_ADDRESSES = 4 << 30  # the same for address space, where a sanitizer does not need all of it
LARGEST_FILE = 256 << 20  # bytes that are written: an id may stand for a graph of any size
MOST_SECONDS = 180  # for one file; most take a millisecond, but other processes may want the machine too


def set_limits():
    """Turn an allocation as large as a header claims into a MemoryError, which is a failure here.

    A file as large as that is an OSError, which is none: whoever converts files of strangers sets such a limit.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    if "LD_PRELOAD" not in os.environ:  # a sanitizer's runtime is preloaded
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_ADDRESSES, used + MOST_ADDRESSES))


def peak_memory():
    """The most bytes that were resident so far; getrusage would count what the parent had when it forked."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def start_clock():
    """End the process, with a traceback of all threads, unless the clock is started again in time."""
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=sys.__stderr__)


def stop_clock():
    """A process that waits for nothing may take as long as it likes."""
    faulthandler.cancel_dump_traceback_later()
