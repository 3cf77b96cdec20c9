#include "millrace/ir/value_parser.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/lexer.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

absl::StatusOr<Value> ToValue(const Literal& literal) {
  if (!literal.weak) {
    return absl::InvalidArgumentError("an argument's number takes no suffix");
  }
  if (literal.value.dtype() == core::DType::kInt64) {
    return Value(literal.value.As<int64_t>()[0]);
  }
  return Value(literal.value.As<double>()[0]);
}

absl::StatusOr<Value> TakeNumber(TokenReader& reader, bool negative) {
  const Token token = reader.token();
  std::optional<Literal> literal;
  if (token.kind == Token::Kind::kNumber) {
    literal = TRY(reader.Placed(token, ParseNumber(token.text, negative)));
  } else if (token.kind == Token::Kind::kName) {
    literal = ParseSpecial(token.text, negative);
  }
  if (!literal) return reader.Unexpected("a value");
  TRY(reader.Advance());
  return reader.Placed(token, ToValue(*literal));
}

absl::StatusOr<Value> TakeList(TokenReader& reader, const Attachments& attachments,
                               int nesting) {
  List items;
  while (!reader.token().IsMark("]")) {
    items.push_back(TRY(ParseValue(reader, attachments, nesting + 1)));
    if (!TRY(reader.TakeIf(","))) break;
  }
  TRY(reader.Expect("]"));
  return Value(std::move(items));
}

std::optional<Value> WordValue(const Token& token) {
  if (token.IsName("none")) return Value();
  if (token.IsName("true")) return Value(true);
  if (token.IsName("false")) return Value(false);
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Value> ParseValue(TokenReader& reader, const Attachments& attachments,
                                 int nesting) {
  if (nesting > kNestingMax) return reader.Unexpected("less nesting");
  if (TRY(reader.TakeIf("["))) return TakeList(reader, attachments, nesting);
  if (TRY(reader.TakeIf("-"))) return TakeNumber(reader, true);
  if (reader.token().kind == Token::Kind::kAttachment) {
    return Value(TRY(TakeAttachment(reader, attachments)));
  }
  if (reader.token().kind == Token::Kind::kText ||
      reader.token().kind == Token::Kind::kBytes) {
    const Token text = TRY(reader.Take());
    return Value(text.text);
  }
  if (std::optional<Value> word = WordValue(reader.token())) {
    TRY(reader.Advance());
    return *std::move(word);
  }
  return TakeNumber(reader, false);
}

absl::StatusOr<int64_t> ParseCallNumber(TokenReader& reader) {
  if (reader.token().kind != Token::Kind::kCallNumber) return kNoCallNumber;
  const Token token = TRY(reader.Take());
  int64_t number = 0;
  if (!absl::SimpleAtoi(token.text, &number)) number = kCallNumberMax;  // Too large.
  const absl::Status checked = CheckCallNumber(number);
  if (!checked.ok()) return reader.Placed(token, checked);
  return number;
}

absl::StatusOr<Attachment> TakeAttachment(TokenReader& reader,
                                          const Attachments& attachments) {
  const Token token = TRY(reader.Take());
  const absl::StatusOr<base::Sha256> hash = base::ParseSha256(token.text);
  if (!hash.ok()) {
    return reader.Placed(token, absl::InvalidArgumentError(base::StrCat(
                                    "an attachment is named by @ and 64 hexadecimal "
                                    "digits, not @",
                                    Shown(token.text))));
  }
  return reader.Placed(token, attachments.Find(*hash));
}

}  // namespace millrace::ir
