"""Numbers and arrays: arithmetic, comparison, reductions and shapes.

Written by tools/python_faces.py from the catalog of the engine.
"""

from collections.abc import Sequence

from millrace._kernel_call import Value, call, several
from millrace._numpy_calls import DType, dtype_name


def absolute(x: Value) -> Value:
    """Gives the distance from 0; the least signed integer stays itself.

    Args:
        x: Numbers of any shape.
    """
    return call("absolute", [x], {})


def add(a: Value, b: Value) -> Value:
    """Adds numbers; integers wrap around.

    Args:
        a: Numbers.
        b: Numbers, broadcast against a.

    Example:
        >>> mr.math.add(np.array([1, 2]), 3)
        array([4, 5])
    """
    return call("add", [a, b], {})


def all(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Tells whether no value is false.

    Args:
        x: Bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("all", [x], arguments)


def any(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Tells whether at least one value is true.

    Args:
        x: Bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("any", [x], arguments)


def argmax(x: Value, axis: int = -1) -> Value:
    """Gives the place of the largest value along an axis, which goes away: the first of
    several, the first NaN if there is one; of no values, an error.

    Args:
        x: Numbers or bools with at least one axis.
        axis: The axis along which; counts from the end when negative.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("argmax", [x], arguments)


def argsort(x: Value, axis: int = -1, *, descending: bool = False) -> Value:
    """Gives the places of values along an axis in their order: equal ones as they
    stand, NaN last.

    Args:
        x: Numbers or bools with at least one axis.
        axis: The axis along which; counts from the end when negative.
        descending: Whether the largest comes first.
    """
    arguments: dict[str, object] = {"axis": axis, "descending": descending}
    return call("argsort", [x], arguments)


def at(x: Value, index: Value, axis: int = 0) -> Value:
    """Takes what lies at one place on an axis, which goes away.

    Args:
        x: Values with at least one axis.
        index: The place, an integer scalar; counts from the end when negative. Out of
            range is an error of the row.
        axis: The axis; counts from the end when negative.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("at", [x, index], arguments)


def bucketize(x: Value, boundaries: Sequence[float]) -> Value:
    """Counts the boundaries that are not above a number: 0 below the first, and all of
    them for NaN.

    Compares as float64.

    Args:
        x: Numbers of any shape.
        boundaries: Where a bucket ends and the next begins; rising.
    """
    arguments: dict[str, object] = {"boundaries": boundaries}
    return call("bucketize", [x], arguments)


def cast(x: Value, dtype: DType) -> Value:
    """Brings values to another type: floats to integers by truncation, clamped to the
    range, integers to smaller ones by wrapping around, what is not 0 to true; bytes to
    string where they are valid UTF-8.

    Args:
        x: Values of any type and shape.
        dtype: The type to bring them to.

    Example:
        >>> mr.math.cast(np.array([1.7, -2.5]), int)
        array([ 1, -2])
    """
    arguments: dict[str, object] = {"dtype": dtype_name(dtype)}
    return call("cast", [x], arguments)


def ceil(x: Value) -> Value:
    """Rounds up to a whole number, of the same type.

    Args:
        x: Numbers of any shape.
    """
    return call("ceil", [x], {})


def clip(x: Value, low: Value, high: Value) -> Value:
    """Raises numbers to low, then lowers them to high; NaN stays.

    Args:
        x: Numbers.
        low: The least, broadcast against x.
        high: The most, broadcast against x.

    Example:
        >>> mr.math.clip(np.array([1, 5, 9]), 2, 6)
        array([2, 5, 6])
    """
    return call("clip", [x, low, high], {})


def concat(*values: Value, axis: int = 0) -> Value:
    """Joins values along an axis; their other axes must agree.

    Types meet as in add.

    Args:
        values: Values of any type. Two or more, or a list of them.
        axis: The axis; counts from the end when negative.

    Example:
        >>> mr.math.concat(np.arange(2), np.arange(2))
        array([0, 1, 0, 1])
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("concat", several(values), arguments)


def cumsum(x: Value, axis: int = -1) -> Value:
    """Gives the sum of the values up to each along an axis, of the types that sum
    gives; floats are added up in double.

    Args:
        x: Numbers or bools with at least one axis.
        axis: The axis along which; counts from the end when negative.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("cumsum", [x], arguments)


def divide(a: Value, b: Value) -> Value:
    """Divides a by b; integers give float64, and division by zero an infinity or NaN.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return call("divide", [a, b], {})


def equal(a: Value, b: Value) -> Value:
    """Tells whether a equals b.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("equal", [a, b], {})


def exp(x: Value) -> Value:
    """Gives e to the power x.

    Args:
        x: Numbers of any shape; integers give float64.
    """
    return call("exp", [x], {})


def expand_dims(x: Value, axis: int) -> Value:
    """Adds an axis of size 1.

    Args:
        x: A value of any type and shape.
        axis: Where the new axis will be; counts from the end when negative, where -1 is
            the last.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("expand_dims", [x], arguments)


def fill(x: Value, shape: Sequence[int]) -> Value:
    """Gives a value of some shape that is the same everywhere.

    Args:
        x: A scalar of any type.
        shape: The sizes of the axes.
    """
    arguments: dict[str, object] = {"shape": shape}
    return call("fill", [x], arguments)


def floor(x: Value) -> Value:
    """Rounds down to a whole number, of the same type.

    Args:
        x: Numbers of any shape.
    """
    return call("floor", [x], {})


def floor_divide(a: Value, b: Value) -> Value:
    """Divides a by b and rounds down; dividing an integer by zero is an error of the
    row.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return call("floor_divide", [a, b], {})


def greater(a: Value, b: Value) -> Value:
    """Tells whether a is greater than b.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("greater", [a, b], {})


def greater_equal(a: Value, b: Value) -> Value:
    """Tells whether a is greater than b or equals it.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("greater_equal", [a, b], {})


def hash_bucket(x: Value, buckets: int, *, seed: int = 0) -> Value:
    """Gives each value a bucket by its hash, which is the same on every machine and in
    every version.

    Args:
        x: Integers or texts of any shape; 1 has the same bucket whatever the type.
        buckets: How many buckets there are; they are numbered from 0.
        seed: Another seed gives an unrelated order.
    """
    arguments: dict[str, object] = {"buckets": buckets, "seed": seed}
    return call("hash_bucket", [x], arguments)


def is_finite(x: Value) -> Value:
    """Tells whether numbers are neither infinite nor NaN.

    Args:
        x: Numbers of any shape.
    """
    return call("is_finite", [x], {})


def is_nan(x: Value) -> Value:
    """Tells whether numbers are NaN.

    Args:
        x: Numbers of any shape.
    """
    return call("is_nan", [x], {})


def length(x: Value) -> Value:
    """Gives the size of a value's first axis.

    Args:
        x: A value with at least one axis.
    """
    return call("length", [x], {})


def less(a: Value, b: Value) -> Value:
    """Tells whether a is less than b.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("less", [a, b], {})


def less_equal(a: Value, b: Value) -> Value:
    """Tells whether a is less than b or equals it.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("less_equal", [a, b], {})


def log(x: Value) -> Value:
    """Gives the natural logarithm: of 0 minus infinity, of less NaN.

    Args:
        x: Numbers of any shape; integers give float64.
    """
    return call("log", [x], {})


def log1p(x: Value) -> Value:
    """Gives the natural logarithm of 1 + x, also for small x.

    Args:
        x: Numbers of any shape; integers give float64.
    """
    return call("log1p", [x], {})


def logical_and(a: Value, b: Value) -> Value:
    """Tells whether both are true.

    Args:
        a: Bools.
        b: Bools, broadcast against a.
    """
    return call("and", [a, b], {})


def logical_not(x: Value) -> Value:
    """Turns true into false and false into true.

    Args:
        x: Bools of any shape.
    """
    return call("not", [x], {})


def logical_or(a: Value, b: Value) -> Value:
    """Tells whether at least one is true.

    Args:
        a: Bools.
        b: Bools, broadcast against a.
    """
    return call("or", [a, b], {})


def max(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Gives the largest value, or NaN if there is one; of no values, an error.

    Args:
        x: Numbers or bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("max", [x], arguments)


def maximum(a: Value, b: Value) -> Value:
    """Gives the larger of two numbers; NaN where one of them is.

    Args:
        a: Numbers.
        b: Numbers, broadcast against a.
    """
    return call("maximum", [a, b], {})


def mean(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Gives the mean: of integers and bools as float64, of floats in their own type;
    computed in double.

    The mean of no values is NaN.

    Args:
        x: Numbers or bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("mean", [x], arguments)


def min(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Gives the least value, or NaN if there is one; of no values, an error.

    Args:
        x: Numbers or bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("min", [x], arguments)


def minimum(a: Value, b: Value) -> Value:
    """Gives the lesser of two numbers; NaN where one of them is.

    Args:
        a: Numbers.
        b: Numbers, broadcast against a.
    """
    return call("minimum", [a, b], {})


def modulo(a: Value, b: Value) -> Value:
    """Gives the rest of floor_divide, which has the sign of b; an integer modulo zero
    is an error of the row.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return call("modulo", [a, b], {})


def multiply(a: Value, b: Value) -> Value:
    """Multiplies numbers; integers wrap around.

    Args:
        a: Numbers.
        b: Numbers, broadcast against a.
    """
    return call("multiply", [a, b], {})


def negate(x: Value) -> Value:
    """Changes the sign; integers wrap around.

    Args:
        x: Numbers of any shape.
    """
    return call("negate", [x], {})


def not_equal(a: Value, b: Value) -> Value:
    """Tells whether a differs from b.

    Args:
        a: Numbers, bools or texts.
        b: Of the same kind, broadcast against a.
    """
    return call("not_equal", [a, b], {})


def one_hot(
    x: Value,
    depth: int,
    dtype: DType = "float32",
    *,
    on: float = 1.0,
    off: float = 0.0,
) -> Value:
    """Gives each class a vector that is on at its place and off elsewhere; for a class
    that is not below depth, off everywhere.

    Args:
        x: Classes: integers of any shape, counted from 0.
        depth: How many classes there are.
        on: The value at the class's place.
        off: The value at the others.
        dtype: The type of the values.

    Example:
        >>> mr.math.one_hot(np.array([0, 2]), 3)[1]
        array([0., 0., 1.], dtype=float32)
    """
    arguments: dict[str, object] = {
        "depth": depth,
        "on": on,
        "off": off,
        "dtype": dtype_name(dtype),
    }
    return call("one_hot", [x], arguments)


def pad_to(
    x: Value,
    length: int,
    *,
    value: float = 0.0,
    truncate: bool = False,
) -> Value:
    """Makes the first axis as long as asked for, by adding values at its end.

    A longer value is an error of the row, or is cut.

    Args:
        x: Values with at least one axis.
        length: The size that the first axis will have.
        value: What to add; texts are padded with empty ones.
        truncate: Whether what is longer is cut.
    """
    arguments: dict[str, object] = {
        "length": length,
        "value": value,
        "truncate": truncate,
    }
    return call("pad_to", [x], arguments)


def power(a: Value, b: Value) -> Value:
    """Raises a to the power b.

    Integers wrap around, and a negative power of one is an error of the row; floats
    follow C's pow.

    Args:
        a: Numbers.
        b: The powers, broadcast against a.
    """
    return call("power", [a, b], {})


def range(size: Value) -> Value:
    """Gives the integers from 0 up to, not including, a size.

    Args:
        size: How many, an integer scalar; less than 0 is an error of the row.
    """
    return call("range", [size], {})


def reshape(x: Value, shape: Sequence[int]) -> Value:
    """Gives the same values, in the same order, another shape.

    Args:
        x: A value of any type and shape.
        shape: The new sizes; one may be -1, which is as many as there are values for.
    """
    arguments: dict[str, object] = {"shape": shape}
    return call("reshape", [x], arguments)


def round(x: Value) -> Value:
    """Rounds to the nearest whole number, of the same type; of two the even one.

    Args:
        x: Numbers of any shape.
    """
    return call("round", [x], {})


def shape(x: Value) -> Value:
    """Gives the sizes of a value's axes, outermost first.

    Args:
        x: A value of any type and shape.
    """
    return call("shape", [x], {})


def sigmoid(x: Value) -> Value:
    """Gives 1 / (1 + e^-x).

    Args:
        x: Numbers of any shape; integers give float64.
    """
    return call("sigmoid", [x], {})


def slice(
    x: Value,
    axis: int = 0,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> Value:
    """Takes every step-th place from start up to, not including, stop on an axis, as
    Python does: bounds beyond the end are cut to it.

    Args:
        x: Values with at least one axis.
        axis: The axis; counts from the end when negative.
        start: Where to begin; none is the beginning.
        stop: Where to end; none is the end.
        step: The distance; backwards when negative, never 0.
    """
    arguments: dict[str, object] = {
        "axis": axis,
        "start": start,
        "stop": stop,
        "step": step,
    }
    return call("slice", [x], arguments)


def sort(x: Value, axis: int = -1, *, descending: bool = False) -> Value:
    """Sorts values along an axis; NaN comes last.

    Args:
        x: Numbers or bools with at least one axis.
        axis: The axis along which; counts from the end when negative.
        descending: Whether the largest comes first.
    """
    arguments: dict[str, object] = {"axis": axis, "descending": descending}
    return call("sort", [x], arguments)


def sqrt(x: Value) -> Value:
    """Gives the square root; integers give float64, negative numbers NaN.

    Args:
        x: Numbers of any shape.
    """
    return call("sqrt", [x], {})


def squeeze(x: Value, axis: int) -> Value:
    """Takes away an axis of size 1.

    Args:
        x: A value of any type.
        axis: The axis; counts from the end when negative.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("squeeze", [x], arguments)


def stack(*values: Value, axis: int = 0) -> Value:
    """Joins values of one shape along a new axis.

    Types meet as in add.

    Args:
        values: Values of any type. Two or more, or a list of them.
        axis: Where the new axis will be; counts from the end when negative, where -1 is
            the last.
    """
    arguments: dict[str, object] = {"axis": axis}
    return call("stack", several(values), arguments)


def subtract(a: Value, b: Value) -> Value:
    """Subtracts b from a; integers wrap around.

    Args:
        a: Numbers.
        b: Numbers, broadcast against a.
    """
    return call("subtract", [a, b], {})


def sum(x: Value, axis: int | None = None, *, keep_axis: bool = False) -> Value:
    """Adds up values: integers and bools as int64 or uint64, which wrap around, floats
    in double, rounded once to their own type.

    Args:
        x: Numbers or bools.
        axis: The axis along which to reduce, counted from the end when negative; none
            is over all values.
        keep_axis: Whether a reduced axis stays, with size 1.

    Example:
        >>> mr.math.sum(np.ones((2, 3)), axis=0)
        array([2., 2., 2.])
    """
    arguments: dict[str, object] = {"axis": axis, "keep_axis": keep_axis}
    return call("sum", [x], arguments)


def take(x: Value, indices: Value) -> Value:
    """Takes what lies at several places of the first axis: a table looked up, or values
    in another order.

    at takes one place.

    Args:
        x: Values with at least one axis.
        indices: The places, integers of any shape; they count from the end when
            negative. Out of range is an error of the row.
    """
    return call("take", [x, indices], {})


def tanh(x: Value) -> Value:
    """Gives the hyperbolic tangent.

    Args:
        x: Numbers of any shape; integers give float64.
    """
    return call("tanh", [x], {})


def transpose(x: Value, *, axes: Sequence[int] | None = None) -> Value:
    """Puts the axes of a value in another order.

    Args:
        x: A value of any type and shape.
        axes: The axes in their new order, each once; none is backwards.
    """
    arguments: dict[str, object] = {"axes": axes}
    return call("transpose", [x], arguments)


def where(condition: Value, a: Value, b: Value) -> Value:
    """Takes a where the condition is true, b where it is false.

    Args:
        condition: Bools, broadcast against a and b.
        a: Values of any type.
        b: Values that go with those of a.

    Example:
        >>> mr.math.where(np.array([True, False]), 1, 2)
        array([1, 2])
    """
    return call("where", [condition, a, b], {})
