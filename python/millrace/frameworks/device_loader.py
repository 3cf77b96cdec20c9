"""Loaders whose batches are on a GPU before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace.frameworks.arrays import imported
from millrace.frameworks.delivery import FrameworkLoader
from millrace.frameworks.prefetch import Prefetch
from millrace.frameworks.torch_device import DeviceTransfer, Sent
from millrace.frameworks.torch_tensors import TorchTensors

if TYPE_CHECKING:
    from millrace.loader import Loader
    from millrace.provenance import Origin

_AHEAD = 2


class _Delivery:
    """One pass: takes values in the prefetch's thread, sends them, and counts."""

    def __init__(self, loader: Loader, transfer: DeviceTransfer) -> None:
        self.tensors = TorchTensors(loader._fields, nest=False)
        self.transfer = transfer
        self._loader = loader
        self._using = threading.Lock()  # The pass: one thread at a time.
        self._asked = True
        self.rows, self._values = loader._begin()
        self._run = loader._pass
        assert self._run is not None
        self._run.is_shared = True
        self._stats = loader._stats(self._run)
        self.taken = self._run.taken

    def take(self) -> Sent:
        with self._using:
            values = next(self._values)
            if self._asked:
                self._stats = self._loader._stats(self._run)
                self._asked = False
        return self.transfer.send(self.tensors.convert(values))

    def stats(self) -> dict[str, Any]:
        """Give them as of now; where the thread waits for a batch, as of the last."""
        if self._using.acquire(blocking=False):
            try:
                self._stats = self._loader._stats(self._run)
            finally:
                self._using.release()
        else:
            self._asked = True
        copied = self.tensors.copied_bytes + self.transfer.copied_bytes
        stats = {**self._stats, "batches": self.taken}
        stats["bytes_copied"] = stats.get("bytes_copied", 0) + copied
        return stats


class DeviceLoader(FrameworkLoader):
    """A loader that sends torch's tensors to a device, two batches ahead.

    A thread takes the batches, copies them into pinned memory and from there, on a
    stream of its own, to the device. The stream that is current where a batch is taken
    waits for it. The state is that of the batches that were taken here.
    """

    transfer = DeviceTransfer  # What sends them, for those who must look on.

    def __init__(self, loader: Loader, device: Any, blocks: int = _AHEAD + 1) -> None:
        """Send to a device of torch, with so many blocks of pinned memory."""
        super().__init__(loader, None)
        self._device = device
        self._blocks = blocks
        self._delivery: _Delivery | None = None

    def __iter__(self) -> Iterator[Any]:
        """Begin the next pass, or go on from the state that was loaded."""
        transfer = self.transfer(self._numbered_device(), self._blocks)
        self._delivery = _Delivery(self._loader, transfer)
        return self._batches(self._delivery)

    def _numbered_device(self) -> Any:
        torch = imported("torch")
        if self._device.type == "cuda" and self._device.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        return self._device

    def _batches(self, delivery: _Delivery) -> Iterator[Any]:
        prefetch = Prefetch(delivery.take, _AHEAD, self._loader.close)
        try:
            while True:
                try:
                    sent = prefetch.get()
                except StopIteration:
                    return
                delivery.taken += 1
                yield delivery.rows.built(delivery.transfer.receive(sent))
        finally:
            prefetch.stop()

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state of what was taken here, not of what was prefetched."""
        if batches is None and self._delivery is not None:
            batches = self._delivery.taken
        return self._loader.state_dict(batches)

    def provenance(self, batches: int | None = None) -> list[Origin | None]:
        """Tell where the rows of the batch come from that was taken last here."""
        if batches is None and self._delivery is not None:
            batches = self._delivery.taken
        return self._loader.provenance(batches)

    def stats(self) -> dict[str, Any]:
        """Tell how the pass goes; `batches` are those that were taken here."""
        if self._delivery is None:
            return self._loader.stats()
        return self._delivery.stats()
