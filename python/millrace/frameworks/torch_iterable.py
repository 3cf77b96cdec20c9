"""A dataset as torch's own kind of dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace.errors import PipelineError
from millrace.frameworks.arrays import imported
from millrace.loader import Loader

if TYPE_CHECKING:
    from millrace.dataset import Dataset

_data: Any = imported("torch.utils.data")


class TorchIterable(_data.IterableDataset):  # type: ignore[misc]
    """An `IterableDataset` over a dataset, with a state.

    It works where it is iterated, with the engine's threads. A DataLoader with workers
    would run an engine in each of them, for what one does; it is refused.
    """

    def __init__(
        self, dataset: Dataset, seed: int | None, state: dict[str, Any] | None = None
    ) -> None:
        """Wrap a dataset; `Dataset.to_torch_iterable` does that."""
        super().__init__()
        loader = Loader(dataset, seed=seed)
        if state is not None:
            loader.load_state_dict(state)
        self._loader = loader.to("torch")

    def __iter__(self) -> Iterator[Any]:
        """Begin the next pass, or go on from the state that was loaded."""
        if _data.get_worker_info() is not None:
            raise PipelineError(
                "a DataLoader over a dataset of Millrace needs num_workers=0: the work "
                "is done by the engine's own threads, which millrace.configure sets"
            )
        return iter(self._loader)

    def __len__(self) -> int:
        """Count the rows, or batches, of a pass; TypeError where that is not known."""
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next pass. See `Loader.set_epoch`."""
        self._loader.set_epoch(epoch)

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state. See `Loader.state_dict`."""
        return self._loader.state_dict(batches)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next `iter` go on from a state."""
        self._loader.load_state_dict(state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the dataset and the state."""
        given = (self._loader.dataset, self._loader.seed, self.state_dict())
        return (TorchIterable, given)
