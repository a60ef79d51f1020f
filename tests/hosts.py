"""Hosts on one machine: network namespaces that a bridge joins, or processes on the loopback without the rights."""

import ctypes
import os
import shutil
import subprocess

_CLONE_NEWNET = 0x40000000


def can_make_namespaces():
    """Whether this process may make network namespaces and join them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"gz{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if not made:
        return False
    links = ["ip", "-n", name, "link", "add", "br0", "type", "bridge"]
    joined = subprocess.run(links, capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "del", name], check=True)
    return joined


class Loopback:
    """Processes of one machine."""

    interface = "lo"

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def address(self, host):
        return "127.0.0.1"

    def start(self, host, command, **options):
        """Start a process on a host."""
        return subprocess.Popen(self.prefix(host) + [str(word) for word in command], **options)

    def prefix(self, host):
        return []

    def network(self, host):
        """Return what ``join_network()`` needs to move this process, in which nothing runs yet, to a host."""
        return None


def join_network(network):
    if network is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open(network, os.O_RDONLY)
    if libc.setns(file, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), network)
    os.close(file)


class Namespaces(Loopback):
    """Hosts with an address each, on a bridge in a namespace of its own: the machine's network is not touched."""

    interface = "eth0"

    def __init__(self, count):
        super().__init__(count)
        self._switch = f"gz{os.getpid()}-s"

    def __enter__(self):
        try:
            self._ip("netns", "add", self._switch)
            self._ip("-n", self._switch, "link", "add", "br0", "type", "bridge")
            self._ip("-n", self._switch, "link", "set", "br0", "up")
            for host in range(self.count):
                self._add(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in [self._name(host) for host in range(self.count)] + [self._switch]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def address(self, host):
        return f"10.77.0.{host + 1}"

    def prefix(self, host):
        return ["ip", "netns", "exec", self._name(host)]

    def network(self, host):
        return f"/run/netns/{self._name(host)}"

    def cut(self, host):
        """Pull the cable of a host: nothing arrives any more, and nobody is told."""
        self._ip("-n", self._switch, "link", "set", f"port{host}", "down")

    def mend(self, host):
        """Put it in again."""
        self._ip("-n", self._switch, "link", "set", f"port{host}", "up")

    def _add(self, host):
        name, port = self._name(host), f"port{host}"
        self._ip("netns", "add", name)
        self._ip("-n", name, "link", "set", "lo", "up")
        self._ip("-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        self._ip("-n", self._switch, "link", "set", port, "master", "br0", "up")
        self._ip("-n", name, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        self._ip("-n", name, "link", "set", "eth0", "up")

    def _name(self, host):
        return f"gz{os.getpid()}-{host}"

    def _ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
