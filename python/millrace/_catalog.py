"""What operators and kernels there are, as the engine lists them; read once, on use."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millrace import _core


@dataclass(frozen=True)
class Argument:
    """One argument of an operator or kernel, with what it accepts."""

    name: str
    type: str
    doc: str
    required: bool
    default: Any
    none_allowed: bool
    choices: tuple[str, ...]
    least: int | None = None
    most: int | None = None

    @property
    def is_function(self) -> bool:
        """Whether it takes a function of a row."""
        return self.type in ("row_function", "value_function")


@dataclass(frozen=True)
class Operand:
    """One value that a kernel is called on."""

    name: str
    doc: str


@dataclass(frozen=True)
class Operator:
    """A source or a transformation of rows."""

    name: str
    doc: str
    inputs: int
    more_inputs: bool
    source: bool
    arguments: tuple[Argument, ...]

    def argument(self, name: str) -> Argument:
        """Finds an argument, which must be there."""
        return next(argument for argument in self.arguments if argument.name == name)


@dataclass(frozen=True)
class Kernel:
    """A function of values, for the functions of rows."""

    name: str
    doc: str
    operands: tuple[Operand, ...]
    variadic: bool
    random: bool
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Catalog:
    """All operators and kernels by name."""

    operators: Mapping[str, Operator]
    kernels: Mapping[str, Kernel]


def _argument(item: dict[str, Any]) -> Argument:
    text = item.pop("default_text")
    # In the text form of pipelines, which is JSON but for this word.
    default = None if text in ("", "none") else json.loads(text)
    return Argument(**{**item, "default": default, "choices": tuple(item["choices"])})


def _arguments(items: list[dict[str, Any]]) -> tuple[Argument, ...]:
    return tuple(_argument(item) for item in items)


def _operator(item: dict[str, Any]) -> Operator:
    return Operator(**{**item, "arguments": _arguments(item["arguments"])})


def _kernel(item: dict[str, Any]) -> Kernel:
    operands = tuple(Operand(**operand) for operand in item["operands"])
    arguments = _arguments(item["arguments"])
    return Kernel(**{**item, "operands": operands, "arguments": arguments})


def parse(text: str) -> Catalog:
    """Reads the engine's JSON."""
    items = json.loads(text)
    return Catalog(
        operators={item["name"]: _operator(item) for item in items["operators"]},
        kernels={item["name"]: _kernel(item) for item in items["kernels"]},
    )


@functools.cache
def catalog() -> Catalog:
    """Gives the catalog of this process."""
    return parse(_core.catalog())
