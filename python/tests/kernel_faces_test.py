"""The functions and methods that are written from the catalog."""

import doctest
import importlib
import inspect
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import face_tables
import python_faces
from millrace._catalog import catalog
from millrace.kernels import math, text
from millrace.rng import Rng, RowRng


def module(name: str) -> ModuleType:
    return importlib.import_module(f"millrace.kernels.{name}")


def test_what_is_there_is_what_would_be_written() -> None:
    for path, wanted in python_faces.faces(catalog()).items():
        assert path.read_text() == wanted, "run: python tools/python_faces.py"


def test_every_kernel_is_reached_once() -> None:
    placed = set(face_tables.PLACES)
    assert placed | face_tables.DRAWN_BY_RNG == set(catalog().kernels)
    assert not placed & face_tables.DRAWN_BY_RNG
    assert len(set(face_tables.PLACES.values())) == len(placed)
    for where, name in face_tables.PLACES.values():
        assert callable(getattr(module(where), name))
    for name in face_tables.DRAWN_BY_RNG:
        assert callable(getattr(Rng, name))


def test_every_operator_is_reached_once() -> None:
    written = "\n".join(python_faces.faces(catalog()).values())
    for name in set(catalog().operators) - face_tables.BY_HAND:
        assert written.count(f'("{name}", ') >= 1, name
    assert set(catalog().operators) >= face_tables.BY_HAND


def test_signatures_have_types_and_docs() -> None:
    for where, name in face_tables.PLACES.values():
        function = getattr(module(where), name)
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty
            assert f"    {parameter.name}: " in (function.__doc__ or "")


@pytest.mark.parametrize("name", sorted(face_tables.MODULES))
def test_examples_run(name: str) -> None:
    modules = {other: module(other) for other in face_tables.MODULES}
    mr = SimpleNamespace(**modules, Rng=RowRng)
    finder = doctest.DocTestFinder(recurse=True)
    runner = doctest.DocTestRunner()
    for test in finder.find(module(name), globs={"mr": mr, "np": np}):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_variadic_kernels_take_a_list_as_well() -> None:
    a, b = np.arange(2), np.arange(2, 4)
    assert math.concat(a, b).tolist() == math.concat([a, b]).tolist() == [0, 1, 2, 3]
    assert text.concat("a", "b", "c") == "abc"


def test_pairs_must_be_two_numbers() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    resize = module("image").resize
    for wrong in (5, (1, 2, 3), "ab"):
        with pytest.raises(TypeError, match=r"resize: size takes two numbers"):
            resize(image, wrong)
