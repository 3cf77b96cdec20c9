// Two tokens of look-ahead over a lexer, and the small steps every parsing function
// takes. Counts the tokens, so that a text costs no more than its limits say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/lexer.h"

namespace millrace::ir {

// More names, numbers and marks than this in one text are refused.
inline constexpr int64_t kTokensMax = 1 << 20;

class TokenReader {
 public:
  // The text must outlive the reader.
  static absl::StatusOr<TokenReader> Open(std::string_view text) {
    TokenReader reader(text);
    TRY(reader.Advance());
    TRY(reader.Advance());
    return reader;
  }

  // The next token, and the one behind it.
  const Token& token() const { return token_; }

  const Token& ahead() const { return ahead_; }

  absl::Status Advance() {
    token_ = std::move(ahead_);
    ahead_ = TRY(lexer_.Next());
    if (++tokens_ <= kTokensMax) return absl::OkStatus();
    return At(ahead_.place, absl::InvalidArgumentError(
                                base::StrCat("the text is too long: more than ",
                                             kTokensMax, " names, numbers and marks")));
  }

  // Gives the token and goes on.
  absl::StatusOr<Token> Take() {
    Token taken = token_;
    TRY(Advance());
    return taken;
  }

  // Goes on when the mark is next; tells whether it was.
  absl::StatusOr<bool> TakeIf(std::string_view mark) {
    if (!token_.IsMark(mark)) return false;
    TRY(Advance());
    return true;
  }

  absl::Status Expect(std::string_view mark) {
    if (!token_.IsMark(mark)) return Unexpected(base::StrCat("'", mark, "'"));
    return Advance();
  }

  // Names the operator that is being read; empty between operators.
  void SetOperator(std::string_view name) { operator_ = name; }

  // Puts place and operator before the message of an error.
  absl::Status Placed(const Token& token, const absl::Status& status) const {
    return At(token.place,
              operator_.empty() ? status : base::Annotate(status, operator_));
  }

  template <typename T>
  absl::StatusOr<T> Placed(const Token& token, absl::StatusOr<T> result) const {
    if (result.ok()) return result;
    return Placed(token, result.status());
  }

  // An error at the next token: what should have been there.
  absl::Status Unexpected(std::string_view wanted) const {
    return Placed(token_, absl::InvalidArgumentError(base::StrCat(
                              "expected ", wanted, ", found ", Describe(token_))));
  }

 private:
  explicit TokenReader(std::string_view text) : lexer_(text) {}

  Lexer lexer_;
  Token token_;
  Token ahead_;
  int64_t tokens_ = 0;
  std::string operator_;
};

}  // namespace millrace::ir
