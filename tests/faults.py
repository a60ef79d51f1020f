"""What a system may refuse, in processes of their own: calls that fail, and libraries in between."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest


def run(code, *, env=None):
    """Run some lines in a process of its own; their last line is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


DENY_RING = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
# Load the number of the system call; {first} to {last} of io_uring fail with EPERM, all others pass.
lines = [(0x20, 0, 0, 0), (0x35, 0, 2, {first}), (0x25, 1, 0, {last}), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(len(lines), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program)) == 0
"""


# Takes /proc away where nobody else sees it; prints null where that is not allowed.
NO_PROC = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, RECURSIVE, PRIVATE, DETACH = 0x20000, 0x4000, 0x40000, 2
allowed = (
    libc.unshare(NEW_MOUNTS) == 0
    and libc.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None) == 0
    and libc.umount2(b"/proc", DETACH) == 0
)
if not allowed:
    sys.exit(print("null"))
assert not os.path.exists("/proc/meminfo")
"""


# Mounts the folder the process is in once more, read-only, where nobody else sees it; prints null where that is not
# allowed.
READ_ONLY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
here = os.getcwd().encode()
NEW_MOUNTS, BIND, REMOUNT, RDONLY, RECURSIVE, PRIVATE = 0x20000, 0x1000, 0x20, 0x1, 0x4000, 0x40000
allowed = (
    libc.unshare(NEW_MOUNTS) == 0
    and libc.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None) == 0
    and libc.mount(here, here, None, BIND, None) == 0
    and libc.mount(here, here, None, BIND | REMOUNT | RDONLY, None) == 0
)
if not allowed:
    sys.exit(print("null"))
os.chdir(here)
try:
    open("new", "w")
    sys.exit("the folder is not read-only")
except OSError as error:
    assert error.errno == 30, error  # EROFS
"""


# Stands between us and the C library. FAULT=pread:OFFSET fails reads at that byte with EIO, FAULT=short gives less
# than asked for and interrupts every third call, FAULT=enter:ERRNO:EVERY fails every EVERY-th io_uring_enter,
# FAULT=slow makes either take 200 ms, FAULT=unmap:SIZE maps an empty file where so much was unmapped, and reads it.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned calls;

ssize_t pread(int file, void* into, size_t size, off_t offset) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pread");
  const char* fault = getenv("FAULT");
  long long at;
  if (fault && sscanf(fault, "pread:%lld", &at) == 1 && offset == at) return errno = EIO, -1;
  if (fault && strcmp(fault, "slow") == 0) usleep(200000);
  if (fault && strcmp(fault, "short") == 0 && size > 512) {
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 3 == 2) return errno = EINTR, -1;
    size = size / 1024 * 512;
  }
  return real(file, into, size, offset);
}

int munmap(void* data, size_t size) {
  static int (*real)(void*, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "munmap");
  const int result = real(data, size);
  const char* fault = getenv("FAULT");
  unsigned long long wanted;
  if (fault && sscanf(fault, "unmap:%llu", &wanted) == 1 && size == wanted) {
    const volatile char* other =
        mmap(data, size, PROT_READ, MAP_SHARED | MAP_FIXED, memfd_create("empty", 0), 0);
    (void)*other;
  }
  return result;
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (!real) real = dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  const char* fault = getenv("FAULT");
  int code, every;
  if (number == 426 && fault && strcmp(fault, "slow") == 0) usleep(200000);
  if (number == 426 && fault && sscanf(fault, "enter:%d:%d", &code, &every) == 2 &&
      __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % every == every - 1)
    return errno = code, -1;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def compiled_shim(folder):
    """Build the shim in ``folder``; returns a function from FAULT to the environment that puts it in between."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler to make the faults with")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return lambda fault: {"LD_PRELOAD": str(folder / "shim.so"), "FAULT": fault}
