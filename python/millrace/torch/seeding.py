"""Randomness that depends on the seed, the epoch and the batch, and on nothing else.

The process that makes a batch seeds `random`, NumPy and torch for it. So a batch is the
same in the trainer, in any worker, and after a resume.
"""

import ctypes
import hashlib
import os
import random
import struct
import sys
from types import TracebackType
from typing import Any

import torch

# One word per use of the seed, so that two uses never share a stream.
BATCH = 1
ORDER = 2

# The words of a Mersenne twister and its position.
_MT19937_BYTES = 625 * 4

_WORD_MASK = 0xFFFFFFFFFFFFFFFF

# What a launcher sets alike for all ranks of one run.
_RUN_VARIABLES = (
    "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "MASTER_ADDR",
    "MASTER_PORT",
)


def mix(*words: int) -> int:
    """Hashes whole numbers into one of 64 bits."""
    packed = struct.pack(f"<{len(words)}Q", *(word & _WORD_MASK for word in words))
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")


def seed_libraries(seed: int) -> None:
    """Seeds the global generators of `random`, NumPy and torch.

    `torch.manual_seed` also walks all devices, which costs a hundred times more than
    the CPU generator that code in a loader draws from.
    """
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
    torch.default_generator.manual_seed(seed)


# Generators for `Seeded` blocks; making one takes 165 µs.
_spare_bits: list[Any] = []


class Seeded:
    """Seeds the libraries for a `with` block and puts back the caller's state after it.

    NumPy's generator is exchanged, not copied: a copy each way takes 100 µs.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __enter__(self) -> None:
        self._random = random.getstate()
        self._torch = torch.default_generator.get_state()
        self._numpy: Any = sys.modules.get("numpy")
        if self._numpy is not None:
            self._save_numpy(self._numpy.random)
        seed_libraries(self._seed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        random.setstate(self._random)
        torch.default_generator.set_state(self._torch)
        if self._numpy is not None:
            self._restore_numpy(self._numpy.random)

    def _save_numpy(self, library: Any) -> None:
        self._bits = library.get_bit_generator()
        self._kept_normal = _kept_normal.of(library, self._bits)
        library.set_bit_generator(
            _spare_bits.pop() if _spare_bits else library.MT19937(0)
        )

    def _restore_numpy(self, library: Any) -> None:
        library.seed(0)  # Drops a normal value that the block left behind.
        _spare_bits.append(library.get_bit_generator())
        library.set_bit_generator(self._bits)
        if self._kept_normal is not None:
            library.set_state(self._kept_normal)


class _KeptNormal:
    """Tells whether NumPy keeps a normal value, which is not part of its generator.

    Asking NumPy takes 50 µs. Where there was none, there is none until the generator
    moves; one that was there may have been used up.
    """

    def __init__(self) -> None:
        self._seen = b""
        self._state: Any = None

    def of(self, library: Any, bits: Any) -> Any:
        """The state with the value, or None if there is no such value."""
        if type(bits) is library.MT19937:
            words = ctypes.string_at(bits.ctypes.state_address, _MT19937_BYTES)
            if words == self._seen and self._state is None:
                return None
            self._seen = words
        state = library.get_state(legacy=False)
        self._state = state if state.get("has_gauss") else None
        return self._state


_kept_normal = _KeptNormal()


def draw_seed(generator: torch.Generator | None, world_size: int) -> int:
    """Chooses a seed where the user gave none.

    One process draws it from `generator`, else from torch, so `torch.manual_seed` makes
    a run repeatable. Several ranks need the same seed without talking: they take the
    identity of the run.
    """
    if world_size <= 1:
        drawn = torch.empty((), dtype=torch.int64).random_(generator=generator)
        return int(drawn.item())
    identity = [f"{name}={os.environ.get(name, '')}" for name in _RUN_VARIABLES]
    if not any(os.environ.get(name) for name in _RUN_VARIABLES):
        raise ValueError(
            "DataLoader: several ranks must agree on a seed, and the launcher gave no "
            "run id; add seed=0 (or any other number) to the DataLoader"
        )
    digest = hashlib.blake2b("\n".join(identity).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little")
