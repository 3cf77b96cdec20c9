import dataclasses
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.environments import Environments, MissingError, base_of
from harness.progress import Progress
from harness.report import number, report
from harness.runner import Options, RunError, Runner, medians, run_process
from harness.systems import System
from harness.workload import Workload

_METRIC = {
    "counted": "rows",
    "exact": ["x"],
    "bars": [{"peer": "slow", "times": 2.0}, {"peer": "absent", "times": 1.5}],
}
_WORKLOAD = Workload(
    "some",
    "Some rows",
    True,
    {"data": "none", "rows": 100, "quick_rows": 10},
    {"kind": "numbers", "batch": 10},
    {"place": "local"},
    _METRIC,
)


def _system(name: str, role: str = "peer") -> System:
    return System(name, name.title(), "tools", name, ("local",), role=role)


def _facts(total: int) -> dict[str, Any]:
    column = {"dtype": "int64", "shape": [], "sum": total, "mean": 1.0}
    return {"rows": 100, "bytes": 800, "columns": {"x": column}}


class _Systems:
    """Runs that are only told: what each system would print."""

    def __init__(self) -> None:
        self.order: list[tuple[str, str]] = []
        self._rates = {"ours": 100.0, "slow": 40.0, "limit": 200.0}

    def __call__(self, words: Sequence[str], system: System) -> dict[str, Any]:
        mode = words[words.index("--mode") + 1]
        self.order.append((mode, system.name))
        if system.name == "broken":
            raise RunError("it fell over")
        if system.name == "gone":
            raise MissingError("no wheel for this Python")
        if system.name == "unable":
            return {"cannot": "it has no such thing"}
        if mode == "check":
            total = 6 if system.name == "other" else 5
            told = {"settings": {"threads": 2}, "versions": {"numpy": "2"}}
            return {"facts": _facts(total), "memory_bytes": 5_000_000, **told}
        rate = self._rates[system.name]
        self._rates[system.name] += 2  # Another figure each time.
        return {"measured": {"rows_per_s": rate, "first_batch_s": 0.5, "p": None}}


def _options(**more: Any) -> Options:
    given = {"quick": False, "repeats": 3, "scale": 1.0, "seconds": 1.0, "minutes": 1.0}
    return Options(**{**given, "threads": 2, "package": Path(), **more})


def _run(
    start: _Systems, systems: list[System], folder: Path, **more: Any
) -> dict[str, Any]:
    progress = Progress(10, io.StringIO())
    runner = Runner(start, folder, _options(**more), progress)
    return runner.run(_WORKLOAD, folder / "some.toml", systems, folder)


def test_systems_are_checked_then_run_in_turn(tmp_path: Path) -> None:
    start = _Systems()
    result = _run(start, [_system("ours", "ours"), _system("slow")], tmp_path)
    turn = [("time", "ours"), ("time", "slow")]
    assert start.order == [("check", "ours"), ("check", "slow"), *3 * turn]
    assert result["systems"]["ours"]["median"]["rows_per_s"] == 102
    assert result["systems"]["ours"]["median"]["spread"] == pytest.approx(4 / 102)


def test_who_cannot_says_why_and_is_not_timed(tmp_path: Path) -> None:
    start = _Systems()
    names = ("broken", "gone", "unable", "other")
    systems = [_system("ours", "ours"), *map(_system, names)]
    result = _run(start, systems, tmp_path)
    reasons = {name: result["systems"][name]["reason"] for name in names}
    assert reasons["broken"] == "it fell over"
    assert reasons["gone"] == "no wheel for this Python"
    assert reasons["unable"] == "it has no such thing"
    assert reasons["other"] == "other content than Ours: x: sum 6, not 5"
    assert {name for mode, name in start.order if mode == "time"} == {"ours"}


def test_what_the_list_says_cannot_be_done_is_not_started(tmp_path: Path) -> None:
    start = _Systems()
    cannot = {"numbers": "it knows no numbers"}
    system = dataclasses.replace(_system("slow"), cannot=cannot)
    result = _run(start, [system], tmp_path)
    assert result["systems"]["slow"]["reason"] == "it knows no numbers"
    assert start.order == []


def test_resuming_that_loses_rows_is_told(tmp_path: Path) -> None:
    def start(words: Sequence[str], system: System) -> dict[str, Any]:
        told = _Systems()(words, _system("ours", "ours"))
        if "resume" in words:
            lost = 1 if system.name == "slow" else 0
            return {"measured": {"resume_s": 0.1, "resume_rows": 100 - lost}}
        return told

    metric = {**_METRIC, "resume": True}
    workload = dataclasses.replace(_WORKLOAD, metric=metric)
    runner = Runner(start, tmp_path, _options(), Progress(10, io.StringIO()))
    systems = [_system("ours", "ours"), _system("slow")]
    told = runner.run(workload, tmp_path, systems, tmp_path)["systems"]
    assert told["ours"]["median"]["resume_s"] == 0.1
    assert "resume_s" not in told["slow"]["median"]
    assert told["slow"]["note"] == "resumed with 99 of 100 rows"


def test_the_limit_may_have_other_content(tmp_path: Path) -> None:
    systems = [_system("limit", "limit"), _system("ours", "ours")]
    result = _run(_Systems(), systems, tmp_path)
    assert all(of["reason"] is None for of in result["systems"].values())


def test_nothing_is_begun_when_the_time_is_up(tmp_path: Path) -> None:
    result = _run(_Systems(), [_system("ours", "ours")], tmp_path, minutes=0.0)
    assert result["systems"]["ours"]["reason"] == "not run: the time was up"


def test_the_table_has_all_there_is_to_say(tmp_path: Path) -> None:
    names = ("slow", "unable", "other")
    systems = [_system("limit", "limit"), _system("ours", "ours"), *map(_system, names)]
    text = report([_run(_Systems(), systems, tmp_path)], {"cores": "2"})
    assert "| Some rows | Slow | 2 | 2.43 | yes |" in text
    assert "| Some rows | absent | 1.5 | - |  |" in text
    assert "| **Ours** | 102 | 1.00 | " in text
    assert "| Slow | 42 | 0.41 | " in text
    assert text.index("**Ours**") < text.index("| Slow | 42") < text.index("*Limit*")
    assert "- Unable: it has no such thing" in text
    assert "- Other: other content than Ours" in text
    assert "- Slow: numpy 2, threads 2" in text
    assert "cores 2." in text


def test_a_pass_that_was_made_before_its_first_batch_is_told(tmp_path: Path) -> None:
    result = _run(_Systems(), [_system("ours", "ours")], tmp_path)
    median = result["systems"]["ours"]["median"]
    median["rows_per_s_whole"] = 60.0
    assert "too short a pass" not in report([result], {})
    median["rows_per_s_whole"] = 40.0
    assert "- Ours: too short a pass for it" in report([result], {})


def test_medians_leave_out_what_was_not_measured() -> None:
    assert medians([]) == {}
    assert medians([{"a": 1.0, "b": None}, {"a": 3.0}]) == {"a": 2.0}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (12345.6, "12,346"),
        (12.345, "12.3"),
        (0.0123, "0.0123"),
        (0.0, "0"),
        (0.00001, "1.0e-05"),
    ],
)
def test_numbers_have_three_digits(value: float | None, shown: str) -> None:
    assert number(value) == shown


def _python(code: str, seconds: float = 30.0) -> dict[str, Any]:
    return run_process([sys.executable, "-c", code], {}, seconds)


def test_a_process_tells_its_last_line() -> None:
    code = "print('noise'); print('{\"a\": 1}'); print('more')"
    assert _python(code) == {"a": 1}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("print('nothing')", "it ended with 0"),
    ],
)
def test_a_process_that_fails_says_why(code: str, message: str) -> None:
    with pytest.raises(RunError, match=message):
        _python(code)


def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(RunError, match="over 1 s"):
        _python("import time; time.sleep(60)", 1.0)


def test_progress_is_a_line_for_each_step_where_nobody_watches() -> None:
    out = io.StringIO()
    progress = Progress(4, out)
    progress.step("first")
    progress.skip(1)
    progress.step("second")
    progress.end()
    lines = out.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["0/4", "2/4", "4/4"]
    assert lines[1].startswith("[############............]")


def test_environments_are_made_once_and_see_their_base(tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "below.txt").write_text("")
    (lists / "above.txt").write_text("# base: below\n")
    said: list[str] = []
    environments = Environments(lists, tmp_path / "envs", said.append)
    python = environments.python("above")
    assert python.exists()
    assert said == ["making the environment below", "making the environment above"]
    path = next((tmp_path / "envs" / "above").glob("lib/*/site-packages/base.pth"))
    assert "below" in path.read_text()
    assert environments.python("above") == python
    assert len(said) == 2


def test_libraries_are_found_by_their_plain_names(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("# libraries: pip\n")
    environments = Environments(tmp_path, tmp_path / "envs", lambda _: None)
    environments.python("some")
    carried = next((tmp_path / "envs" / "some").glob("lib/*/site-packages/pip"))
    path = environments.variables("some")["LD_LIBRARY_PATH"]
    assert path.split(":") == [str(tmp_path / "envs" / "some" / "links"), str(carried)]
    assert environments.variables("other") == {}


def test_an_environment_that_cannot_be_made_is_tried_once(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(f"./{tmp_path.name}-is-no-package\n")
    said: list[str] = []
    environments = Environments(tmp_path, tmp_path / "envs", said.append)
    for _ in range(2):
        with pytest.raises(MissingError):
            environments.python("bad")
    assert len(said) == 1


def test_a_base_is_told_by_the_first_line() -> None:
    assert base_of("# base: torch\nnumpy==2\n") == "torch"
    assert base_of("# On top of torch.\nnumpy==2\n") is None
