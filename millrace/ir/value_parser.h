// Parses plain argument values: none, true, 12, -1.5, "text", [1, 2], @attachment.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/ir/attachment.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// Deeper nesting of any kind is refused.
inline constexpr int kNestingMax = 100;

// Parses one value. Functions, which start with '{', are the caller's.
absl::StatusOr<Value> ParseValue(TokenReader& reader, const Attachments& attachments,
                                 int nesting = 0);

// Parses the "#3" behind an operator's or kernel's name; kNoCallNumber when there is
// none.
absl::StatusOr<int64_t> ParseCallNumber(TokenReader& reader);

// Parses the attachment that the next token names.
absl::StatusOr<Attachment> TakeAttachment(TokenReader& reader,
                                          const Attachments& attachments);

}  // namespace millrace::ir
