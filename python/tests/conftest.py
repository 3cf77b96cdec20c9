"""Tests of a framework are looked at only where that is installed.

Who starts tests in the background may have Ctrl-C ignored, also by all that they start;
some of them are about it.
"""

from __future__ import annotations

import importlib.util
import signal

_NEEDS = {
    "torch_*_test.py": "torch",
    "torchrun_test.py": "torch",
    "to_torch_test.py": "torch",
    "to_jax_test.py": "jax",
    "to_tensorflow_test.py": "tensorflow",
}
collect_ignore_glob = [
    pattern
    for pattern, module in _NEEDS.items()
    if importlib.util.find_spec(module) is None
]

signal.signal(signal.SIGINT, signal.default_int_handler)
