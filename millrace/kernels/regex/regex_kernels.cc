// regex_match, regex_replace, regex_extract and regex_split: regular expressions on
// texts, in the syntax of RE2.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "re2/re2.h"
#include "re2/stringpiece.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/regex/pattern.h"
#include "millrace/kernels/split_rows.h"
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
using re2::RE2;
using re2::StringPiece;

PatternOf Of(DType dtype) {
  return dtype == DType::kString ? PatternOf::kStrings : PatternOf::kBytes;
}

// The pattern of a call, compiled.
const RE2& PatternOfCall(const KernelCall& call) {
  return CompiledPattern(call.arguments["pattern"].As<std::string>(),
                         Of(call.operands[0].column.dtype()));
}

absl::StatusOr<ValueType> InferTexts(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  TRY(CheckPattern(types.arguments["pattern"].As<std::string>(), Of(type.dtype)));
  return type;
}

bool Matches(const RE2& pattern, StringPiece text, RE2::Anchor anchor) {
  return pattern.Match(text, 0, text.size(), anchor, nullptr, 0);
}

// --- regex_match ---

absl::StatusOr<ValueType> InferMatch(const KernelTypes& types) {
  ValueType type = TRY(InferTexts(types));
  type.dtype = DType::kBool;
  return type;
}

absl::StatusOr<Column> RunMatch(const KernelCall& call) {
  const RE2& pattern = PatternOfCall(call);
  const bool whole = call.arguments["whole"].As<bool>();
  const RE2::Anchor anchor = whole ? RE2::ANCHOR_BOTH : RE2::UNANCHORED;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    bool* const result = out.Take<bool>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = Matches(pattern, operands[0].TextAt(i), anchor);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- regex_replace ---

absl::StatusOr<ValueType> InferReplace(const KernelTypes& types) {
  ValueType type = TRY(InferTexts(types));
  const RE2& pattern =
      CompiledPattern(types.arguments["pattern"].As<std::string>(), Of(type.dtype));
  std::string error;
  if (!pattern.CheckRewriteString(types.arguments["new"].As<std::string>(), &error)) {
    return absl::InvalidArgumentError(base::StrCat("argument new is wrong: ", error));
  }
  return type;
}

absl::StatusOr<Column> RunReplace(const KernelCall& call) {
  const RE2& pattern = PatternOfCall(call);
  const auto& by = call.arguments["new"].As<std::string>();
  std::string text;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      text = operands[0].TextAt(i);
      RE2::GlobalReplace(&text, pattern, by);
      out.AddText(text);
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- regex_extract ---

absl::StatusOr<ValueType> InferExtract(const KernelTypes& types) {
  ValueType type = TRY(InferTexts(types));
  const RE2& pattern =
      CompiledPattern(types.arguments["pattern"].As<std::string>(), Of(type.dtype));
  const auto group = types.arguments["group"].As<int64_t>();
  if (group <= pattern.NumberOfCapturingGroups()) return type;
  return absl::InvalidArgumentError(
      base::StrCat("argument group is ", group, ", but the pattern has ",
                   pattern.NumberOfCapturingGroups(), " groups"));
}

absl::StatusOr<Column> RunExtract(const KernelCall& call) {
  const RE2& pattern = PatternOfCall(call);
  const auto group = static_cast<size_t>(call.arguments["group"].As<int64_t>());
  std::vector<StringPiece> groups(group + 1);
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const StringPiece text = operands[0].TextAt(i);
      const bool found = pattern.Match(text, 0, text.size(), RE2::UNANCHORED,
                                       groups.data(), static_cast<int>(group + 1));
      const StringPiece part = found ? groups[group] : StringPiece();
      out.AddText({part.data(), part.size()});
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes}, loop);
}

// --- regex_split ---

absl::StatusOr<ValueType> InferSplit(const KernelTypes& types) {
  TRY(InferTexts(types));
  return InferParts(types);
}

// Matches of nothing do not split.
void SplitAt(const RE2& pattern, std::string_view text,
             std::vector<std::string_view>& parts) {
  const StringPiece whole(text.data(), text.size());
  StringPiece found;
  size_t begin = 0;  // Of the part that is being looked at.
  size_t from = 0;   // Where the next separator may begin.
  while (from < text.size() &&
         pattern.Match(whole, from, text.size(), RE2::UNANCHORED, &found, 1)) {
    const size_t at = found.data() - text.data();
    if (found.empty()) {
      from = at + 1;
      continue;
    }
    parts.push_back(text.substr(begin, at - begin));
    begin = at + found.size();
    from = begin;
  }
  parts.push_back(text.substr(begin));
}

absl::StatusOr<Column> RunSplit(const KernelCall& call) {
  const RE2& pattern = PatternOfCall(call);
  return SplitRows(call,
                   [&](std::string_view text, std::vector<std::string_view>& parts) {
                     SplitAt(pattern, text, parts);
                   });
}

ir::ArgumentSchema PatternArgument() {
  return {.name = "pattern",
          .type = ir::ArgumentType::kText,
          .doc =
              "The regular expression, in the syntax of RE2. On strings it is about "
              "characters, on bytes about bytes."};
}

}  // namespace

KernelSchema RegexMatchKernel() {
  return {.name = "regex_match",
          .doc = "Tells whether texts match a regular expression.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {PatternArgument(),
                        {.name = "whole",
                         .type = ir::ArgumentType::kBool,
                         .doc = "Whether the whole text must match; else a part will "
                                "do.",
                         .default_value = false}},
          .infer = InferMatch,
          .run = RunMatch};
}

KernelSchema RegexReplaceKernel() {
  return {
      .name = "regex_replace",
      .doc = "Replaces every match of a regular expression, from left to right.",
      .operands = {{"x", "Texts of any shape."}},
      .arguments = {PatternArgument(),
                    {.name = "new",
                     .type = ir::ArgumentType::kText,
                     .doc = "What to put in its place; \\1 to \\9 are the pattern's "
                            "groups, \\0 is all of the match."}},
      .infer = InferReplace,
      .run = RunReplace};
}

KernelSchema RegexExtractKernel() {
  return {.name = "regex_extract",
          .doc =
              "Gives the first match of a regular expression, or a group of it; an "
              "empty text where nothing matches.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {PatternArgument(),
                        {.name = "group",
                         .type = ir::ArgumentType::kInt,
                         .doc = "The number of the group; 0 is all of the match.",
                         .default_value = 0,
                         .least = 0}},
          .infer = InferExtract,
          .run = RunExtract};
}

KernelSchema RegexSplitKernel() {
  return {.name = "regex_split",
          .doc =
              "Splits a text at the matches of a regular expression; a match of "
              "nothing does not split.",
          .operands = {{"x", "One text per row."}},
          .arguments = {PatternArgument()},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferSplit,
          .run = RunSplit};
}

}  // namespace millrace::kernels
