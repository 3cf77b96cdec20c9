#include "millrace/ir/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/shown.h"

namespace millrace::ir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

// Longest first, so that "//" is not read as "/" twice.
constexpr std::array<std::string_view, 23> kMarks = {
    "==", "!=", "<=", ">=", "//", "<", ">", "=", "+", "-", "*", "/",
    "%",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", ";", "."};

}  // namespace

absl::Status At(Place place, const absl::Status& status) {
  return base::Annotate(status,
                        base::StrCat("line ", place.line, ", column ", place.column));
}

std::string Describe(const Token& token) {
  const std::string text = Shown(token.text);
  switch (token.kind) {
    case Token::Kind::kEnd:
      return "the end of the text";
    case Token::Kind::kName:
      return base::StrCat("the name ", text);
    case Token::Kind::kNode:
      return base::StrCat("%", text);
    case Token::Kind::kLocal:
      return base::StrCat("$", text);
    case Token::Kind::kField:
      return base::StrCat("the field .", text);
    case Token::Kind::kNumber:
      return base::StrCat("the number ", text);
    case Token::Kind::kText:
    case Token::Kind::kBytes:
      return "a quoted text";
    case Token::Kind::kAttachment:
      return base::StrCat("@", text);
    case Token::Kind::kCallNumber:
      return base::StrCat("#", text);
    case Token::Kind::kMark:
      return base::StrCat("'", text, "'");
  }
  return "nothing";
}

void Lexer::Skip(size_t bytes) {
  const std::string_view skipped = text_.substr(at_, bytes);
  at_ += skipped.size();
  const size_t last = skipped.rfind('\n');
  if (last == std::string_view::npos) {
    place_.column += static_cast<int>(skipped.size());
  } else {
    place_.line += static_cast<int>(std::ranges::count(skipped, '\n'));
    place_.column = static_cast<int>(skipped.size() - last);
  }
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    size_t end = text_.find_first_not_of(" \t\r\n", at_);
    if (end == at_) {
      if (Peek() != '#' || (after_name_ && IsDigit(Peek(1)))) return;
      end = text_.find('\n', at_);  // A comment.
    }
    Skip(end - at_);
    after_name_ = false;
  }
}

absl::StatusOr<Token> Lexer::Next() {
  SkipBlanks();
  const Place place = place_;
  absl::StatusOr<Token> token = NextUnplaced();
  if (!token.ok()) return At(place, token.status());
  token->place = place;
  after_name_ = token->kind == Token::Kind::kName;
  return token;
}

absl::StatusOr<Token> Lexer::NextUnplaced() {
  const char c = Peek();
  if (at_ == text_.size()) return Token{};
  if (c == '"') return TakeQuoted(Token::Kind::kText);
  if (c == 'b' && Peek(1) == '"') {
    Skip(1);
    return TakeQuoted(Token::Kind::kBytes);
  }
  if (IsDigit(c)) return TakeNumber();
  if (IsNameStart(c)) {
    return Token{Token::Kind::kName, std::string(TakeWhile(IsNamePart)), {}};
  }
  // Functions name no nodes: there .x%2 is a remainder.
  if (c == '%' && braces_ == 0 && IsNamePart(Peek(1))) {
    return TakePrefixed(Token::Kind::kNode, IsNamePart);
  }
  if (c == '$' && IsDigit(Peek(1))) return TakePrefixed(Token::Kind::kLocal, IsDigit);
  if (c == '#') return TakePrefixed(Token::Kind::kCallNumber, IsDigit);
  if (c == '@') return TakePrefixed(Token::Kind::kAttachment, IsNamePart);
  if (c == '.' && IsNameStart(Peek(1))) {
    return TakePrefixed(Token::Kind::kField, IsNamePart);
  }
  if (c == '.' && Peek(1) == '"') {
    Skip(1);
    return TakeQuoted(Token::Kind::kField);
  }
  return TakeMark();
}

std::string_view Lexer::TakeWhile(bool (*wanted)(char)) {
  const size_t begin = at_;
  size_t end = at_;
  while (end < text_.size() && wanted(text_[end])) ++end;
  Skip(end - begin);
  return text_.substr(begin, end - begin);
}

absl::StatusOr<Token> Lexer::TakePrefixed(Token::Kind kind, bool (*wanted)(char)) {
  Skip(1);
  return Token{kind, std::string(TakeWhile(wanted)), {}};
}

// Digits, a fraction, an exponent and a suffix, as far as they are there: 1.5e-3f32.
absl::StatusOr<Token> Lexer::TakeNumber() {
  const size_t begin = at_;
  TakeWhile(IsDigit);
  if (Peek() == '.' && IsDigit(Peek(1))) {
    Skip(1);
    TakeWhile(IsDigit);
  }
  const bool has_sign = Peek(1) == '+' || Peek(1) == '-';
  if (Peek() == 'e' && IsDigit(Peek(has_sign ? 2 : 1))) {
    Skip(has_sign ? 2 : 1);
    TakeWhile(IsDigit);
  }
  TakeWhile(IsNamePart);  // The suffix.
  return Token{Token::Kind::kNumber, std::string(text_.substr(begin, at_ - begin)), {}};
}

absl::StatusOr<Token> Lexer::TakeQuoted(Token::Kind kind) {
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    end += text_[end] == '\\' ? 2 : 1;
  }
  if (end >= text_.size() || text_[end] != '"') {
    return absl::InvalidArgumentError("a quoted text does not end on its line");
  }
  const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
  Token token = {kind, "", {}};
  std::string error;
  if (!absl::CUnescape(base::ToAbsl(inside), &token.text, &error)) {
    const bool plain =
        error.size() <= 64 && std::ranges::all_of(error, absl::ascii_isprint);
    return absl::InvalidArgumentError(
        base::StrCat("a quoted text is wrong: ", plain ? error : Shown(error)));
  }
  Skip(end + 1 - at_);
  return token;
}

absl::StatusOr<Token> Lexer::TakeMark() {
  for (const std::string_view mark : kMarks) {
    if (text_.substr(at_, mark.size()) != mark) continue;
    Skip(mark.size());
    if (mark == "{") ++braces_;
    if (mark == "}") --braces_;
    return Token{Token::Kind::kMark, std::string(mark), {}};
  }
  const absl::string_view wrong(text_.data() + at_, 1);
  return absl::InvalidArgumentError(
      base::StrCat("unexpected character '", absl::CHexEscape(wrong), "'"));
}

}  // namespace millrace::ir
