// How constants are written in the text form: 12, 1.5f32, true, "text", b"\x00",
// float32[[1.0, 2.0]]; and what is too large for that and becomes an attachment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"

namespace millrace::ir {

struct Literal {
  core::Tensor value;
  bool weak = false;
};

// Reads a number as the lexer gives it, with its suffix; without one it is weak.
absl::StatusOr<Literal> ParseNumber(std::string_view number, bool negative);

// Reads "nan" and "inf", with a suffix or without; nothing when it is another word.
std::optional<Literal> ParseSpecial(std::string_view word, bool negative);

// Whether a constant is small enough to stand in the text.
bool FitsInText(const core::Tensor& value);

// Writes a constant. Requires: FitsInText(value).
std::string PrintLiteral(const core::Tensor& value, bool weak);

// Writes a text with quotes; bytes get a b before them.
std::string Quote(std::string_view text, core::DType dtype = core::DType::kString);

// Whether a word can stand as a name without quotes.
bool IsPlainName(std::string_view name);

}  // namespace millrace::ir
