// The kernels that the text form writes between or before their operands, and how
// tightly they bind. Parser and printer read the same table.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::ir {

struct Infix {
  std::string_view mark;    // As written.
  std::string_view kernel;  // What it calls.
  int binding;              // Higher binds tighter.
  bool chains;              // a - b - c is (a - b) - c; comparisons do not chain.
};

inline constexpr std::array<Infix, 14> kInfix = {{
    {"or", "or", 1, true},
    {"and", "and", 2, true},
    {"==", "equal", 4, false},
    {"!=", "not_equal", 4, false},
    {"<", "less", 4, false},
    {"<=", "less_equal", 4, false},
    {">", "greater", 4, false},
    {">=", "greater_equal", 4, false},
    {"+", "add", 5, true},
    {"-", "subtract", 5, true},
    {"*", "multiply", 6, true},
    {"/", "divide", 6, true},
    {"//", "floor_divide", 6, true},
    {"%", "modulo", 6, true},
}};

inline constexpr int kNotBinding = 3;     // not a, below comparisons.
inline constexpr int kNegateBinding = 7;  // -a
inline constexpr int kTightest = 8;       // Calls, fields, literals, indexing.

}  // namespace millrace::ir
