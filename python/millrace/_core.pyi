"""What the C++ engine gives to the package; users see the modules above it.

Everything here is made of plain values, so that the package decides how things look:
types are names ("int64", "uint8", "string", "bytes", …), shapes are lists with -1 for a
size that is not known, or None where not even the number of axes is. Errors are raised
as the classes of millrace.errors.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

# An argument of an operator or kernel: None, bool, int, float, str, a list of these,
# an Attachment or a list of them, a Function.
Argument: TypeAlias = Any
Shape: TypeAlias = list[int] | None

def run_command(words: list[str]) -> int:
    """Does what the `millrace` command does; gives its exit code."""

def prepare_worker(packages: list[tuple[str, str]]) -> None:
    """Has the worker that run_command starts run Python functions, if it is allowed to.

    packages are told to the dispatcher: name and version; Python is "python".
    """

def catalog() -> str:
    """All operators and kernels, as JSON: millrace._catalog has its form."""

class Mapping:
    """Memory of another process that this one has mapped; is so while this lives."""

    @property
    def address(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def is_alone(self) -> bool:
        """Whether nobody has it but this."""

def is_aligned(array: object) -> bool:
    """Tell whether frameworks take the memory of an array as it is."""

class Memory:
    """The engine's memory, which arrays over it have as their base."""

    @property
    def shared(self) -> tuple[int, int, int] | None:
        """Where other processes can map it: a descriptor, all bytes, its offset."""
    @property
    def mapping(self) -> Mapping | None:
        """What it is a part of, where that is another process's."""

class Attachment:
    """Bytes that travel beside a pipeline, named by their content."""

    def __init__(self, content: bytes) -> None: ...
    @staticmethod
    def of(value: object) -> Attachment:
        """Makes one of an array of numbers, which is copied, or of a list of texts."""
    @property
    def content(self) -> bytes: ...
    @property
    def hash(self) -> str: ...

class Function:
    """A row function as data, for the arguments of operators."""

    @property
    def text(self) -> str:
        """As the text form writes it, braces included: `{x: .value * 2}`."""

class Tracer:
    """Records a row function, term by term; terms are numbers.

    The operator and the arguments given so far say what rows the function sees (of
    scan and reduce the state too).
    """

    def __init__(
        self, operator: str, arguments: dict[str, Argument], inputs: list[Pipeline]
    ) -> None: ...
    def fields(self) -> list[tuple[str, str, Shape]]:
        """The fields that the function may read: name, type, shape."""
    def field(self, name: str) -> int: ...
    def literal(self, value: object, weak: bool) -> int:
        """Adds a constant: bool, int, float, str, bytes, or a NumPy array.

        A weak one gives way to the types it meets; only plain numbers are.
        """
    def call(
        self, kernel: str, operands: list[int], arguments: dict[str, Argument]
    ) -> int:
        """Calls a kernel; what does not fit is an error about this call."""
    def type(self, term: int) -> tuple[str, Shape, bool]:
        """The type, shape and weakness of a term."""
    def build(self, results: list[tuple[str, int]]) -> Function:
        """Gives the function. One result without a name makes one value, no row."""

class Pipeline:
    """An immutable graph of operators, checked and typed as it is made."""

    @staticmethod
    def make(
        operator: str,
        arguments: dict[str, Argument],
        inputs: list[Pipeline],
        reserved: int = 0,
    ) -> Pipeline:
        """Puts an operator after its inputs.

        One that makes random calls of its own reserves numbers for them.
        """
    @staticmethod
    def parse(text: str, attachments: list[Attachment]) -> Pipeline: ...
    @property
    def operator(self) -> str: ...
    @property
    def inputs(self) -> list[Pipeline]: ...
    @property
    def text(self) -> str:
        """The canonical text, which parse reads."""
    @property
    def shown(self) -> str:
        """The text for people: without what is as usual."""
    @property
    def attachments(self) -> list[Attachment]: ...
    @property
    def fields(self) -> list[tuple[str, str, Shape]]: ...
    @property
    def rows(self) -> int | None:
        """How many rows there are, where the operators tell; -1: they never end."""
    def count(self) -> tuple[int | None, str]:
        """The same, asking the files: and why it is not known, where it is not.

        Lists them, and reads indexes and footers; no data.
        """
    @property
    def fingerprint(self) -> str: ...
    @property
    def row_fingerprint(self) -> str:
        """The same, less the size of its last batch: what states are compared by."""
    @property
    def is_random(self) -> bool: ...
    @property
    def batches(self) -> bool:
        """Whether its rows are batches: rows that a last operator has grouped."""
    def explain(self) -> str: ...

def pack_rows(
    rows: list[dict[str, object]],
) -> tuple[list[str], list[Attachment], list[Attachment]]:
    """Packs rows as the source from_rows takes them: names, values, shapes."""

def evaluate(
    kernel: str,
    operands: list[object],
    arguments: dict[str, Argument],
    draw: Sequence[int] | None,
) -> object:
    """Calls a kernel on plain values (as Tracer.literal takes them), once.

    A random kernel needs draw: seed, epoch, the number of the call, and the row's
    identity as two numbers of 64 bits.
    """

def available_threads() -> int:
    """Threads that this process may use, by affinity and control group."""

def available_memory_bytes() -> int:
    """Memory that this process may use, by control group."""

def distribute(
    pipeline: Pipeline,
    *,
    consumers: int,
    consumer: int,
    batch: int = 0,
    skipped: int = 0,
    drop: bool = False,
    rows: int | None = None,
) -> tuple[Pipeline, int, Pipeline]:
    """A pipeline as one of several consumers reads it.

    Gives it, the rows of a batch, and the part that all consumers run, whose rows are
    dealt: `rows` says how many these are, where that is known.
    """

def configure_runners(
    arguments: list[str], environment: list[str], hello: str, processes: int
) -> None:
    """Says how processes for Python functions are started, and how many."""

def after_fork() -> None:
    """Lets go of processes, in a child that was forked."""

def clear_runners() -> None:
    """Ends the processes that are free."""

def runner_pids() -> list[int]:
    """The processes that are free."""

def sample_function(
    engine: Engine, input: Pipeline, function: Attachment, timeout: float
) -> tuple[str, int, str]:
    """Calls a function on a pipeline's first row.

    Gives its fields, its random calls, and its structure as the process wrote that.
    """

def sample_generator(function: Attachment) -> str:
    """Begins a generator and takes its first row: its fields; empty: there is none."""

def parse_fields(text: str) -> list[tuple[str, str, Shape]]:
    """The fields of a spec's text."""

def read_frame(
    memory: np.ndarray[Any, Any], offset: int, bytes: int
) -> tuple[int, list[str], list[Any], list[tuple[int, int]]]:
    """Reads rows from shared memory: how many, names, columns, identities."""

class ResultFrame:
    """Results as they go into shared memory."""

    def __init__(self, rows: int, columns: dict[str, Any]) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def fields(self) -> str: ...
    def copy_to(self, memory: np.ndarray[Any, Any]) -> None: ...

def join_states(parts: list[str]) -> str:
    """Join the parts of a state in order "any", each as JSON."""

def save_on_service(
    pipeline: Pipeline,
    *,
    address: dict[str, Any],
    choice: dict[str, Any],
    folder: str,
    format: str,
    replace: bool,
    seed: int | None,
    progress: Callable[[int, int, int], None],
) -> int:
    """Has workers save one pass, or goes on with it; gives how many rows.

    progress is told lanes in all, those that are there, and of these those from before.
    """

class ServiceJob:
    """A reader of a job on a service; its batches are made by workers elsewhere."""

    @staticmethod
    def open(
        pipeline: Pipeline,
        *,
        address: dict[str, Any],
        choice: dict[str, Any],
        state: str | None,
        waiting: Callable[[], None],
    ) -> ServiceJob:
        """Opens the job: waits for the others of its run, and for a worker.

        address and choice are those of adapters/python/service.h, by the same names.
        waiting is called now and then while something is waited for, here and in next.
        """
    def next(self, turn: int) -> tuple[int, list[Any], int] | None:
        """As Iterator.next; CancelledError where another pass was begun since."""
    def start_pass(self, number: int) -> int:
        """Begins a pass, or goes on with one of which nothing was taken yet.

        Gives the turn that next takes.
        """
    def leave_pass(self, turn: int) -> None:
        """Sends away whoever waits in next with this turn."""
    def close(self) -> None:
        """Leaves the job: others may have it."""
    def state(self) -> str: ...
    def mark(self) -> Mark: ...
    @property
    def seed(self) -> int: ...
    @property
    def current_pass(self) -> int: ...
    def carriers(self) -> tuple[int, int, int, str]:
        """Workers that share memory, bytes shared, bytes copied, and a note."""
    @property
    def differences(self) -> list[str]:
        """In which packages workers differ from this process, in words."""
    @property
    def rows(self) -> int:
        """Rows that next has given, those in batches each counted; so bytes."""
    @property
    def bytes(self) -> int: ...

class Engine:
    """Threads and memory, shared by all iterators over them.

    Without threads, whoever calls next does all the work.
    """

    def __init__(
        self,
        threads: int,
        memory_bytes: int,
        cache_bytes: int,
        shares_memory: bool = False,
    ) -> None:
        """Starts its threads.

        One that shares memory has large buffers where other processes can map them.
        """
    def open(
        self,
        pipeline: Pipeline,
        *,
        seed: int,
        epoch: int,
        any_order: bool,
        state: str | None,
        cut_as: str | None = None,
        here: Callable[[str, np.ndarray[Any, Any]], tuple[str, ResultFrame | None]]
        | None = None,
        waiting: Callable[[Iterator], None] | None = None,
        origins: bool = False,
    ) -> Iterator:
        """Begins a pass, from a state where one is given.

        cut_as is the state of another pipeline over the same sources, whose lanes are
        to be cut alike. here answers for Python functions in the thread that calls
        next, in place of processes; for engines without threads. waiting is called
        now and then while next waits. With origins,
        Iterator.origins can be asked.
        """
    def save(
        self,
        pipeline: Pipeline,
        folder: str,
        *,
        format: str,
        file_bytes: int,
        replace: bool,
        seed: int,
        progress: Callable[[int], None],
    ) -> int:
        """Saves one pass in files; gives how many rows. progress is told of them."""
    @property
    def used_bytes(self) -> int: ...
    @property
    def peak_bytes(self) -> int: ...

class Mark:
    """The state of a pass as it was at some moment."""

    def json(self) -> str: ...

class Iterator:
    """One pass. One thread uses it, but cancel may come from any."""

    def next(self) -> tuple[int, list[Any], int] | None:
        """Gives the next block: how many rows, their columns, and bytes copied.

        A column is one NumPy array with the rows along its first axis, over the
        engine's memory where nobody else has it, or a list of each row's value: an
        array, str or bytes, a list of these, or, where parts differ in size, a pair
        (values, axes), each axis a size or an array of offsets. None at the end. Waits
        without the interpreter's lock; Ctrl-C ends the wait, not the pass.
        """
    def drain(self, blocks_max: int) -> int:
        """Takes blocks without handing them over; tells how many there were."""
    def origins(self, row: int) -> list[list[tuple[str | None, int, str | None]]]:
        """For each row in a row of the last block: where it comes from.

        That is file, offset and key of each source row that it was made of.
        """
    def cancel(self) -> None: ...
    def state(self) -> str:
        """The state after what next has given, as JSON."""
    def mark(self) -> Mark:
        """The same, to be written out when it is needed: much cheaper."""
    def facts(self) -> str:
        """What the pass did so far, as JSON."""
    def report(self) -> str:
        """The same for people: a table, the bottleneck, and what to do."""
    @property
    def given(self) -> int:
        """How many blocks next has given."""
    @property
    def lanes(self) -> int: ...

def arena_functions() -> tuple[int, int]:
    """The addresses of functions to allocate and free arenas, as Python calls them.

    Arenas lie in a file until share_arenas is called.
    """

def share_arenas() -> int:
    """Makes what is written to arenas each process's own; gives their bytes."""

def give_back_copies() -> tuple[int, int]:
    """Drops this process's copies of pages of arenas that nobody has changed.

    Gives the bytes that were copied, and those given back. Nothing where the process
    has other threads.
    """
