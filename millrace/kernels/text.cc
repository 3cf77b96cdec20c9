// Texts: their size, joining, cutting, searching, and numbers as texts. All by bytes
// and value by value, with broadcasting. A result is a string where all that went in
// was.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
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
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

absl::StatusOr<ValueType> InferTexts(const KernelTypes& types) {
  return MeetTexts(types.operands);
}

// --- byte_length ---

absl::StatusOr<ValueType> InferByteLength(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  type.dtype = DType::kInt64;
  return type;
}

absl::StatusOr<Column> RunByteLength(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = static_cast<int64_t>(operands[0].TextAt(i).size());
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- text_join ---

absl::StatusOr<Column> RunTextJoin(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      for (const Values& operand : operands) out.AddPart(operand.TextAt(i));
      out.EndText();
    }
    return count;
  };
  const std::vector<DType> dtypes(call.operands.size(), DType::kBytes);
  return Elementwise(call, dtypes, loop);
}

// --- text_slice ---

// A bound that counts from the end when negative, cut to the text.
size_t Cut(const ir::Value& bound, size_t size, size_t otherwise) {
  if (bound.is_none()) return otherwise;
  const auto end = static_cast<int64_t>(size);
  const int64_t place = bound.As<int64_t>();
  return static_cast<size_t>(
      std::clamp<int64_t>(place < 0 ? place + end : place, 0, end));
}

// Whether cutting before `place` leaves all characters whole.
bool IsCharacterBoundary(std::string_view text, size_t place) {
  return place == text.size() || (static_cast<uint8_t>(text[place]) & 0xC0U) != 0x80;
}

absl::StatusOr<Column> RunTextSlice(const KernelCall& call) {
  const ir::Value& start = call.arguments["start"];
  const ir::Value& stop = call.arguments["stop"];
  const bool whole_characters = call.type.dtype == DType::kString;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const std::string_view text = operands[0].TextAt(i);
      const size_t begin = Cut(start, text.size(), 0);
      const size_t end = std::max(begin, Cut(stop, text.size(), text.size()));
      if (whole_characters &&
          !(IsCharacterBoundary(text, begin) && IsCharacterBoundary(text, end))) {
        return i;
      }
      out.AddText(text.substr(begin, end - begin));
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop,
                     "the cut goes through a character of a string");
}

// --- starts_with, ends_with, contains ---

absl::StatusOr<ValueType> InferFound(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  type.dtype = DType::kBool;
  return type;
}

using Finds = bool (*)(std::string_view text, std::string_view part);

template <Finds kFinds>
absl::StatusOr<Column> RunFinds(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    bool* const result = out.Take<bool>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = kFinds(operands[0].TextAt(i), operands[1].TextAt(i));
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes, DType::kBytes}, loop);
}

bool Starts(std::string_view text, std::string_view part) {
  return text.starts_with(part);
}

bool Ends(std::string_view text, std::string_view part) { return text.ends_with(part); }

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

KernelSchema Search(std::string name, std::string doc,
                    decltype(KernelSchema::run) run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", "The texts."},
                       {"part", "What to look for; broadcast against x."}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferFound,
          .run = std::move(run)};
}

// --- lower ---

char LowerLetter(char letter) {
  const bool upper = letter >= 'A' && letter <= 'Z';
  return upper ? static_cast<char>(letter - 'A' + 'a') : letter;
}

absl::StatusOr<Column> RunLower(const KernelCall& call) {
  std::string lowered;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      lowered = operands[0].TextAt(i);
      std::ranges::transform(lowered, lowered.begin(), LowerLetter);
      out.AddText(lowered);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- to_text ---

absl::StatusOr<ValueType> InferToText(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (core::IsVariable(x.dtype)) return Needs("numbers or bools", {&x, 1});
  return ValueType{.dtype = DType::kString, .shape = x.shape};
}

absl::StatusOr<Column> RunToText(const KernelCall& call) {
  const DType dtype = call.operands[0].column.dtype();
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      out.AddText(core::PrintValue(dtype, operands[0].From(i * operands[0].step).data));
    }
    return count;
  };
  return Elementwise(call, std::array{dtype}, loop);
}

}  // namespace

KernelSchema ByteLengthKernel() {
  return {.name = "byte_length",
          .doc = "Counts the bytes of texts.",
          .operands = {{"x", "Texts of any shape."}},
          .infer = InferByteLength,
          .run = RunByteLength};
}

KernelSchema TextJoinKernel() {
  return {.name = "text_join",
          .doc = "Joins texts end to end: a string if all are, else bytes.",
          .operands = {{"a", "Texts."}, {"b", "More texts, broadcast against a."}},
          .variadic = true,
          .fails = Fails::kOnUnknownShapes,
          .infer = InferTexts,
          .run = RunTextJoin};
}

KernelSchema TextSliceKernel() {
  const auto bound = [](std::string name, std::string doc) {
    return ir::ArgumentSchema{.name = std::move(name),
                              .type = ir::ArgumentType::kInt,
                              .doc = std::move(doc),
                              .default_value = ir::Value(),
                              .none_allowed = true};
  };
  return {
      .name = "text_slice",
      .doc =
          "Takes the bytes from start up to, not including, stop; to cut through "
          "a character of a string is an error of the row.",
      .operands = {{"x", "Texts of any shape."}},
      .arguments = {bound("start",
                          "The first byte, counted from the end when negative; none "
                          "is the beginning."),
                    bound("stop",
                          "The byte after the last, counted from the end when "
                          "negative; none is the end.")},
      .fails = Fails::kOnData,
      .infer = InferTexts,
      .run = RunTextSlice};
}

KernelSchema StartsWithKernel() {
  return Search("starts_with", "Tells whether texts begin with part.",
                RunFinds<Starts>);
}

KernelSchema EndsWithKernel() {
  return Search("ends_with", "Tells whether texts end with part.", RunFinds<Ends>);
}

KernelSchema ContainsKernel() {
  return Search("contains", "Tells whether part is somewhere in texts.",
                RunFinds<Holds>);
}

KernelSchema LowerKernel() {
  return {.name = "lower",
          .doc = "Turns the letters A to Z into a to z; all others stay.",
          .operands = {{"x", "Texts of any shape."}},
          .infer = InferTexts,
          .run = RunLower};
}

KernelSchema ToTextKernel() {
  return {.name = "to_text",
          .doc =
              "Prints numbers and bools as the text form does, without a suffix: the "
              "shortest digits that read back as the same value.",
          .operands = {{"x", "Numbers or bools of any shape."}},
          .infer = InferToText,
          .run = RunToText};
}

}  // namespace millrace::kernels
