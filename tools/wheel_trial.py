"""Tries an installed wheel, in the environment of the Python that runs this.

What it needs must be inside it: after images, Parquet files, a function in another
process and a service were used, no library of the system is mapped but those that
every Linux of its kind has. Says how large it is, and how long its import takes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import millrace as mr

# What manylinux wheels may take for granted, and Python has itself.
_EVERYWHERE = re.compile(
    r"(ld-linux|libc|libm|libdl|libpthread|librt|libutil|libgcc_s|libstdc\+\+|libz|"
    r"libpython3|libcrypto|libssl|libffi|liblzma|libbz2|libexpat|libuuid)[-.\d\w]*\.so"
)
_IMPORT = """
import time, numpy
start = time.perf_counter()
import millrace
print(time.perf_counter() - start)
"""


def foreign_libraries() -> list[str]:
    """List mapped libraries that are neither in this environment nor everywhere."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if ".so" in line}
    own = (sys.prefix, sys.base_prefix)
    return sorted(
        path
        for path in paths
        if not path.startswith(own) and not _EVERYWHERE.match(Path(path).name)
    )


def use_it(folder: Path) -> None:
    """Use what stands on libraries of others."""

    def halved(row: Any) -> dict[str, Any]:
        return {"image": row["image"][:8], "n": row["n"]}

    images = np.zeros((4, 16, 16, 3), np.uint8)
    source = mr.from_arrays({"image": images, "n": np.arange(4)})
    for form in ("jpeg", "png", "webp"):
        coded = source.map(
            lambda row, form=form: {
                "bytes": mr.image.encode(row["image"], form),
                "n": row["n"],
            }
        )
        kept = coded.save(folder / form, format="parquet")
        decoded = kept.map(
            lambda row: {"image": mr.image.decode(row["bytes"]), "n": row["n"]}
        )
        (batch,) = decoded.map(halved, python=True).batch(4)
        assert batch["image"].shape == (4, 8, 16, 3)
        assert sorted(batch["n"].tolist()) == [0, 1, 2, 3]


def main() -> None:
    """Try all, and tell."""
    package = Path(mr.__file__).parent
    for name in ("py.typed", "_core.pyi"):
        assert (package / name).exists(), f"{name} is not in the wheel"
    with tempfile.TemporaryDirectory() as folder:
        use_it(Path(folder))
    assert not foreign_libraries(), foreign_libraries()
    command = Path(sys.executable).with_name("millrace")
    subprocess.run([command, "list", "batch"], check=True, stdout=subprocess.DEVNULL)
    files = metadata.files("millrace") or []
    size = sum(Path(str(file.locate())).stat().st_size for file in files)
    seconds = min(
        float(subprocess.check_output([sys.executable, "-c", _IMPORT]))
        for _ in range(5)
    )
    print(
        f"   it runs: {size / 1e6:.0f} MB installed, imported in "
        f"{1e3 * seconds:.0f} ms behind NumPy; {mr.budget()}"
    )


if __name__ == "__main__":
    main()
