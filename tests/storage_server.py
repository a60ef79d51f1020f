"""A server of object storage for tests: moto in a process of its own, behind a relay that can be cut."""

import contextlib
import importlib.util
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI%2FK7MDENG"


class StorageServer:
    """``s3://`` at ``endpoint``, with one bucket. ``cut()`` closes all connections and takes no new ones."""

    bucket = "bucket"

    def __init__(self, folder):
        self._moto = _free_port()
        self._log = open(os.path.join(folder, "moto.log"), "wb")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._moto)],
            stdout=self._log,
            stderr=self._log,
        )
        self._port = _free_port()
        self._listener = None
        self._open = set()
        _wait_for(self._moto)
        self.mend()

    @property
    def credentials(self):
        """What the environment has to have."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._port}"

    @property
    def direct(self):
        """Host and port that no cut reaches."""
        return f"127.0.0.1:{self._moto}"

    def check_credentials(self, after):
        """Refuse unknown keys after so many requests, or never if there are very many."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._moto}/moto-api/reset-auth",
            str(after).encode(),
            {"Content-Type": "text/plain"},
            method="POST",
        )
        urllib.request.urlopen(request).close()

    def make_bucket(self):
        """Begin with an empty bucket."""
        for path, method in (("/moto-api/reset", "POST"), (f"/{self.bucket}", "PUT")):
            request = urllib.request.Request(f"http://127.0.0.1:{self._moto}{path}", method=method)
            urllib.request.urlopen(request).close()

    def cut(self):
        """End all connections; new ones are refused."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def mend(self):
        """Take connections again."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self._port))
            threading.Thread(target=self._serve, args=[self._listener], daemon=True).start()

    def stop(self):
        """End the server."""
        self.cut()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self._log.close()

    def _serve(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._moto))
                self._open.add(client)
                threading.Thread(target=self._relay, args=[client, server], daemon=True).start()

    def _relay(self, client, server):
        with client, server, contextlib.suppress(OSError):
            other = {client: server, server: client}
            while True:
                for ready in _ready(client, server):
                    data = ready.recv(1 << 16)
                    if not data:
                        self._open.discard(client)
                        return
                    other[ready].sendall(data)


def _ready(*sockets):
    """Return those that have data; select() itself cannot count as far as there are connections."""
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLIN)
    found = {descriptor for descriptor, _ in poll.poll()}
    return [one for one in sockets if one.fileno() in found]


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _wait_for(port):
    for _ in range(300):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.1)
    raise TimeoutError("the server of object storage does not answer")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory):
    """One server for all tests of a process."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        pytest.skip("no S3 server: pip install 'moto[s3]' flask flask-cors")
    server = StorageServer(tmp_path_factory.mktemp("moto"))
    yield server
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """An empty bucket, and credentials in the environment."""
    s3_server.mend()
    s3_server.check_credentials(10**9)
    s3_server.make_bucket()
    for name, value in s3_server.credentials.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(params=["file", "fsspec", "s3"])
def storage(request, tmp_path):
    """The URL of an empty place in each kind of storage."""
    pytest.importorskip("pyarrow.fs")
    if request.param == "file":
        return (tmp_path / "stored").as_uri()
    if request.param == "fsspec":
        pytest.importorskip("fsspec")
        return f"local://{tmp_path / 'stored'}"
    server = request.getfixturevalue("s3")
    return f"s3://{server.bucket}"
