import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pyarrow import parquet

from data_sets import clicks, layouts, photos, text, volumes
from drivers.folders import listed
from drivers.interface import CannotError, Run
from drivers.photo_rows import jpegs
from drivers.python_arrays import pad_images, volume
from drivers.python_columns import features, lines_of, padded, tables_of, tokens_of
from harness.workload import Workload


def _run(folder: Path, layout: str) -> Run:
    metric = {"counted": "images"}
    pipeline = {"kind": "augment", "batch": 4}
    source = {"layout": layout}
    workload = Workload("", "", True, source, pipeline, {"place": "local"}, metric)
    return Run(workload, 20, folder, folder, 1)


def test_photos_have_about_the_bytes_that_are_asked_for() -> None:
    made = photos.make(6, kilobytes=30, megapixels=0.1, seed=1)
    assert 20_000 < np.mean([len(image) for image in made]) < 40_000
    shapes = {Image.open(io.BytesIO(image)).size for image in made}
    assert len(shapes) > 1
    assert made == photos.make(6, kilobytes=30, megapixels=0.1, seed=1)


def test_tar_files_and_folders_hold_the_same_rows(tmp_path: Path) -> None:
    images = [f"image {number}".encode() for number in range(5)]
    (tmp_path / "tars").mkdir()
    (tmp_path / "folders").mkdir()
    layouts.in_tars(tmp_path / "tars", images, 20)
    layouts.in_folders(tmp_path / "folders", images, 20)
    rows = sorted(content for content, _ in jpegs(_run(tmp_path / "tars", "tar")))
    paths, labels = listed(tmp_path / "folders")
    assert (
        sorted(Path(path).read_bytes() for path in paths) == rows == sorted(4 * images)
    )
    wanted = sorted(layouts.label_of(row) for row in range(20))
    assert sorted(label for _, label in jpegs(_run(tmp_path / "tars", "tar"))) == wanted
    assert max(labels) == len(set(wanted)) - 1
    with tarfile.open(tmp_path / "tars" / "train-000.tar") as tar:
        assert tar.getnames()[:2] == ["00000000.jpg", "00000000.cls"]


def test_an_unknown_layout_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotError, match="unknown layout"):
        next(jpegs(_run(tmp_path, "tape")))


def test_text_has_so_many_lines_and_becomes_padded_batches(tmp_path: Path) -> None:
    text.write_lines(tmp_path, 100, seed=1)
    lines = list(lines_of(sorted(tmp_path.glob("*.txt"))))
    assert len(lines) == 100
    batch = padded([tokens_of(line, 10) for line in lines])
    assert batch["length"].tolist() == [line.count(" ") + 1 for line in lines]
    assert batch["tokens"].shape == (100, batch["length"].max())
    assert batch["tokens"].max() < 10


def test_tables_have_so_many_rows_and_become_features(tmp_path: Path) -> None:
    clicks.write_clicks(tmp_path, 100, seed=1)
    files = sorted(tmp_path.glob("*.parquet"))
    assert sum(parquet.ParquetFile(file).metadata.num_rows for file in files) == 100
    made = [features(part, 50) for part in tables_of(files, 10, threads=False)]
    assert sum(len(part["label"]) for part in made) == 100
    assert made[0]["dense"].shape == (10, 13)
    assert made[0]["dense"].dtype == np.float32
    assert made[0]["category"].shape == (10, 26)
    assert max(part["category"].max() for part in made) < 50


def test_volumes_are_files_of_their_shape(tmp_path: Path) -> None:
    volumes.write_volumes(tmp_path, 2, [4, 6, 8], seed=1)
    files = sorted(tmp_path.glob("*.bin"))
    assert [file.stat().st_size for file in files] == [384, 384]
    assert volume(files[0], [4, 6, 8]).dtype == np.float32


def test_images_of_many_shapes_are_padded_with_black() -> None:
    wide, high = np.ones((2, 5, 3), np.uint8), np.ones((4, 3, 3), np.uint8)
    batch = pad_images([wide, high])
    assert batch.shape == (2, 4, 5, 3)
    assert batch.sum() == wide.sum() + high.sum()
