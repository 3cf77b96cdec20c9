from pathlib import Path

import pytest

from harness.systems import read_systems
from harness.workload import WorkloadError, read_workload, read_workloads

_BENCH = Path(__file__).parents[1]
_TEXT = """
title = "Numbers"
[source]
data = "none"
rows = 1000
quick_rows = 70
[pipeline]
kind = "numbers"
batch = 32
[client]
place = "local"
[metric]
counted = "rows"
bars = [{ peer = "other", times = 2.0 }]
"""


def _read(folder: Path, text: str):  # type: ignore[no-untyped-def]
    path = folder / "some.toml"
    path.write_text(text)
    return read_workload(path)


def test_a_workload_is_read(tmp_path: Path) -> None:
    workload = _read(tmp_path, _TEXT)
    assert (workload.name, workload.kind, workload.batch) == ("some", "numbers", 32)
    assert not workload.quick
    assert [(bar.peer, bar.times) for bar in workload.bars] == [("other", 2.0)]


def test_rows_are_whole_batches(tmp_path: Path) -> None:
    workload = _read(tmp_path, _TEXT)
    assert workload.rows(quick=False) == 992
    assert workload.rows(quick=True) == 64
    assert workload.rows(quick=True, scale=0.1) == 32
    assert workload.rows_to_check(992) == 992


def test_data_is_named_by_what_makes_it_differ(tmp_path: Path) -> None:
    text = _TEXT.replace("quick_rows", "shape = [2, 3]\nquick_rows")
    assert _read(tmp_path, text).data_name(64) == "none-shape-2x3-rows-64"


def test_fewer_rows_are_checked_where_it_says_so(tmp_path: Path) -> None:
    text = _TEXT.replace("quick_rows", "check_rows = 64\nquick_rows")
    assert _read(tmp_path, text).rows_to_check(992) == 64


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Numbers"', "", "title is missing"),
        ("batch = 32", "", r"\[pipeline\] lacks batch"),
        ('place = "local"', 'place = "moon"', "place is one of"),
        ('title = "Numbers"', 'title = "Numbers"\ncolour = 1', "understands colour"),
        ("bars =", "walls =", "has walls"),
        ("rows = 1000", "rows = ", "Invalid value"),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(WorkloadError, match=message):
        _read(tmp_path, _TEXT.replace(old, new))


def test_all_our_workloads_are_read_and_their_bars_name_systems() -> None:
    systems = {system.name for system in read_systems(_BENCH / "drivers/systems.toml")}
    workloads = read_workloads(_BENCH / "workloads")
    assert workloads
    for workload in workloads:
        assert {bar.peer for bar in workload.bars} <= systems
        assert workload.place == "local" or workload.client["workers"] >= 1


def test_every_system_has_a_driver_and_an_environment() -> None:
    for system in read_systems(_BENCH / "drivers/systems.toml"):
        driver = _BENCH / "drivers" / f"{system.module}.py"
        assert not system.module or driver.exists()
        assert (_BENCH / "envs" / f"{system.environment}.txt").exists()
        assert system.role in ("ours", "peer", "limit")
        assert system.takes_part(system.place[0], (*system.kinds, "numbers")[0])
        assert not system.takes_part("moon", "numbers")
