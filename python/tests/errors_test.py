"""What users catch, by the public names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import millrace as mr
from millrace import errors


def fail_at(number: int) -> Any:
    def function(row: Any) -> dict[str, Any]:
        if int(row["value"]) == number:
            raise OSError("what the user raised")
        return {"x": 1}

    return function


def test_public_names_are_those_of_the_module() -> None:
    for name in ("DataError", "FunctionError", "TracingError", "UnknownFieldError"):
        assert getattr(mr, name) is getattr(errors, name)
        assert name in mr.__all__
        assert issubclass(getattr(mr, name), mr.Error)


def test_a_wrong_function_names_the_users_line() -> None:
    with pytest.raises(mr.UnknownFieldError) as caught:
        mr.range(3).map(lambda row: {"x": row["valeu"]})
    assert isinstance(caught.value, KeyError | mr.TracingError)
    assert caught.value.place is not None
    assert caught.value.place.file == __file__
    assert 'row["valeu"]' in caught.value.place.source
    assert "did you mean 'value'" in caught.value.reason
    with pytest.raises(mr.TracingError, match="cannot be traced"):
        mr.range(3).map(lambda row: {"x": int(row["value"])}, python=False)


def test_what_a_function_raises_is_a_function_error() -> None:
    with pytest.raises(mr.FunctionError, match="what the user raised"):
        mr.range(9).map(fail_at(0), python=True)  # Tried on the first row.
    rows = mr.range(9).map(fail_at(5), python=True)
    with pytest.raises(mr.FunctionError, match=r"row 5.*what the user raised"):
        list(rows.batch(2))
    with pytest.raises(mr.FunctionError, match="what the user raised"):
        list(rows.repeat(2).shuffle(4))
    assert len(list(rows.ignore_errors())) == 8
    with pytest.raises(mr.DataError, match="more than its budget"):
        list(rows.ignore_errors(budget=0))


def test_a_process_that_dies_is_a_function_error() -> None:
    def function(row: Any) -> dict[str, Any]:
        if int(row["value"]) == 5:
            os._exit(3)
        return {"x": 1}

    with pytest.raises(mr.FunctionError, match="row 5"):
        list(mr.range(9).map(function, python=True))


def test_bad_data_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 1}\n{"x": oh}\n')
    with pytest.raises(mr.DataError) as caught:
        list(mr.read_jsonl(path, fields="{x: int64}"))
    assert not isinstance(caught.value, mr.FunctionError)
