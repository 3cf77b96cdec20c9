"""What the trainer, the template process and the workers say to each other.

One message is one packet of a local socket, so a reader never sees half of one. What
does not fit in a packet goes through a memfd that travels with it.
"""

import os
import pickle
import socket
from dataclasses import dataclass, field
from typing import Any

from millrace.torch.channel import Parcel
from millrace.torch.plan import Seeds

_PACKET_BYTES = 128 << 10
_PACKET_PAYLOAD_MAX = 64 << 10
_DESCRIPTORS_MAX = 250
_BY_DESCRIPTOR = b"\0"


@dataclass
class StartWorker:
    """To the template: fork worker `number`; its socket travels with the message."""

    number: int


@dataclass
class Close:
    """To the template: the workers are about to leave by themselves."""


@dataclass
class WorkerExit:
    """From the template: a worker has ended."""

    number: int
    pid: int
    code: int


@dataclass
class TemplateFailure:
    """From the template: the dataset did not arrive."""

    error: bytes
    trace: str


@dataclass
class Hello:
    """From a worker: ready for requests."""


@dataclass
class OpenStream:
    """To a worker: begin a pass of the iterable dataset, `taken` batches in."""

    seeds: Seeds
    taken: int
    released: list[int] = field(default_factory=list)


@dataclass
class MakeBatch:
    """To a worker: make the batch of these rows."""

    generation: int
    number: int
    seed: int
    index: Any
    released: list[int] = field(default_factory=list)


@dataclass
class ReadRows:
    """To a worker: read those rows of a batch that are in its range."""

    generation: int
    number: int
    keys: list[int]
    released: list[int] = field(default_factory=list)


@dataclass
class CollateRows:
    """To a worker: collate the rows that the owners have read."""

    generation: int
    number: int
    seed: int
    parts: list[bytes]
    owners: bytes
    released: list[int] = field(default_factory=list)


@dataclass
class NextBatch:
    """To a worker: make the next batch of its stream."""

    generation: int
    number: int
    released: list[int] = field(default_factory=list)


BatchRequest = MakeBatch | ReadRows | CollateRows | NextBatch
Request = OpenStream | BatchRequest


@dataclass
class Batch:
    """From a worker: a batch; no parcel means that its stream has ended."""

    generation: int
    number: int
    parcel: Parcel | None
    copies: bool = False  # The worker has copied much of what it shares.


@dataclass
class Failure:
    """From a worker: the user's code raised this."""

    generation: int
    number: int
    error: bytes
    trace: str


def send(
    connection: socket.socket, message: Any, descriptors: list[int] | None = None
) -> None:
    """Sends one message; raises BlockingIOError where the socket does not wait."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    passed = descriptors or []
    if len(data) <= _PACKET_PAYLOAD_MAX and len(passed) <= _DESCRIPTORS_MAX:
        _send_packet(connection, data, passed)
        return
    spilled = _spill(data)
    try:
        _send_packet(connection, _BY_DESCRIPTOR, [spilled, *passed])
    finally:
        os.close(spilled)


def receive(connection: socket.socket) -> tuple[Any, list[int]]:
    """The next message and its descriptors; None where the other side has hung up."""
    try:
        data, descriptors, flags, _ = socket.recv_fds(
            connection, _PACKET_BYTES, _DESCRIPTORS_MAX + 1
        )
    except ConnectionResetError:  # It left without reading all that was sent to it.
        return None, []
    if not data:
        return None, []
    assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC), "a packet was cut"
    if data == _BY_DESCRIPTOR:
        with os.fdopen(descriptors.pop(0), "rb") as spilled:
            spilled.seek(0)
            data = spilled.read()
    return pickle.loads(data), descriptors


def _send_packet(connection: socket.socket, data: bytes, passed: list[int]) -> None:
    if passed:
        socket.send_fds(connection, [data], passed, socket.MSG_NOSIGNAL)
    else:
        connection.send(data, socket.MSG_NOSIGNAL)


def _spill(data: bytes) -> int:
    descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", closefd=False) as target:
        target.write(data)
    return descriptor
