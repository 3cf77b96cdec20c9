"""Memory that a worker of this machine shares, pinned where it is.

It is mapped once and used again for batch after batch, so it is registered with CUDA
once, too: that takes milliseconds. What nobody else has any more is let go.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from millrace import _core


class PinnedMappings:
    """Registers mappings as they are met."""

    def __init__(self, cudart: Any) -> None:
        """Take the CUDA runtime, as `torch.cuda.cudart()` gives it."""
        self._cudart = cudart
        self._lock = threading.Lock()
        self._pinned: dict[int, _core.Mapping] = {}  # By address; keeps them mapped.

    def pin(self, array: np.ndarray[Any, Any]) -> bool:
        """Have an array's memory pinned; False where it is not shared, or cannot be."""
        memory = array.base
        mapping = memory.mapping if isinstance(memory, _core.Memory) else None
        if mapping is None:
            return False
        with self._lock:
            if mapping.address in self._pinned:
                return True
            self._let_go()
            result = self._cudart.cudaHostRegister(mapping.address, mapping.bytes, 0)
            if result != self._cudart.cudaError.success:
                return False
            self._pinned[mapping.address] = mapping
            return True

    def _let_go(self) -> None:
        """Unregister what nobody else has: it is unmapped then."""
        for address in [a for a, m in self._pinned.items() if m.is_alone]:
            self._cudart.cudaHostUnregister(address)
            del self._pinned[address]


@functools.cache
def mappings(cudart: Any) -> PinnedMappings:
    """Give the one of this process."""
    return PinnedMappings(cudart)
