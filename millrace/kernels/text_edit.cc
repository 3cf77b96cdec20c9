// upper, strip and replace: texts made from texts, value by value. A result is a string
// where the text was; what is cut or put in never breaks a character.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// --- upper ---

char UpperLetter(char letter) {
  const bool lower = letter >= 'a' && letter <= 'z';
  return lower ? static_cast<char>(letter - 'a' + 'A') : letter;
}

absl::StatusOr<ValueType> InferSame(const KernelTypes& types) {
  return MeetTexts(types.operands);
}

absl::StatusOr<Column> RunUpper(const KernelCall& call) {
  std::string raised;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      raised = operands[0].TextAt(i);
      std::ranges::transform(raised, raised.begin(), UpperLetter);
      out.AddText(raised);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- strip ---

constexpr std::string_view kWhitespace = " \t\n\r\v\f";

std::string_view StrippedOf(const ir::Arguments& arguments) {
  const ir::Value& characters = arguments["characters"];
  return characters.is_none() ? kWhitespace : characters.As<std::string>();
}

absl::StatusOr<ValueType> InferStrip(const KernelTypes& types) {
  const std::string_view characters = StrippedOf(types.arguments);
  const bool ascii = std::ranges::all_of(
      characters, [](char letter) { return static_cast<uint8_t>(letter) < 0x80; });
  if (!ascii) {
    return absl::InvalidArgumentError(
        base::StrCat("argument characters must be ASCII, not ", ir::Shown(characters)));
  }
  return InferSame(types);
}

absl::StatusOr<Column> RunStrip(const KernelCall& call) {
  const std::string_view characters = StrippedOf(call.arguments);
  const auto& side = call.arguments["side"].As<std::string>();
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      std::string_view text = operands[0].TextAt(i);
      if (side != "right") {
        text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
      }
      if (side != "left") {
        text = text.substr(0, text.find_last_not_of(characters) + 1);
      }
      out.AddText(text);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- replace ---

absl::StatusOr<ValueType> InferReplace(const KernelTypes& types) {
  if (types.arguments["old"].As<std::string>().empty()) {
    return absl::InvalidArgumentError("argument old must not be empty");
  }
  return InferSame(types);
}

absl::StatusOr<Column> RunReplace(const KernelCall& call) {
  const std::string_view old = call.arguments["old"].As<std::string>();
  const std::string_view by = call.arguments["new"].As<std::string>();
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      std::string_view text = operands[0].TextAt(i);
      for (size_t at = text.find(old); at != std::string_view::npos;
           at = text.find(old)) {
        out.AddPart(text.substr(0, at));
        out.AddPart(by);
        text.remove_prefix(at + old.size());
      }
      out.AddText(text);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

}  // namespace

KernelSchema UpperKernel() {
  return {.name = "upper",
          .doc = "Turns the letters a to z into A to Z; all others stay.",
          .operands = {{"x", "Texts of any shape."}},
          .infer = InferSame,
          .run = RunUpper};
}

KernelSchema StripKernel() {
  return {.name = "strip",
          .doc = "Takes white space, or other characters, off the ends of texts.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {{.name = "characters",
                         .type = ir::ArgumentType::kText,
                         .doc = "The characters to take off, of ASCII; none is white "
                                "space.",
                         .default_value = ir::Value(),
                         .none_allowed = true},
                        {.name = "side",
                         .type = ir::ArgumentType::kText,
                         .doc = "The end from which to take them.",
                         .default_value = "both",
                         .choices = {"both", "left", "right"}}},
          .infer = InferStrip,
          .run = RunStrip};
}

KernelSchema ReplaceKernel() {
  return {.name = "replace",
          .doc = "Replaces a part of texts wherever it is, from left to right.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {{.name = "old",
                         .type = ir::ArgumentType::kText,
                         .doc = "The part to replace; not empty."},
                        {.name = "new",
                         .type = ir::ArgumentType::kText,
                         .doc = "What to put in its place."}},
          .infer = InferReplace,
          .run = RunReplace};
}

}  // namespace millrace::kernels
