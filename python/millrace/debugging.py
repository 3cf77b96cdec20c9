"""Datasets that run in the calling thread, for breakpoints; see `Dataset.debug`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millrace import _core, worker
from millrace._calls import Answer, Answerer


class Here:
    """Answers for Python functions in the thread that asks for rows."""

    def __init__(self) -> None:
        """Begin without any function; its generators end with it."""
        self._answerer = Answerer(ahead=False)

    def __call__(
        self, text: str, data: np.ndarray[Any, Any]
    ) -> tuple[str, _core.ResultFrame | None]:
        """Answer a call, as a process beside the engine would."""
        outer = worker.get_worker_info()
        try:
            answer, frame = self._answered(json.loads(text), data)
        finally:
            worker.enter(outer)
        return json.dumps(answer), frame

    def _answered(self, call: dict[str, Any], data: np.ndarray[Any, Any]) -> Answer:
        if call["kind"] == "load":
            return self._answerer.load(call, data.tobytes())
        if call["kind"] == "generate":
            return self._answerer.generate(call)
        return self._answerer.map(call, (data, 0), lambda number: None)
