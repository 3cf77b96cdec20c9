"""Makes batches of packed token ids from JSONL: no room is spent on padding.

Texts differ in length. Padded to the longest of a batch, much of what a model would
compute is about nothing; packed, several texts share a row, told apart by their
segment ids. The texts are made up first; --data takes JSONL files with a field `text`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import millrace as mr

VOCABULARY = 8192
FIRST_WORD = 2  # 0 is padding, 1 ends a text.
Array = np.ndarray[Any, np.dtype[Any]]
WORDS = ("water", "wheel", "grain", "stone", "mill", "sluice", "it's", "turns", "race")


def make_texts(count: int) -> Path:
    """Write made-up texts, most of them short and a few long, as JSONL."""
    path = Path(tempfile.gettempdir()) / "millrace-texts.jsonl"
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for _ in range(count):
            words = rng.choice(WORDS, int(rng.lognormal(3.5, 0.8)) + 1)
            file.write(json.dumps({"text": " ".join(words) + "."}) + "\n")
    return path


def tokenise(row: Any) -> dict[str, Any]:
    """Make token ids: words and signs, lower case, each by its hash.

    Hashes need no vocabulary file, and are the same on every machine.
    """
    spaced = mr.regex.replace(mr.text.lower(row["text"]), r"[\w']+|[^\w\s]", r"\0 ")
    words = mr.text.split(spaced)
    ids = mr.math.hash_bucket(words, VOCABULARY - FIRST_WORD) + FIRST_WORD
    return {"tokens": mr.math.concat(ids, np.array([1]))}


def attention_mask(segments: Array) -> Array:
    """Tell which token may look at which: earlier ones of the same text."""
    same = segments[:, :, None] == segments[:, None, :]
    earlier = np.tri(segments.shape[1], dtype=bool)
    return np.asarray(same & earlier & (segments > 0)[:, :, None])


def share_used(batches: mr.Dataset) -> tuple[float, int]:
    """Tell how full batches are, and how many tokens they hold."""
    room = used = 0
    for batch in batches:
        room += batch["tokens"].size
        used += int(np.count_nonzero(batch["tokens"]))
    return used / room, used


def main() -> None:
    """Make the texts, pack them, say how full the batches are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", help="JSONL files; else made up")
    parser.add_argument("--texts", type=int, default=5000, help="to make up")
    parser.add_argument("--length", type=int, default=512, help="tokens in a row")
    parser.add_argument("--batch", type=int, default=16, help="rows in a batch")
    args = parser.parse_args()
    files = args.data or make_texts(args.texts)
    rows = mr.read_jsonl(files, fields="{text: string}").shuffle(1000, seed=7)
    # Texts stay whole, so that one longer than a row is cut.
    cut = args.length
    tokens = rows.map(tokenise).map(lambda row: {"tokens": row["tokens"][:cut]})
    packed = tokens.pack(cut).batch(args.batch)

    first = packed.head(1)[0]
    for name, column in first.items():
        print(f"{name:12} {column.dtype} {list(column.shape)}")
    print("one row's texts begin at", np.flatnonzero(first["positions"][0] == 0)[:6])
    mask = attention_mask(first["segment_ids"])
    print(f"attention    {mask.dtype} {list(mask.shape)}, {mask.mean():.1%} of it set")

    padded, expected = share_used(tokens.padded_batch(args.batch))
    full, used = share_used(packed)
    print(f"padded to the longest: {padded:.1%} full")
    print(f"packed:                {full:.1%} full, {used:,} tokens")
    if used != expected:
        sys.exit(f"packing lost tokens: {used:,} of {expected:,}")


if __name__ == "__main__":
    main()
