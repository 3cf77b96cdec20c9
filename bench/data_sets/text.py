"""Lines of words: as often as in language (Zipf), as long as in prose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FILES = 8
_WORDS = 50_000
_LINE_WORDS = 20


def write_lines(folder: Path, rows: int, seed: int) -> None:
    """Write text files with so many lines in all."""
    rng = np.random.default_rng(seed)
    words = _vocabulary(rng)
    for file in range(FILES):
        count = len(range(file, rows, FILES))
        lengths = 1 + rng.poisson(_LINE_WORDS - 1, count)
        drawn = words[np.minimum(rng.zipf(1.3, lengths.sum()), _WORDS) - 1]
        ends = np.cumsum(lengths)[:-1]
        lines = [" ".join(some) for some in np.split(drawn, ends)]
        (folder / f"text-{file:03d}.txt").write_text("\n".join(lines) + "\n")


def _vocabulary(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Draw words; the frequent ones are short."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lengths = 2 + rng.poisson(1 + np.log10(1 + np.arange(_WORDS)))
    drawn = rng.choice(letters, lengths.sum())
    parts = np.split(drawn, np.cumsum(lengths)[:-1])
    return np.array(["".join(part) for part in parts], dtype=object)
