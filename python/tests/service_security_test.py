"""What a service lets in, and what it does not: real processes (docs/security.md)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import AccessError, UnavailableError
from service_processes import Server, Service, read, stream, values

CURVE = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"


def openssl(folder: Path, words: str) -> None:
    subprocess.run(
        ["openssl", *words.split()], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, what it signed for this machine, and an authority of nobody."""
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name in ("ca", "other"):
        authority = f"req -x509 {CURVE} -days 2 -subj /CN={name}"
        openssl(folder, f"{authority} -keyout {name}.key -out {name}.pem")
    openssl(folder, f"req {CURVE} -keyout own.key -out own.csr -subj /CN=localhost")
    signed = "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial"
    openssl(folder, f"{signed} -days 2 -extfile names -out own.pem")
    return folder


class Protected:
    """A dispatcher and a worker with mutual TLS and a token."""

    def __init__(self, certificates: Path) -> None:
        self.folder = certificates
        environment = {
            "MILLRACE_TOKEN": "secret",
            "MILLRACE_THREADS": "1",
            "MILLRACE_CERTIFICATE": str(certificates / "own.pem"),
            "MILLRACE_KEY": str(certificates / "own.key"),
            "MILLRACE_CA": str(certificates / "ca.pem"),
        }
        more: dict[str, Any] = {"environment": environment, "python": False}
        self.dispatcher = Server("dispatcher", "--listen", "127.0.0.1:0", **more)
        self.worker = Server("worker", "--join", self.dispatcher.address, **more)

    def read(self, ds: mr.Dataset | None = None, /, **access: str) -> Any:
        files = {name: str(self.folder / file) for name, file in access.items()}
        token = access.get("token", "secret")
        return (ds or mr.range(100).batch(10)).distribute(
            f"millrace://{self.dispatcher.address}",
            access=mr.Access(**{**files, "token": token}),
        )


@pytest.fixture(scope="module")
def protected(certificates: Path) -> Iterator[Protected]:
    running = Protected(certificates)
    yield running
    running.worker.kill()
    running.dispatcher.kill()


OWN = {"certificate": "own.pem", "key": "own.key"}


def test_batches_come_over_mutual_tls(protected: Protected) -> None:
    with protected.read(ca="ca.pem", **OWN) as there:
        assert sorted(values(there, "value")) == list(range(100))


def test_who_has_no_certificate_gets_nothing(protected: Protected) -> None:
    with pytest.raises(UnavailableError):
        next(iter(protected.read(ca="ca.pem")))


def test_a_service_that_others_signed_is_not_trusted(protected: Protected) -> None:
    with pytest.raises(UnavailableError, match="certificate"):
        next(iter(protected.read(ca="other.pem", **OWN)))


def test_who_does_not_speak_tls_gets_nothing(protected: Protected) -> None:
    with pytest.raises(UnavailableError):
        next(iter(protected.read()))


def test_a_certificate_is_no_token(protected: Protected) -> None:
    with pytest.raises(AccessError, match="token"):
        next(iter(protected.read(ca="ca.pem", token="another", **OWN)))


def test_memory_is_shared_behind_tls_and_token_alone(protected: Protected) -> None:
    rows = np.arange(16 << 16).reshape(16, 1 << 16)
    ds = mr.from_arrays({"x": rows}).repeat(16).map(lambda row: {"x": row["x"] + 1})
    with protected.read(ds.batch(4), ca="ca.pem", **OWN) as there:
        firsts = sorted(int(batch["x"][0, 0]) for batch in there)
        assert firsts == sorted([1 + (i << 18) for i in range(4)] * 16)
        assert there.stats()["bytes_shared"] > 0
    with pytest.raises(UnavailableError):
        next(iter(protected.read(ds, ca="ca.pem")))
    with pytest.raises(AccessError, match="token"):
        next(iter(protected.read(ds, ca="ca.pem", token="another", **OWN)))


@pytest.mark.parametrize("verb", ["dispatcher", "worker"])
@pytest.mark.parametrize("secured", [{}, {"MILLRACE_TOKEN": "secret"}])
def test_without_tls_and_token_only_this_machine_is_served(
    verb: str, secured: dict[str, str]
) -> None:
    joins = ["--join", "127.0.0.1:1", "--read-root", "/"]
    join = joins if verb == "worker" else []
    names = ("MILLRACE_TOKEN", "MILLRACE_CERTIFICATE", "MILLRACE_KEY", "MILLRACE_CA")
    plain = {key: value for key, value in os.environ.items() if key not in names}
    started = subprocess.run(
        [
            sys.executable,
            "-m",
            "millrace.command",
            verb,
            "--listen",
            "0.0.0.0:0",
            *join,
        ],
        capture_output=True,
        text=True,
        env={**plain, **secured},
        timeout=60,
    )
    assert started.returncode != 0
    assert "needs TLS and a token" in started.stderr


def test_nothing_that_comes_from_a_service_is_unpickled(tmp_path: Path) -> None:
    """What a worker sends is data: who holds it cannot run code in a trainer."""
    with Service(tmp_path, workers=1) as service:
        program = f"""
import sys
import millrace as mr

found = []
watching = False

def watch(event, arguments):
    if watching and event in ("pickle.find_class", "marshal.loads"):
        found.append((event, arguments))

def twice(row):
    return {{"x": int(row["value"]) * 2}}

ds = mr.range(40).map(twice, python=True).batch(4)
access = mr.Access(token={service.token!r})
sys.addaudithook(watch)
with ds.distribute({service.address!r}, access=access) as loader:
    batches = iter(loader)
    rows = next(batches)["x"].tolist()  # What is imported late is imported by now.
    watching = True
    for batch in batches:
        rows += batch["x"].tolist()
    loader.state_dict()
    for batch in loader:
        pass
watching = False
assert sorted(rows) == [2 * i for i in range(40)], rows
assert not found, found
import pickle
watching = True
pickle.loads(pickle.dumps(mr.Access))
assert found, "the hook sees what is unpickled"
"""
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr


# --- Those who mean harm ---

GARBAGE = (
    b"",  # It connects, and says nothing.
    b"POST /v1/jobs/open HTTP/1.1\r\nHost: 127.0.0.1\r\n",  # And never the rest.
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS, to who speaks none.
    b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"POST /v1/jobs/open HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
    b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: millrace-stream/1\r\n\r\n",  # Without a token.
    b"X" * 65536,
)


def hostile(address: str, count: int) -> list[socket.socket]:
    host, port = address.rsplit(":", 1)
    sockets = []
    for number in range(count):
        one = socket.create_connection((host, int(port)))
        sockets.append(one)
        try:
            one.sendall(GARBAGE[number % len(GARBAGE)])
        except OSError:  # It was turned away meanwhile.
            continue
    return sockets


def memory_of(process: int) -> int:
    """Give the bytes that a process has in memory."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_hostile_connections_stall_nobody_and_cost_little(tmp_path: Path) -> None:
    with (
        Service(tmp_path, workers=1, python=False) as service,
        read(service, stream()) as there,
    ):
        batches = iter(there)
        found = values([next(batches)])
        servers = (service.dispatcher, service.workers[0])
        before = [memory_of(server.process.pid) for server in servers]
        sockets = []
        for server in servers:
            sockets += hostile(server.address, 400)
        found += values(batches)
        assert sorted(found) == list(range(1000))
        other = read(service, mr.range(20).batch(4))  # New ones are let in, too.
        assert sorted(values(other, "value")) == list(range(20))
        other.close()
        for server, memory in zip(servers, before, strict=True):
            assert server.process.poll() is None
            assert memory_of(server.process.pid) - memory < 64 << 20
        for one in sockets:
            one.close()


def test_a_lying_reader_harms_no_other(tmp_path: Path) -> None:
    """It has the token, and wants rows of lanes that are not there."""
    with (
        Service(tmp_path, workers=1, python=False) as service,
        read(service, stream()) as there,
    ):
        batches = iter(there)
        found = values([next(batches)])
        host, port = service.workers[0].address.rsplit(":", 1)
        liar = socket.create_connection((host, int(port)))
        liar.sendall(
            b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Authorization: Bearer " + service.token.encode() + b"\r\n"
            b"Connection: Upgrade\r\nUpgrade: millrace-stream/1\r\n\r\n"
        )
        assert b"101" in liar.recv(4096)
        done = threading.Event()

        def lie() -> None:
            while not done.is_set():
                try:
                    liar.sendall(b"\xff" * 4096)
                except OSError:
                    return

        lying = threading.Thread(target=lie)
        lying.start()
        found += values(batches)
        done.set()
        liar.close()
        lying.join()
        assert sorted(found) == list(range(1000))
