"""Loaders whose batches are made by workers of a service, on other machines or here.

The dispatcher deals the pipeline's work to workers; this process only receives batches.
What comes is the fixed order of the service: the same stream whatever the fleet, with
several parts of the data open at a time; or, in order "any", what is ready first. A
state is that of any other loader, so it goes on in this process, and one of this
process goes on there; one of order "any", in that order.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import secrets
import socket
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace import _core, _states
from millrace.distributed import (
    check_padded,
    check_remainder,
    ranks,
    run_id,
    seed_of_run,
    valid_field,
)
from millrace.errors import PipelineError
from millrace.loader import Loader
from millrace.passes import Pass
from millrace.rows import RowMaker
from millrace.service_reader import Job, ServiceReader

if TYPE_CHECKING:
    from millrace.dataset import Dataset
    from millrace.provenance import Origin

_PORT = 7171
_RESTARTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")


@dataclasses.dataclass(frozen=True)
class Access:
    """Who this process is to a service, and how it knows the service.

    What is not given is taken from the environment, as the `millrace` command does.

    Args:
        token: What all processes of the service share; MILLRACE_TOKEN, or the file
            that MILLRACE_TOKEN_FILE names.
        ca: A file in PEM form: who may sign the certificates of the service; turns TLS
            on. MILLRACE_CA.
        certificate: This process's own, where the service asks for it.
            MILLRACE_CERTIFICATE.
        key: The key of that. MILLRACE_KEY.

    Example:
        >>> import millrace as mr
        >>> mr.Access(token="secret", ca="ca.pem").token
        'secret'
    """

    token: str = dataclasses.field(default="", repr=False)
    ca: str = ""
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        """Take from the environment what was not given."""
        for name in ("ca", "certificate", "key"):
            given = getattr(self, name) or os.environ.get(f"MILLRACE_{name.upper()}")
            object.__setattr__(self, name, given or "")
        object.__setattr__(self, "token", self.token or _token())


def _token() -> str:
    file = os.environ.get("MILLRACE_TOKEN_FILE")
    if not file:
        return os.environ.get("MILLRACE_TOKEN", "")
    try:
        token = Path(file).read_text().strip()
    except OSError as error:
        raise PipelineError(f"cannot read the token in {file}: {error}") from None
    if not token:
        raise PipelineError(f"there is no token in {file}")
    return token


class ServiceLoader(Loader):
    """A loader of batches that a service makes; see `Dataset.distribute`."""

    def __init__(
        self,
        dataset: Dataset,
        address: dict[str, Any],
        job: Job,
        *,
        seed: int | None,
    ) -> None:
        """Make a loader; nothing is asked before `iter`."""
        super().__init__(dataset, seed=0 if seed is None else seed)
        self._order = job.order
        self.job = job.job
        self.consumer = job.consumer
        self.consumers = job.consumers
        self._choice = job
        self._knows_seed = seed is not None
        self._begun = False  # A pass.
        self._reader = ServiceReader(address, job)

    # --- Iterating ---

    def _begin(self) -> tuple[RowMaker, Iterator[Any]]:
        loaded = self._leave()
        self._reader.seed = self.seed if self._knows_seed else None
        joins = self._choice.names_group and not self._knows_seed and self._epoch == 0
        goes_on = self._choice.resume or joins
        if loaded is None and goes_on and not self._begun:
            self._epoch = self._reader.resume(self.dataset._pipeline)
        self._begun = True
        run = Pass(self.dataset, self.seed, self._epoch, self._order, self._reader)
        if self._choice.remainder == "pad":
            run.rows = RowMaker(self._fields, None)
        if loaded is None:
            run.open()
        else:
            # A pass of a service has the number of its epoch.
            state = {**loaded["state"], "pass": loaded["epoch"]}
            run.open(json.dumps(state), loaded["taken"], loaded["skip"])
            self._check_skip(loaded)
        run.is_shared = (
            True  # Each batch has its state: no order is gone through twice.
        )
        self._pass, self._resumed, self._loaded = run, loaded, None
        assert self._reader.seed is not None
        self.seed, self._knows_seed = self._reader.seed, True
        return run.rows, run.values()

    @property
    def _fields(self) -> list[tuple[str, str, list[int] | None]]:
        return [*super()._fields, *valid_field(self._choice.remainder)]

    def _check_skip(self, loaded: dict[str, Any]) -> None:
        """Rows behind a state are the same only in the same order."""
        here, there = self._reader.state(), loaded["state"]
        names = ("order", "tracks")
        if loaded["skip"] > 0 and any(here[name] != there[name] for name in names):
            raise PipelineError(
                "the state was taken within a block of rows, and the rows would come "
                "in another order here: take it between batches, or go on from it as "
                "it was taken"
            )

    def close(self) -> None:
        """Leave the job, so that others may have it."""
        super().close()
        self._reader.close()

    # --- Counting ---

    def __len__(self) -> int:
        """Count this consumer's batches; TypeError where that is not known."""
        if self._choice.sharding == "off":
            raise TypeError(
                'with sharding="off" there are as many copies of the batches as there '
                "are workers when the run begins: count them as they come"
            )
        batches, consumers = len(self.dataset), self.consumers
        remainder = self._choice.remainder
        if consumers == 1:
            return batches
        if self._choice.global_batch:
            return self._slices(batches)
        if remainder == "pad":
            return -(-batches // consumers)
        more = remainder == "keep" and self.consumer < batches % consumers
        return batches // consumers + more

    def _slices(self, batches: int) -> int:
        """Count the batches that this consumer gets a part of."""
        rows, size = self._rows_and_size
        short = rows % size if batches * size > rows else 0
        if short == 0 or self._choice.remainder == "pad":
            return batches
        if self._choice.remainder == "drop":
            return batches - 1
        first, end = (
            number * short // self.consumers
            for number in (self.consumer, self.consumer + 1)
        )
        return batches - (first == end)

    @functools.cached_property
    def _rows_and_size(self) -> tuple[int, int]:
        whole = _core.distribute(self.dataset._pipeline, consumers=1, consumer=0)
        rows = whole[2].count()[0]
        assert rows is not None
        return rows, whole[1]

    # --- State ---

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state: small, exact, and the same on all ranks of a step.

        In order "any" it is what this rank took: as many ranks go on each from its own,
        another number from what `millrace.join_states` makes of them.

        Args:
            batches: As of so many taken batches of this pass, for at least the last 8;
                by default as of now.
        """
        if not self._knows_seed and self._loaded is None:
            raise PipelineError(
                "the seed is drawn by the service when the first pass begins, and a "
                "state has it: set seed=, or ask for the state later"
            )
        return super().state_dict(batches)

    def _load(self, state: dict[str, Any]) -> None:
        if _states.kind_of(state) == "rows" and state["cut"] is not None:
            raise PipelineError(
                "this is a state of distribute(None), a number of rows, from which a "
                "service cannot go on: go on from it with distribute(None), or with a "
                "state of the end of a pass"
            )
        super()._load(state)
        self._knows_seed = True
        self._reader.close()  # All consumers show their states to the dispatcher.

    # --- Seeing ---

    def _stats(self, run: Pass | None) -> dict[str, Any]:
        if run is None or run.iterator is None:
            return {"epoch": self._epoch, "batches": 0, "rows": 0}
        facts = json.loads(run.iterator.facts())
        wall = max(facts["wall_seconds"], 1e-9)
        waits = facts["waited_seconds"] / wall
        slow = waits > 0.1
        return {
            "epoch": self._epoch,
            "batches": run.taken,
            "rows": facts["rows"],
            "rows_per_second": facts["rows"] / wall,
            "bytes": facts["bytes"],
            "bytes_copied": run.copied_bytes,
            **facts["carriers"],
            "wait_fraction": waits,
            "first_batch_seconds": facts["first_block_seconds"],
            "bottleneck": "the service" if slow else "the training loop",
            "remedy": "start more workers" if slow else "",
        }

    def provenance(self, batches: int | None = None) -> list[Origin | None]:
        """Say that only a loader of this process can find rows again."""
        raise PipelineError(
            "provenance is known to loaders that run in this process: load this one's "
            "state into mr.loader(ds), and ask there"
        )

    def explain(self) -> str:
        """Say which job this reads, and what its workers run."""
        return (
            f"job {self.job} at {self._reader.where}, consumer {self.consumer} of "
            f"{self.consumers}\nrun by its workers:\n{self.dataset.explain()}"
        )


def address_of(service: str, access: Access | None) -> dict[str, Any]:
    """Read the address of a service, with what opens it."""
    parts = urllib.parse.urlsplit(service)
    try:
        port = parts.port
    except ValueError:
        port = -1
    plain = not (parts.path.strip("/") or parts.query or parts.username)
    if parts.scheme != "millrace" or not parts.hostname or port == -1 or not plain:
        raise PipelineError(
            "a service is the address of its dispatcher, as in "
            f'"millrace://dispatcher:7171", not {service!r}'
        )
    known = dataclasses.asdict(access or Access())
    return {"host": parts.hostname, "port": _PORT if port is None else port, **known}


def _reader(
    consumer: int | None, consumers: int | None, member: int | None, members: int
) -> tuple[int, int, int]:
    """Tell which reader this is: consumer, consumers, member."""
    rank, size = ranks()
    if (consumer is None) != (consumers is None):
        raise PipelineError("give consumer and consumers both, or neither")
    if consumer is None or consumers is None:
        if members < 1 or size % members != 0:
            raise PipelineError(f"{size} ranks are no groups of {members} members")
        return rank // members, size // members, rank % members
    if member is None and members > 1:
        raise PipelineError("give member too: which of the group's members this is")
    return consumer, consumers, member or 0


def _restart() -> int:
    counts = (os.environ.get(name, "") for name in _RESTARTS)
    return next((int(count) for count in counts if count.isdigit()), 0)


def connect(
    dataset: Dataset,
    service: str,
    *,
    job: str | None = None,
    consumer: int | None,
    consumers: int | None,
    member: int | None,
    members: int,
    remainder: str | None,
    seed: int | None,
    run: str | None,
    access: Access | None = None,
    **more: Any,
) -> ServiceLoader:
    """Make a loader of a service; `Dataset.distribute` has the words."""
    address = address_of(service, access)
    own, count, place = _reader(consumer, consumers, member, members)
    if not 0 <= own < count or not 0 <= place < members:
        raise PipelineError(
            f"there is no consumer {own} of {count}, member {place} of {members}"
        )
    if job is not None and not isinstance(job, str):
        raise PipelineError(f"the name of a job is text, not {job!r}")
    endless = dataset._pipeline.rows == -1
    ends = check_remainder(remainder, count, endless=endless)
    if job is None and count * members > 1:
        raise PipelineError('several consumers must name the job they share: job="…"')
    if ends == "pad":
        check_padded(dataset, batches=dataset._pipeline.batches)
    if more.get("shared_memory", "auto") not in ("auto", "off"):
        raise PipelineError(
            f'shared_memory is "auto" or "off", not {more["shared_memory"]!r}'
        )
    if dataset._debug:
        raise PipelineError(
            "debug() runs everything in this thread: leave it out for a service"
        )
    choice = Job(
        job=job or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        consumer=own,
        consumers=count,
        member=place,
        members=members,
        remainder=ends,
        run=run_id(run) or "",
        restart=_restart(),
        **more,
    )
    if seed is None and not choice.names_group:
        seed = seed_of_run(count * members, run)
    return ServiceLoader(dataset, address, choice, seed=seed)
