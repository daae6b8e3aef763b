"""An S3 server on loopback, and a proxy before it that counts."""

from __future__ import annotations

import http.client
import http.server
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

REGION = "us-east-1"


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, "the server does not start"
                time.sleep(0.2)
        yield url
    finally:
        process.kill()
        process.wait()


def settings(url: str) -> dict[str, str]:
    """The environment in which a client finds the server."""
    return {
        "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION,
    }  # fmt: skip


class Proxy:
    """Passes requests on to a server, and counts them and the bytes of the bodies of the responses."""

    def __init__(self, server: str) -> None:
        self._lock = threading.Lock()
        self.requests = self.nbytes = 0
        #: Seconds by which each response is late, as over a network.
        self.delay = 0.0
        #: Whether ranges are cut out of objects in memory, which must not change. A server may take longer for it than
        #: a client for all that it does.
        self.keeps = False
        kept: dict[str, tuple[list[tuple[str, str]], bytes]] = {}
        host = server.removeprefix("http://")
        connections = threading.local()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body of a response are two writes: the second must not wait for an acknowledgement.
            disable_nagle_algorithm = True

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
                if proxy.keeps and asked and self.command == "GET":
                    status, headers, data = self.part(*asked.groups())
                else:
                    status, headers, data = self.fetch(body, dict(self.headers))
                proxy._count(len(data))
                self.send_response_only(status)
                length = dict(headers).get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
                for name, value in headers:
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", length)
                self.end_headers()
                self.wfile.write(data)

            def fetch(self, body: bytes, headers: dict[str, str]) -> tuple[int, list[tuple[str, str]], bytes]:
                if not hasattr(connections, "server"):
                    connections.server = http.client.HTTPConnection(host, timeout=60)
                connections.server.request(self.command, self.path, body, headers)
                response = connections.server.getresponse()
                return response.status, response.getheaders(), response.read()

            def part(self, first: str, last: str) -> tuple[int, list[tuple[str, str]], bytes]:
                if self.path not in kept:
                    whole = {name: value for name, value in self.headers.items() if name.lower() != "range"}
                    status, headers, data = self.fetch(b"", whole)
                    if status != 200:
                        return status, headers, data
                    # A checksum is that of the whole object.
                    headers = [(name, value) for name, value in headers if "checksum" not in name.lower()]
                    kept[self.path] = headers, data
                headers, data = kept[self.path]
                begin = int(first) if first else max(len(data) - int(last), 0)
                end = min(int(last) + 1, len(data)) if first and last else len(data)
                if begin >= end:
                    return 416, [], b""
                return 206, [*headers, ("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")], data[begin:end]

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _count(self, nbytes: int) -> None:
        time.sleep(self.delay)
        with self._lock:
            self.requests += 1
            self.nbytes += nbytes

    def taken(self) -> tuple[int, int]:
        """Requests and bytes since the last call."""
        with self._lock:
            found = self.requests, self.nbytes
            self.requests = self.nbytes = 0
        return found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
