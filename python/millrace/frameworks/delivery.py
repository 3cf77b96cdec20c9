"""Loaders that give the arrays of a framework."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from millrace.errors import PipelineError
from millrace.frameworks.arrays import Adapter, Field, imported

if TYPE_CHECKING:
    from millrace.loader import Loader
    from millrace.provenance import Origin

_NAMES = ("numpy", "torch", "jax", "tensorflow")


def delivered(loader: Loader, name: str, device: Any, pin: bool) -> FrameworkLoader:
    """Make a loader that gives the arrays of the framework of this name."""
    if name not in _NAMES:
        raise PipelineError(f"to() knows {', '.join(_NAMES)}, not {name!r}")
    if pin and name != "torch":
        raise PipelineError(f'pin=True is for to("torch"), not for to("{name}")')
    imported(name)  # Now: it is wanted in any case, and may not be there.
    if name == "torch":
        return _to_torch(loader, device, pin)
    if name == "jax":
        from millrace.frameworks.jax_arrays import JaxArrays

        return FrameworkLoader(loader, lambda fields: JaxArrays(fields, device))
    if name == "tensorflow":
        from millrace.frameworks.tensorflow_tensors import TensorflowTensors

        return FrameworkLoader(loader, lambda fields: TensorflowTensors(fields, device))
    if device not in (None, "cpu"):
        raise PipelineError(f"NumPy's arrays are on the CPU, not on {device!r}")
    return FrameworkLoader(loader, None)


def _to_torch(loader: Loader, device: Any, pin: bool) -> FrameworkLoader:
    from millrace.frameworks.device_loader import DeviceLoader
    from millrace.frameworks.torch_device import checked_device
    from millrace.frameworks.torch_tensors import TorchTensors, check_pin

    where = checked_device(device)
    if where.type == "cuda":
        return DeviceLoader(loader, where)
    if pin:
        check_pin()
    return FrameworkLoader(loader, lambda fields: TorchTensors(fields, pin=pin))


class FrameworkLoader:
    """A loader that gives the arrays of a framework; else as the loader it was made of.

    It goes on from where that loader is, and both share state and epoch: keep one of
    them only. What `Loader` says of iterating and of states holds here.

    Example:
        >>> import millrace as mr
        >>> loader = mr.loader(mr.range(4).batch(2)).to("numpy")
        >>> [batch["value"].tolist() for batch in loader]
        [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        loader: Loader,
        make_adapter: Callable[[Sequence[Field]], Adapter] | None,
    ) -> None:
        """Wrap a loader; without an adapter its NumPy arrays stay what they are."""
        self._loader = loader
        self._make_adapter = make_adapter
        self._adapter: Adapter | None = None

    def __getattr__(self, name: str) -> Any:
        """Give what the loader has besides."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)

    # --- Iterating ---

    def __iter__(self) -> Iterator[Any]:
        """Begin the next pass, or go on from the state that was loaded."""
        if self._make_adapter is None:
            return iter(self._loader)
        adapter = self._make_adapter(self._loader._fields)
        rows, values = self._loader._begin()
        self._adapter = adapter
        convert, built = adapter.convert, rows.built
        return (built(convert(found)) for found in values)

    def __len__(self) -> int:
        """Count the rows, or batches, of a pass; TypeError where that is not known."""
        return len(self._loader)

    @property
    def epoch(self) -> int:
        """The epoch of the pass that runs, or else of the next."""
        return self._loader.epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next pass. See `Loader.set_epoch`."""
        self._loader.set_epoch(epoch)

    # --- State ---

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state: small, JSON-able, and exact. See `Loader.state_dict`."""
        return self._loader.state_dict(batches)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next `iter` go on from a state."""
        self._loader.load_state_dict(state)

    def get_state(self) -> bytes:
        """Give the state as bytes, under the name that Grain has for it."""
        return state_to_bytes(self.state_dict())

    def set_state(self, state: bytes) -> None:
        """Have the next `iter` go on from a state that `get_state` gave."""
        self.load_state_dict(state_from_bytes(state))

    # --- Seeing, ending ---

    def stats(self) -> dict[str, Any]:
        """Tell how the pass goes; copies made for the framework are counted too."""
        stats = self._loader.stats()
        if self._adapter is not None and "bytes_copied" in stats:
            stats["bytes_copied"] += self._adapter.copied_bytes
        return stats

    def provenance(self, batches: int | None = None) -> list[Origin | None]:
        """Tell where the last batch's rows come from. See `Loader.provenance`."""
        return self._loader.provenance(batches)

    def to(
        self, name: str, *, device: Any = None, pin: bool = False
    ) -> FrameworkLoader:
        """Give the arrays of another framework instead. See `Loader.to`."""
        return delivered(self._loader, name, device, pin)

    def close(self) -> None:
        """End the pass and let go of its memory."""
        self._loader.close()

    def __enter__(self) -> FrameworkLoader:
        """Close at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def state_to_bytes(state: dict[str, Any]) -> bytes:
    """Write a state as bytes."""
    return json.dumps(state).encode()


def state_from_bytes(state: bytes) -> dict[str, Any]:
    """Read a state that was written as bytes."""
    try:
        read = json.loads(state)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise PipelineError("these bytes are no state: give what get_state gave")
    return read
