"""Checks batches on a GPU: run it on a machine with CUDA, or with --device cpu.

Every batch is known by its number, so that what is read on the device shows whether all
of it is there, and nothing of another batch. There is one block of pinned memory unless
told otherwise, so that a block that is used again too early is seen; kernels that take
long stand before the copies and before the reading, so that a stream that does not wait
is seen as well; and tensors are dropped at once, so that memory that is given away too
early is.

Example:
    python cuda_check.py --steps 10000
"""

from __future__ import annotations

import argparse
import importlib
import time
from typing import Any

import millrace as mr
from millrace.frameworks.device_loader import DeviceLoader
from millrace.frameworks.torch_device import DeviceTransfer, Sent

torch: Any = importlib.import_module("torch")  # Types of torch are not everywhere.
ROWS = 256
WIDTH = 1024
_LONG = 20_000_000  # Cycles, about 10 ms: several batches are made meanwhile.


def dataset(steps: int) -> mr.Dataset:
    """Give batches of 1 MiB: in batch i all numbers are i, and so is the label."""

    def row(given: Any) -> dict[str, Any]:
        number = given["value"] // ROWS
        x = mr.math.fill(number.astype("float32"), (WIDTH,))
        return {"x": x, "label": number}

    return mr.range(steps * ROWS).map(row).batch(ROWS)


def delay(device: Any, cycles: int) -> None:
    """Keep the current stream busy, so that the host and other streams run ahead."""
    if device.type == "cuda":
        torch.cuda._sleep(cycles)


class SlowTransfer(DeviceTransfer):
    """Copies late, so that whoever does not wait for a copy is wrong."""

    sends = 0

    def send(self, values: list[Any]) -> Sent:
        """Send behind a kernel that takes long, now and then."""
        self.sends += 1
        with self._on_stream():
            delay(self._device, _LONG if self.sends % 7 == 0 else 1_000)
        return super().send(values)


class SlowLoader(DeviceLoader):
    """A loader whose copies come late."""

    transfer = SlowTransfer


def check_sums(device: Any, steps: int, blocks: int) -> float:
    """Compare what arrives with what was made, on a stream of the caller's own."""
    loader = SlowLoader(mr.loader(dataset(steps), seed=0), device, blocks)
    own = torch.cuda.Stream(device) if device.type == "cuda" else None
    least, most, labels = [], [], []
    start = time.monotonic()
    with torch.cuda.stream(own):
        for step, batch in enumerate(loader):
            assert batch["x"].device.type == device.type
            delay(device, _LONG if step % 20 == 0 else 2_000)
            least.append(batch["x"].min())
            most.append(batch["x"].max())
            labels.append(batch["label"].sum())
            del batch
        found = [torch.stack(parts).double().cpu() for parts in (least, most, labels)]
    seconds = time.monotonic() - start
    numbers = torch.arange(steps, dtype=torch.float64)
    for name, values, wanted in zip(
        ("least", "most", "labels"),
        found,
        (numbers, numbers, numbers * ROWS),
        strict=True,
    ):
        wrong = (values != wanted).nonzero().flatten().tolist()
        assert not wrong, f"{name}: {len(wrong)} wrong, first at step {wrong[0]}"
    assert loader.stats()["batches"] == steps
    return seconds


def check_state(device: Any) -> None:
    """Go on from a state taken in the middle: no batch twice, none left out."""
    steps = 200
    first = DeviceLoader(mr.loader(dataset(steps), seed=0), device)
    labels = []
    for batch in first:
        labels.append(int(batch["label"][0]))
        if len(labels) == 77:
            break
    second = DeviceLoader(mr.loader(dataset(steps), seed=0), device)
    second.load_state_dict(first.state_dict())
    labels += [int(batch["label"][0]) for batch in second]
    assert labels == list(range(steps)), labels


def check_pinned() -> None:
    """Look at tensors in pinned memory, without a device."""
    for step, batch in enumerate(dataset(20).to("torch", pin=True)):
        assert batch["x"].is_pinned()
        there = batch["x"].to("cuda", non_blocking=True)
        assert there.sum().item() == float(step) * ROWS * WIDTH


def check_current_device() -> None:
    """See that "cuda" is the device that is current where the pass begins."""
    last = torch.cuda.device_count() - 1
    with torch.cuda.device(last):
        batch = next(iter(dataset(3).to("torch", device="cuda")))
    assert batch["x"].device == torch.device("cuda", last)


def check_kinds(device: Any) -> None:
    """Send ragged values, bfloat16 and texts."""
    rows = [{"x": [1.0, 2.0], "t": "a"}, {"x": [3.0], "t": "b"}]
    ds = mr.from_rows(rows).ragged_batch(2)
    batch = next(iter(DeviceLoader(mr.loader(ds), device)))
    assert [part.tolist() for part in batch["x"].unbind()] == [[1.0, 2.0], [3.0]]
    assert batch["t"] == ["a", "b"]
    half = mr.range(4).map(lambda row: {"x": row["value"].astype("bfloat16")}).batch(4)
    x = next(iter(DeviceLoader(mr.loader(half), device)))["x"]
    assert x.dtype == torch.bfloat16
    assert x.float().tolist() == [0.0, 1.0, 2.0, 3.0]


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=1)
    given = parser.parse_args()
    device = torch.device(given.device)
    check_state(device)
    check_kinds(device)
    if device.type == "cuda":
        check_pinned()
        check_current_device()
    seconds = check_sums(device, given.steps, given.blocks)
    megabytes = given.steps * ROWS * WIDTH * 4 / 1e6
    print(
        f"{given.steps} steps to {device} by {given.blocks} block(s): all right, "
        f"{megabytes / seconds:.0f} MB/s"
    )


if __name__ == "__main__":
    main()
