"""The catalog as Python has it: typed, complete, read once."""

from millrace._catalog import catalog


def test_it_is_read_once() -> None:
    assert catalog() is catalog()


def test_operators_have_their_arguments() -> None:
    batch = catalog().operators["batch"]
    assert (batch.inputs, batch.more_inputs, batch.source) == (1, False, False)
    size = batch.argument("size")
    assert (size.type, size.required, size.least) == ("int", True, 1)
    remainder = batch.argument("drop_remainder")
    assert (remainder.type, remainder.required, remainder.default) == (
        "bool",
        False,
        False,
    )
    assert catalog().operators["zip"].more_inputs
    assert catalog().operators["range"].source
    assert catalog().operators["map"].argument("function").is_function
    assert not size.is_function


def test_defaults_are_values() -> None:
    csv = catalog().operators["read_csv"]
    defaults = {
        name: csv.argument(name).default for name in ("header", "quote", "select")
    }
    assert defaults == {"header": True, "quote": '"', "select": []}
    assert csv.argument("fields").default is None
    scale = next(
        argument
        for argument in catalog().kernels["normalize"].arguments
        if argument.name == "scale"
    )
    assert scale.default == 1 / 255


def test_kernels_have_their_operands() -> None:
    resize = catalog().kernels["resize"]
    assert [operand.name for operand in resize.operands] == ["image"]
    assert not resize.random
    assert catalog().kernels["uniform"].random
    assert catalog().kernels["stack"].variadic
    method = next(a for a in resize.arguments if a.name == "method")
    assert method.choices == ("nearest", "bilinear", "bicubic")
