"""Python functions on a service: where they run, and what is checked before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError
from service_processes import Service, read, stream, values


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


def halves(row: Any) -> dict[str, Any]:
    if row["value"] % 2:  # Cannot be traced.
        return {"x": row["value"], "where": os.getppid()}
    return {"x": row["value"], "where": os.getppid()}


def with_function(rows: int = 2000) -> mr.Dataset:
    return mr.range(rows).map(halves, python=True).batch(10)


def test_functions_run_on_the_workers(service: Service) -> None:
    with read(service, with_function()) as there:
        found = list(there)
    assert sorted(values(found)) == list(range(2000))
    workers = {worker.process.pid for worker in service.workers}
    assert set(values(found, "where")) <= workers


def test_a_generator_runs_on_a_worker(service: Service) -> None:
    def count() -> Iterator[dict[str, int]]:
        for number in range(100):
            yield {"x": number}

    ds = mr.from_generator(count).batch(10)
    with read(service, ds) as there:
        assert values(there) == list(range(100))


def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    ds = with_function(6000)
    with Service(tmp_path, workers=3) as fleet, read(fleet, ds) as there:
        found = []
        for number, batch in enumerate(there):
            found.append(batch)
            if number == 30:
                fleet.workers[0].kill()
            if number == 200:
                fleet.workers[1].kill()
    assert sorted(values(found)) == list(range(6000))


def test_what_a_function_raises_is_told_with_its_line(service: Service) -> None:
    def fails(row: Any) -> dict[str, Any]:
        if row["value"] == 50:
            raise ZeroDivisionError("row fifty")
        return {"x": row["value"]}

    ds = mr.range(100).map(fails, python=True).batch(10)
    with (
        read(service, ds) as there,
        pytest.raises(mr.DataError, match="row fifty") as raised,
    ):
        list(there)
    assert "raise ZeroDivisionError" in str(raised.value)


def test_functions_need_permission(tmp_path: Path) -> None:
    with Service(tmp_path, workers=0) as fleet:
        fleet.workers.append(fleet.start_worker(python=False))
        with pytest.raises(PipelineError, match="--allow-python"):
            next(iter(read(fleet, with_function())))
        with read(fleet, stream(100)) as there:  # Others run there.
            assert len(values(there)) == 100


def test_functions_need_a_token(tmp_path: Path) -> None:
    with Service(tmp_path, workers=0, token="") as fleet:
        fleet.workers.append(fleet.start_worker(python=False))
        with pytest.raises(PipelineError, match="MILLRACE_TOKEN"):
            next(iter(read(fleet, with_function())))
        with pytest.raises(AssertionError, match="--allow-python needs a token"):
            fleet.start_worker()


def distribution(folder: Path, name: str, version: str, module: str) -> str:
    """Make what says that a package is installed."""
    place = folder / f"{name}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    (place / "top_level.txt").write_text(f"{module}\n")
    return str(folder)


def total(row: Any) -> dict[str, Any]:
    return {"x": int(np.sum(np.ones(3))) + row["value"]}


def test_another_version_of_a_package_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = distribution(tmp_path / "other", "numpy", "0.0.1", "numpy")
    with Service(tmp_path, workers=0) as fleet:
        paths = os.pathsep.join([other, os.environ.get("PYTHONPATH", "")])
        fleet.workers.append(fleet.start_worker(PYTHONPATH=paths))
        with read(fleet, mr.range(20).map(total, python=True).batch(4)) as there:
            assert sorted(values(there)) == list(range(3, 23))
    assert f"has numpy 0.0.1, the functions come from {np.__version__}" in caplog.text


def test_a_package_that_no_worker_has_is_an_error(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(distribution(tmp_path, "nowhere", "1.5", "numpy"))
    with pytest.raises(PipelineError, match=r"has no nowhere, .* come from 1\.5"):
        next(iter(read(service, mr.range(20).map(total, python=True).batch(4))))


def test_packages_of_functions_are_found_and_the_users_own_left_out() -> None:
    from millrace.packages import needed

    assert needed(stream()._pipeline) == []
    found = dict(needed(mr.range(3).map(total, python=True)._pipeline))
    assert found["numpy"] == np.__version__
    assert next(iter(found)) == "python"
    assert "pytest" not in found
