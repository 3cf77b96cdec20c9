// Cuts a pipeline's text into tokens, one at a time. Knows nothing of pipelines. Errors
// and tokens say where they are, by line and column from 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::ir {

struct Place {
  int line = 1;
  int column = 1;  // In bytes.
};

// Puts "line 3, column 14: " before the message of an error.
absl::Status At(Place place, const absl::Status& status);

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kName,        // batch, true, u8
    kNode,        // %3: text is "3"; inside braces, % is a mark
    kLocal,       // $0: text is "0"
    kField,       // .label, ."odd name": text is the name
    kNumber,      // 12, 1.5f32: text is as written
    kText,        // "abc": text is unescaped
    kBytes,       // b"abc"
    kAttachment,  // @0123...: text is the hex digits
    kCallNumber,  // #3, right behind a name
    kMark,        // Punctuation and operators: text is as written
  };

  Kind kind = Kind::kEnd;
  std::string text;
  Place place;

  bool Is(Kind of_kind, std::string_view with_text) const {
    return kind == of_kind && text == with_text;
  }

  bool IsMark(std::string_view mark) const { return Is(Kind::kMark, mark); }

  bool IsName(std::string_view name) const { return Is(Kind::kName, name); }
};

// "the name batch", "the end of the text": for messages.
std::string Describe(const Token& token);

class Lexer {
 public:
  // The text must outlive the lexer.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Gives the next token; kEnd for ever once the text is read.
  absl::StatusOr<Token> Next();

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Skip(size_t bytes);
  void SkipBlanks();
  std::string_view TakeWhile(bool (*wanted)(char));
  absl::StatusOr<Token> NextUnplaced();
  absl::StatusOr<Token> TakeNumber();
  absl::StatusOr<Token> TakeQuoted(Token::Kind kind);
  absl::StatusOr<Token> TakeMark();
  absl::StatusOr<Token> TakePrefixed(Token::Kind kind, bool (*wanted)(char));

  std::string_view text_;
  size_t at_ = 0;
  Place place_;
  bool after_name_ = false;  // The last token was a name, with nothing behind it.
  int braces_ = 0;           // How many are open.
};

}  // namespace millrace::ir
