"""Shows tools/cxx.py the C++ it has to understand."""

import pytest

import cxx


def found(text: str) -> list[tuple[str, int]]:
    return [(function.name, function.lines) for function in cxx.functions(text)]


def test_counts_a_function_from_its_declaration_to_its_brace() -> None:
    text = "// Adds.\nint Add(int a,\n        int b) {\n  return a + b;\n}\n"
    (function,) = cxx.functions(text)
    assert function == cxx.Function(line=2, lines=4, name="Add", nesting=0)


@pytest.mark.parametrize(
    "text",
    [
        "struct Rules {\n  int workers = 1;\n  std::vector<int> sizes{1, 2};\n};\n",
        "enum class Kind : int { kA, kB };\n",
        "constexpr int kTable[] = {1, 2, 3};\n",
        'const char* text = "int F() { return 1; }";\n',
        "// int F() { return 1; }\n",
        '#define TRY(x) ({ auto s = (x); if (!s.ok()) return s; })\nextern "C" {\n}\n',
        "int F(Options options = {});\n",
        'const char* raw = R"(int F() { } )";\n',
    ],
)
def test_sees_no_function_where_there_is_none(text: str) -> None:
    assert found(text) == []


def test_finds_functions_inside_namespaces_and_classes() -> None:
    text = """
namespace millrace::base {
class Queue final : public Base {
 public:
  explicit Queue(int limit) : limit_{limit}, sizes_{1, 2} {
    Start();
  }
  int size() const { return size_; }
 private:
  int limit_{0};
};
template <typename T>
T Largest(std::span<const T> values, Options options = {}) {
  return values[0];
}
}  // namespace millrace::base
"""
    assert found(text) == [("Queue", 3), ("size", 1), ("Largest", 4)]


def test_takes_a_lambda_as_part_of_its_function() -> None:
    text = "void Run() {\n  auto f = [](int x) {\n    return x;\n  };\n  f(1);\n}\n"
    assert found(text) == [("Run", 6)]


@pytest.mark.parametrize(
    ("body", "nesting"),
    [
        ("return Point{1, 2};", 0),
        ("if (x) {\nF();\n} else {\nG();\n}", 1),
        ("for (;;) {\nif (x) {\nF({1});\n}\n}", 2),
        ("switch (x) {\ncase 1: {\nbreak;\n}\n}", 2),
        ("do {\nauto f = [] {\nreturn 1;\n};\n} while (x);", 2),
        ("Run([](int x) -> std::vector<int> {\nreturn {x};\n});", 1),
        ("Run([](int x) { return x; });", 0),
        ("const std::vector<Point> points = {\n{1, 2}, {\n3, 4}};", 0),
    ],
)
def test_counts_nested_blocks(body: str, nesting: int) -> None:
    (function,) = cxx.functions(f"int F() {{ {body} }}")
    assert function.nesting == nesting


def test_finds_tests_and_trailing_return_types() -> None:
    text = (
        "TEST(QueueTest, Waits) {\n  F();\n}\nauto F() -> Result<int> { return 1; }\n"
    )
    assert found(text) == [("TEST", 3), ("F", 1)]


def test_is_not_confused_by_digit_separators_and_braces_in_characters() -> None:
    text = "int F() {\n  int n = 1'000'000;\n  return n + '{' + '\\'';\n}\n"
    assert found(text) == [("F", 4)]


def test_reads_includes_but_not_those_in_comments() -> None:
    text = '// #include <thread>\n#include <vector>\n#include "millrace/base/clock.h"\n'
    assert cxx.includes(text) == [
        cxx.Include(2, "vector"),
        cxx.Include(3, "millrace/base/clock.h"),
    ]


def test_comments_and_strings_leave_line_numbers_alone() -> None:
    text = '/* a\n b */ int x;\n#define A \\\n  1\nauto s = "//";\n'
    code = cxx.code_only(text)
    assert code.count("\n") == text.count("\n")
    assert cxx.line_of(code, code.index("auto")) == 5
    assert '"//"' in cxx.without_comments(text)
