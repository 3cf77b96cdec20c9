"""Images in class folders, listed as torchvision's ImageFolder does."""

from __future__ import annotations

import os
from pathlib import Path


def listed(folder: Path) -> tuple[list[str], list[int]]:
    """Give the paths of all images, sorted, and the number of the class of each."""
    paths: list[str] = []
    labels: list[int] = []
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    for label, name in enumerate(names):
        with os.scandir(folder / name) as entries:
            files = sorted(entry.path for entry in entries)
        paths += files
        labels += [label] * len(files)
    return paths, labels
