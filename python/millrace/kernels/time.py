"""Dates and times, as numbers since 1970.

Written by tools/python_faces.py from the catalog of the engine.
"""

from millrace._kernel_call import Value, call


def parse(x: Value, format: str = "iso8601", *, unit: str = "seconds") -> Value:
    """Reads texts as dates and times: how long since 1970-01-01 00:00 UTC.

    A text that is none is an error of the row.

    Args:
        x: Texts of any shape.
        format: How they are written: iso8601, as in 2024-01-31T12:30:15.25+02:00 of
            which only the date must be there; or text with the parts %Y %m %d %H %M %S
            %y %I %p %b %B %j %f %z %F %T %%, as of strptime. Without a zone it is UTC.
        unit: What is counted; what is finer is dropped.

    Example:
        >>> int(mr.time.parse("1970-01-02"))
        86400
    """
    arguments: dict[str, object] = {"format": format, "unit": unit}
    return call("parse_date", [x], arguments)


def part(x: Value, part: str, *, unit: str = "seconds") -> Value:
    """Gives a part of a moment, in UTC: months, days and days of the year count from 1,
    weekdays from 0, which is Monday.

    Args:
        x: How long since 1970-01-01 00:00 UTC, integers of any shape.
        part: Which part.
        unit: What was counted.

    Example:
        >>> int(mr.time.part(np.int64(0), "year"))
        1970
    """
    arguments: dict[str, object] = {"part": part, "unit": unit}
    return call("date_part", [x], arguments)
