// is_utf8, check_utf8 and character_length: bytes as characters of Unicode.

#include "millrace/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
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

template <DType kResult>
absl::StatusOr<ValueType> InferAs(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  type.dtype = kResult;
  return type;
}

absl::StatusOr<Column> RunIsUtf8(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    bool* const result = out.Take<bool>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = base::IsUtf8(operands[0].TextAt(i));
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

absl::StatusOr<Column> RunCheckUtf8(const KernelCall& call) {
  std::string found;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const std::string_view text = operands[0].TextAt(i);
      const size_t valid = base::ValidUtf8Size(text);
      if (valid < text.size()) {
        found = base::StrCat("bytes are not valid UTF-8 from byte ", valid, " on");
        return i;
      }
      out.AddText(text);
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, found);
}

absl::StatusOr<ValueType> InferCharacterLength(const KernelTypes& types) {
  const auto is_string = [](DType dtype) { return dtype == DType::kString; };
  TRY(CheckAll(types.operands, is_string, "strings", "check_utf8 makes them of bytes"));
  return InferAs<DType::kInt64>(types);
}

bool BeginsCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xC0U) != 0x80; }

absl::StatusOr<Column> RunCharacterLength(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = std::ranges::count_if(operands[0].TextAt(i), BeginsCharacter);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

}  // namespace

KernelSchema IsUtf8Kernel() {
  return {.name = "is_utf8",
          .doc = "Tells whether texts are valid UTF-8.",
          .operands = {{"x", "Texts of any shape."}},
          .infer = InferAs<DType::kBool>,
          .run = RunIsUtf8};
}

KernelSchema CheckUtf8Kernel() {
  return {.name = "check_utf8",
          .doc =
              "Makes strings of bytes; those that are not valid UTF-8 are an error "
              "of the row, which tells the first wrong byte.",
          .operands = {{"x", "Texts of any shape."}},
          .fails = ir::Fails::kOnData,
          .infer = InferAs<DType::kString>,
          .run = RunCheckUtf8};
}

KernelSchema CharacterLengthKernel() {
  return {.name = "character_length",
          .doc = "Counts the characters (code points) of strings.",
          .operands = {{"x", "Strings of any shape."}},
          .infer = InferCharacterLength,
          .run = RunCharacterLength};
}

}  // namespace millrace::kernels
