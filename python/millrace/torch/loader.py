"""`DataLoader`: the signature and the habits of PyTorch's, with exact resuming."""

import math
import multiprocessing
import multiprocessing.context
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import torch
from torch.utils.data import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from millrace.torch import ranks
from millrace.torch.fetch import Recipe
from millrace.torch.gather import Routing
from millrace.torch.passes import (
    Delivery,
    Pass,
    Pinner,
    PooledMapPass,
    PooledStreamPass,
    SerialMapPass,
    SerialStreamPass,
    make_pinner,
)
from millrace.torch.plan import Order, Progress, Seeds, Shuffle, generators
from millrace.torch.seeding import draw_seed, mix
from millrace.torch.state import LoaderState
from millrace.torch.worker_main import Job
from millrace.torch.workers import Pool

# Workers over a pickled dataset of this size would copy much of it.
_LARGE_PICKLE_BYTES = 16 << 20

_FIXED = frozenset(
    {
        "batch_size",
        "batch_sampler",
        "sampler",
        "drop_last",
        "dataset",
        "persistent_workers",
    }
)


class DataLoader:
    """Loads batches of a map-style or iterable dataset, as PyTorch's DataLoader does.

    All arguments of PyTorch's mean the same here. What differs:

    - `random`, NumPy and torch are seeded for every batch from `seed`, the epoch and
      the batch's number. So batches do not depend on `num_workers`, and a resumed run
      continues exactly. The trainer's own random state is left alone.
    - `state_dict()` says in a few JSON values what the training loop has taken;
      `load_state_dict()` continues there.
    - Workers are forked from one process that holds the dataset. With spawn and
      forkserver the trainer makes the first batches itself while they start.
    - Several ranks without a distributed sampler are an error.

    `seed=None` draws a seed from `generator`, else from torch; several ranks take it
    from the launcher's run id. Each `iter()` is the next epoch.

    Example:
        >>> loader = DataLoader(list(range(6)), batch_size=2, shuffle=True, seed=7)
        >>> first = next(iter(loader))
        >>> state = loader.state_dict()
        >>> state["epoch"], state["batches"]
        (0, 1)
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seed: int | None = None,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        if pin_memory_device:
            warnings.warn(
                "DataLoader: pin_memory_device has no effect, as in PyTorch: memory is "
                "pinned for the current accelerator",
                stacklevel=2,
            )
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.in_order = in_order
        self.seed = seed
        self.persistent_workers = persistent_workers
        self.prefetch_factor = (
            2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        )
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        batched = self.batch_sampler is not None
        self.collate_fn = collate_fn or (
            default_collate if batched else default_convert
        )
        self._pool: Pool | None = None
        self._routing = Routing(dataset, batched and not self._is_iterable, num_workers)
        self._progress: Progress | None = None
        self._loaded: LoaderState | None = None
        self._next_epoch = 0
        self._complete = True

    def __iter__(self) -> Pass:
        """Starts the next pass, or goes on behind the batches of a loaded state."""
        if self._is_iterable:
            ranks.warn_of_iterable()
        else:
            ranks.check_share(
                self._index_sampler, isinstance(self.sampler, RandomSampler)
            )
        state = self._starting_state()
        start = state.position
        seeds = Seeds(self._settle_seed(), state.epoch, self._rank())
        pin = make_pinner(self.pin_memory)
        if self._is_iterable:
            progress = Progress(seeds, start, None)
            result = self._stream_pass(progress, pin)
        else:
            order = Order(self._index_sampler, seeds, start, state.sampler)
            progress = Progress(seeds, start, order)
            result = self._map_pass(progress, order, pin)
        self._loaded = None
        self._progress = progress
        self._next_epoch = state.epoch + 1
        return result

    def __len__(self) -> int:
        """The batches of a pass; TypeError where the dataset has no length."""
        if not self._is_iterable:
            return len(cast(Any, self._index_sampler))
        rows = len(self.dataset)
        if self.batch_size is None:
            return rows
        if self.drop_last:
            return rows // self.batch_size
        return math.ceil(rows / self.batch_size)

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """What the training loop has taken, as a few JSON values.

        Batches that workers made ahead do not count. `batches` asks for the state when
        that many of this pass had been taken; the last 16 can be asked for.
        """
        if self._loaded is not None:
            return self._loaded.to_dict()
        return self._current_state(batches).to_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next `iter()` go on where the state was taken."""
        state = LoaderState.from_dict(state_dict)
        streams = state.position.streams
        if self._is_iterable and len(streams) not in (0, max(1, self.num_workers)):
            raise ValueError(
                "DataLoader: an iterable dataset is read in shares, one a worker; this "
                f"state was saved with num_workers={len(streams)}, so resume with that"
            )
        self.seed = state.seed
        self._loaded = state
        self._progress = None
        self._next_epoch = state.epoch
        if state.sampler_epoch is not None:
            self._pass_on_epoch(state.sampler_epoch)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next `iter()` the pass of this epoch, and tells the samplers.

        The epoch of a loaded state keeps the state's position.
        """
        if self._loaded is not None and self._loaded.epoch != epoch:
            self._loaded = None
        if self._progress is not None and self._progress.seeds.epoch != epoch:
            self._progress = None
        self._next_epoch = epoch
        self._pass_on_epoch(epoch)

    @property
    def multiprocessing_context(self) -> multiprocessing.context.BaseContext | None:
        """How worker processes start; None for the platform's way."""
        context: multiprocessing.context.BaseContext | None = self._context
        return context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        self._context = _resolve_context(value, self.num_workers)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_complete", False):
            raise ValueError(
                f"DataLoader: {name} cannot be changed once the loader is made; make a "
                "new DataLoader"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has no live pass; it goes on where this loader is."""
        loaded = self._loaded or self._current_state(None)
        return {**vars(self), "_pool": None, "_progress": None, "_loaded": loaded}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _choose_samplers(
        self,
        batch_size: int | None,
        shuffle: bool | None,
        sampler: Iterable[Any] | None,
        batch_sampler: Iterable[Any] | None,
        drop_last: bool,
    ) -> None:
        self._is_iterable = isinstance(self.dataset, IterableDataset)
        _check_samplers(
            self._is_iterable,
            {"shuffle": bool(shuffle), "sampler": sampler is not None},
            batch_sampler is not None,
            batch_size,
            drop_last,
        )
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _default_sampler(self, shuffle: bool) -> Iterable[Any]:
        if self._is_iterable:
            return _Endless()
        if not shuffle:
            return SequentialSampler(self.dataset)
        own = self.generator if self.generator is not None else torch.Generator()
        return Shuffle(self.dataset, generator=own)

    @property
    def _index_sampler(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    def _rank(self) -> int:
        return ranks.rank_of(self._index_sampler)

    def _settle_seed(self) -> int:
        """Draws the seed when it is first needed."""
        if self.seed is None:
            held = [self.generator, *generators(self._index_sampler)]
            given = [each for each in held if each is not None]
            own = isinstance(self.sampler, RandomSampler) and self.generator is None
            source = None if own or not given else given[0]
            self.seed = draw_seed(source, ranks.world_size())
        return self.seed

    def _starting_state(self) -> LoaderState:
        """Where the next pass begins. A pass of which nothing was taken is repeated."""
        if self._loaded is not None:
            return self._loaded
        before = self._progress
        if before is not None and not before.finished and before.is_untouched():
            state = self._current_state(None)
            if state.epoch == before.seeds.epoch:
                return state
        return LoaderState(self._settle_seed(), self._next_epoch)

    def _current_state(self, batches: int | None) -> LoaderState:
        progress = self._progress
        if progress is None:
            return LoaderState(self._settle_seed(), self._next_epoch)
        position = progress.at(batches)
        epoch = progress.seeds.epoch
        if not progress.has_more(position):
            return LoaderState(progress.seeds.seed, epoch + 1)
        return LoaderState(
            progress.seeds.seed,
            epoch,
            position,
            progress.sampler_state(position),
            self._sampler_epoch(),
        )

    def _sampler_epoch(self) -> int | None:
        for each in (self.batch_sampler, self.sampler):
            if hasattr(each, "set_epoch"):
                found = getattr(each, "epoch", None)
                return found if isinstance(found, int) else None
        return None

    def _pass_on_epoch(self, epoch: int) -> None:
        told: list[Any] = [self.batch_sampler, self.sampler, self.dataset]
        for each in told:
            if hasattr(each, "set_epoch"):
                each.set_epoch(epoch)

    def _map_pass(self, progress: Progress, order: Order, pin: Pinner | None) -> Pass:
        recipe = self._recipe()
        if self.num_workers == 0:
            return SerialMapPass(recipe, order, progress, pin)
        pool = self._open_pool(recipe, progress.seeds)
        if pool.pickled_bytes >= _LARGE_PICKLE_BYTES:
            self._routing.start()
        result = PooledMapPass(pool, self._delivery(), order, progress, pin)
        forks = self._start_context().get_start_method() == "fork"
        if not forks and self.worker_init_fn is None:
            result.serve_first(recipe)
        return result

    def _stream_pass(self, progress: Progress, pin: Pinner | None) -> Pass:
        recipe = self._recipe()
        if self.num_workers == 0:
            return SerialStreamPass(recipe, progress, pin)
        pool = self._open_pool(recipe, progress.seeds)
        return PooledStreamPass(pool, self._delivery(), progress, pin)

    def _delivery(self) -> Delivery:
        return Delivery(
            in_order=self.in_order,
            prefetch=max(1, self.prefetch_factor or 1),
            timeout=self.timeout,
            keeps_pool=self.persistent_workers,
            routing=self._routing,
        )

    def _recipe(self) -> Recipe:
        return Recipe(
            dataset=self.dataset,
            collate=self.collate_fn,
            iterable=self._is_iterable,
            batch_size=self.batch_size,
            batched=self.batch_sampler is not None,
            drop_last=self.drop_last,
        )

    def _open_pool(self, recipe: Recipe, seeds: Seeds) -> Pool:
        if self._pool is not None and self._pool.is_open and self.persistent_workers:
            return self._pool
        job = Job(
            recipe=recipe,
            worker_init=self.worker_init_fn,
            workers=self.num_workers,
            seed=mix(seeds.seed, seeds.epoch, seeds.rank),
            watches_copies=self._routing.watches,
        )
        pool = Pool(self._start_context(), job)
        if self.persistent_workers:
            self._pool = pool
        return pool

    def _start_context(self) -> multiprocessing.context.BaseContext:
        return self.multiprocessing_context or multiprocessing.get_context()


class _Endless:
    """The sampler of an iterable dataset, which has no indices."""

    def __iter__(self) -> Any:
        while True:
            yield None


def _resolve_context(value: Any, num_workers: int) -> Any:
    if value is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "DataLoader: multiprocessing_context needs worker processes; set "
            "num_workers above 0"
        )
    if isinstance(value, str):
        known = multiprocessing.get_all_start_methods()
        if value not in known:
            raise ValueError(
                f"DataLoader: multiprocessing_context={value!r} is none of {known}"
            )
        return multiprocessing.get_context(value)
    if not isinstance(value, multiprocessing.context.BaseContext):
        raise TypeError(
            "DataLoader: multiprocessing_context must be the name of a start method or "
            f"a context, not {type(value).__name__}"
        )
    return value


def _check_workers(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
) -> None:
    if num_workers < 0:
        raise ValueError("DataLoader: num_workers must be 0 or more")
    if timeout < 0:
        raise ValueError("DataLoader: timeout must be 0 or more")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "DataLoader: prefetch_factor needs worker processes; set num_workers above "
            "0 or leave it out"
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("DataLoader: prefetch_factor must be 0 or more")
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers needs num_workers above 0")


def _check_samplers(
    iterable: bool,
    given: dict[str, bool],
    has_batch_sampler: bool,
    batch_size: int | None,
    drop_last: bool,
) -> None:
    if iterable:
        for name, there in {**given, "batch_sampler": has_batch_sampler}.items():
            if there:
                raise ValueError(
                    f"DataLoader: an iterable dataset decides its own order; leave out "
                    f"{name}"
                )
    if given["shuffle"] and given["sampler"]:
        raise ValueError("DataLoader: give either sampler or shuffle=True, not both")
    if has_batch_sampler and (batch_size != 1 or drop_last or any(given.values())):
        raise ValueError(
            "DataLoader: batch_sampler takes the place of batch_size, shuffle, sampler "
            "and drop_last; leave those out"
        )
    if batch_size is None and drop_last:
        raise ValueError(
            "DataLoader: batch_size=None makes no batches, so leave out drop_last"
        )
