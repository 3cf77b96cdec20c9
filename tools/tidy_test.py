"""Shows each rule of tools/tidy.py a bad example and a good one."""

from pathlib import Path

import pytest

import tidy

HEADER = "// A queue.\n#pragma once\n"
GLOSSARY = "| Word | Is | Not |\n|---|---|---|\n| **row** | x | `item`, element |\n"
LONG_BODY = "".join(f"  F({n});\n" for n in range(70))


def messages(rule: tidy.Rule, tree: tidy.Tree) -> list[str]:
    return [str(breach) for breach in rule(tree)]


# For each rule: the tree it accepts, the tree it refuses, and a part of what it says.
CASES: list[tuple[tidy.Rule, tidy.Tree, tidy.Tree, str]] = [
    (
        tidy.functions_are_short,
        {"millrace/base/a.cc": "void F() {\n  G();\n}\n"},
        {"millrace/base/a_test.cc": f"void F() {{\n{LONG_BODY}}}\n"},
        "millrace/base/a_test.cc:1: F has 72 lines, over 70",
    ),
    (
        tidy.functions_are_short,
        {"tools/a.py": "def f() -> int:\n    return 1\n"},
        {"tools/a.py": "def f() -> None:\n" + "    g()\n" * 70},
        "tools/a.py:1: f has 71 lines, over 70",
    ),
    (
        tidy.functions_are_short,  # Allowed each, but too many of them.
        {"millrace/base/a.cc": "int F() { return 1; }\n"},
        {"millrace/base/a.cc": "void F() {\n" + "  G();\n" * 63 + "}\n"},
        "99th percentile of function lines is 65, over 60",
    ),
    (
        tidy.blocks_are_shallow,
        {"millrace/base/a.cc": "int F() {" + "\nif (x) {" * 3 + "\n}" * 3 + "}\n"},
        {"millrace/base/a.cc": "int F() {" + "\nif (x) {" * 4 + "\n}" * 4 + "}\n"},
        "millrace/base/a.cc:1: F nests 4 blocks, over 3",
    ),
    (
        tidy.files_are_short,
        {
            "millrace/base/a.cc": "\n" * 500,
            "millrace/base/a_test.cc": "\n" * 800,
            "millrace/ops/dataset.h": "\n" * 999,
        },
        {"millrace/base/a.cc": "\n" * 501},
        "the file has 501 lines, over 500",
    ),
    (
        tidy.lines_are_narrow,
        {"millrace/base/a.cc": "x" * 88, "docs/a.md": "x" * 99},
        {"millrace/base/a.cc": "\n" + "x" * 89},
        "millrace/base/a.cc:2: 89 columns, over 88",
    ),
    (
        tidy.headers_open_with_a_comment,
        {"millrace/base/a.h": HEADER},
        {"millrace/base/a.h": "#include <vector>\n#pragma once\n"},
        "a header opens with a comment",
    ),
    (
        tidy.headers_open_with_a_comment,
        {"millrace/base/a.h": HEADER},
        {"millrace/base/a.h": "// A queue.\n"},
        "#pragma once",
    ),
    (
        tidy.folders_have_a_readme,
        {"millrace/base/a.cc": "", "millrace/base/README.md": ""},
        {"millrace/base/a.cc": "", "millrace/README.md": ""},
        "millrace/base:0: the folder has no README.md",
    ),
    (
        tidy.files_are_reached,
        {"millrace/a/x.h": "", "millrace/a/x.cc": '#include "millrace/a/x.h"\n'},
        {"millrace/a/x.h": "", "millrace/a/x.cc": '// #include "millrace/a/x.h"\n'},
        "millrace/a/x.h:1: nothing includes this file",
    ),
    (
        tidy.files_are_reached,
        {"millrace/a/testdata/x.golden": "", "millrace/a/x.cc": ""},
        {"millrace/a/testdata/x.golden": "", "millrace/a/y.cc": ""},
        "no test reads this file",
    ),
    (
        tidy.fuzz_targets_have_a_corpus,
        {"millrace/a/testdata/fuzz/x/1": "", "millrace/a/x_fuzz.cc": ""},
        {"millrace/a/testdata/fuzz/x/1": ""},
        "this corpus has no fuzz target",
    ),
    (
        tidy.fuzz_targets_have_a_corpus,
        {"millrace/a/testdata/fuzz/x/1": "", "millrace/a/x_fuzz.cc": ""},
        {"millrace/a/x_fuzz.cc": ""},
        "millrace/a/x_fuzz.cc:1: this fuzz target has no corpus",
    ),
    (
        tidy.libraries_stay_in_their_folder,
        {"millrace/base/log.cc": "#include <spdlog/spdlog.h>\n#include <vector>\n"},
        {"millrace/core/log.cc": "#include <spdlog/spdlog.h>\n"},
        "spdlog/spdlog.h may be included in base only",
    ),
    (
        tidy.libraries_stay_in_their_folder,
        {"millrace/kernels/image/png.cc": "#include <png.h>\n"},
        {"millrace/kernels/text.cc": "#include <png.h>\n"},
        "png.h may be included in kernels/image only",
    ),
    (
        tidy.libraries_stay_in_their_folder,
        {"millrace/base/a.cc": '#include "absl/status/status.h"\n'},
        {"millrace/base/a.cc": "#include <curl/curl.h>\n"},
        "list it in LIBRARIES",
    ),
    (
        tidy.libraries_stay_in_their_folder,
        {"millrace/base/a.cc": '#include "millrace/base/a.h"\n'},
        {"millrace/core/a.cc": '#include "../base/a.h"\n'},
        "../base/a.h: start from millrace/",
    ),
    (
        tidy.layers_stay_pure,
        {"millrace/ir/a_test.cc": "#include <fstream>\n"},
        {"millrace/ir/a.cc": "#include <vector>\n#include <fstream>\n"},
        "millrace/ir/a.cc:2: ir may not include fstream",
    ),
    (
        tidy.layers_stay_pure,
        {"millrace/ops/a.cc": "#include <chrono>\n"},
        {"millrace/ops/a.cc": '#include "absl/synchronization/mutex.h"\n'},
        "ops may not include absl/synchronization/mutex.h",
    ),
    (
        tidy.layers_stay_pure,
        {"millrace/exec/a.cc": '#include "millrace/base/clock.h"\n'},
        {"millrace/rewrite/a.cc": '#include "millrace/base/clock.h"\n'},
        "rewrite may not include millrace/base/clock.h",
    ),
    (
        tidy.clocks_are_read_in_one_place,
        {"millrace/base/clock.cc": "absl::Time now = absl::Now();\n"},
        {"millrace/exec/a.cc": "auto t = std::chrono::steady_clock::now();\n"},
        "millrace/exec/a.cc:1: steady_clock::now(: ask base::Clock",
    ),
    (
        tidy.names_say_what_is_inside,
        {"millrace/base/utility_curve.h": "", "millrace/base/futile.h": ""},
        {"millrace/base/string_util.h": ""},
        "name the file by what is in it",
    ),
    (
        tidy.tests_hold_their_suite,
        {"millrace/base/a_queue_test.cc": "TEST_F(AQueueTest, Waits) {}\n"},
        {"millrace/base/a_queue_test.cc": "TEST(AQueueTest, W) {}\nTEST(B, W) {}\n"},
        "millrace/base/a_queue_test.cc:2: B: the suite of this file is AQueueTest",
    ),
    (
        tidy.tests_hold_their_suite,
        {"millrace/base/a_test.cc": "TYPED_TEST(ATest, Waits) {}\n"},
        {"millrace/base/a_test.cc": "\n"},
        "no test of the suite ATest",
    ),
    (
        tidy.tests_outweigh_source,
        {
            "millrace/a/x.cc": "\n" * 9,
            "millrace/a/x_bench.cc": "\n" * 9,
            "millrace/bench/x.cc": "\n" * 9,
            "millrace/a/x_test.cc": "\n" * 4,
            "millrace/a/y_test.h": "\n" * 3,
            "millrace/a/testdata/x.golden": "\n" * 2,
        },
        {"millrace/a/x.cc": "\n" * 10, "millrace/a/x_test.cc": "\n" * 8},
        "8 lines of tests for 10 of source",
    ),
    (
        tidy.paths_are_of_no_machine,
        {"docs/a.md": "See millrace/home/queue.h and ./work/x.\n"},
        {"docs/a.md": "\nSee /" + "home/me/queue.h.\n"},
        "docs/a.md:2: a path of one machine",
    ),
    (
        tidy.words_are_of_the_glossary,
        {
            "docs/glossary.md": GLOSSARY,
            "millrace/a/x.cc": "int row_count; std::ranges::item y;  // An item.\n",
            "millrace/a/x_test.cc": "EXPECT_THAT(x, ElementsAre(1));\n",
        },
        {
            "docs/glossary.md": GLOSSARY,
            "millrace/a/x.cc": "\nint CountItems();\n",
        },
        "millrace/a/x.cc:2: CountItems: the glossary's word is row",
    ),
]


@pytest.mark.parametrize(("rule", "good", "bad", "said"), CASES)
def test_rule(rule: tidy.Rule, good: tidy.Tree, bad: tidy.Tree, said: str) -> None:
    assert messages(rule, good) == []
    (message,) = messages(rule, bad)
    assert said in message


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in CASES} == set(tidy.RULES)


def test_percentiles_count_from_the_smallest() -> None:
    assert tidy.percentile([], 99) == 0
    assert tidy.percentile([5], 99) == 5
    assert tidy.percentile(list(range(1, 101)), 99) == 99
    assert tidy.percentile(list(range(1, 101)), 90) == 90


def test_prints_the_numbers_we_watch() -> None:
    tree = {
        "millrace/a/x.cc": "int F() {\n  CHECK(true);\n  CHECK_EQ(1, 1);\n}\n",
        "millrace/a/x_test.cc": "TEST(XTest, Works) {\n}\n",
    }
    assert list(tidy.numbers(tree)) == [
        "functions: 1, lines median 4, p90 4, p99 4, max 4",
        "tests: 2 lines for 4 of source, 0.50 : 1",
        "checks: 2, 500.0 per 1000 lines",
    ]


def test_reads_its_own_project() -> None:
    tree = tidy.read_tree(Path(tidy.__file__).parent.parent)
    assert "tools/tidy.py" in tree
    assert not any(path.startswith(("build/", ".venv/")) for path in tree)
