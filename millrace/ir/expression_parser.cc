#include "millrace/ir/expression_parser.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/infix.h"
#include "millrace/ir/lexer.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/tensor_from_list.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/value.h"
#include "millrace/ir/value_parser.h"

namespace millrace::ir {
namespace {

using core::Tensor;

const Infix* FindInfix(const Token& token) {
  if (token.kind != Token::Kind::kMark && token.kind != Token::Kind::kName) {
    return nullptr;
  }
  const auto* const found = std::ranges::find(kInfix, token.text, &Infix::mark);
  return found == kInfix.end() ? nullptr : found;
}

class ExpressionParser {
 public:
  ExpressionParser(TokenReader& reader, const ExpressionScope& scope)
      : reader_(reader),
        attachments_(scope.attachments),
        builder_(scope.catalog, scope.input, scope.next_call_number) {}

  absl::StatusOr<Expression> Parse() {
    TRY(reader_.Expect("{"));
    while (reader_.token().kind == Token::Kind::kLocal && reader_.ahead().IsMark("=")) {
      TRY(ParseLocal());
    }
    if (!reader_.token().IsMark("}")) TRY(ParseResults());
    TRY(reader_.Expect("}"));
    return builder_.Build();
  }

 private:
  using TermOr = absl::StatusOr<TermId>;

  // $0 = expression;
  absl::Status ParseLocal() {
    const Token name = TRY(reader_.Take());
    TRY(reader_.Expect("="));
    const TermId term = TRY(ParseBinary(0));
    TRY(reader_.Expect(";"));
    if (!locals_.emplace(name.text, term).second) {
      return reader_.Placed(name, absl::InvalidArgumentError(base::StrCat(
                                      Describe(name), " is defined twice")));
    }
    return absl::OkStatus();
  }

  // name: expression, ... or one expression without a name.
  absl::Status ParseResults() {
    do {
      const Token first = reader_.token();
      std::string name;
      if (reader_.ahead().IsMark(":") &&
          (first.kind == Token::Kind::kName || first.kind == Token::Kind::kText)) {
        name = first.text;
        if (name.empty()) return reader_.Unexpected("a name that is not empty");
        TRY(reader_.Advance());
        TRY(reader_.Advance());
      }
      const TermId term = TRY(ParseBinary(0));
      const absl::Status added = builder_.AddResult(name, term);
      if (!added.ok()) return reader_.Placed(first, added);
    } while (TRY(reader_.TakeIf(",")));
    return absl::OkStatus();
  }

  TermOr ParseBinary(int binding_least) {
    if (++nesting_ > kNestingMax) return reader_.Unexpected("less nesting");
    const absl::Cleanup leave = [this] { --nesting_; };
    TermId left = TRY(ParsePrefix());
    while (const Infix* infix = FindInfix(reader_.token())) {
      if (infix->binding < binding_least) break;
      const Token mark = TRY(reader_.Take());
      const TermId right = TRY(ParseBinary(infix->binding + 1));
      left = TRY(reader_.Placed(mark, builder_.Call(infix->kernel, {left, right})));
      const Infix* next = FindInfix(reader_.token());
      if (!infix->chains && next != nullptr && next->binding == infix->binding) {
        return reader_.Unexpected("'and' between two comparisons");
      }
    }
    return left;
  }

  TermOr ParsePrefix() {
    const Token token = reader_.token();
    if (token.IsName("not")) {
      TRY(reader_.Advance());
      const TermId operand = TRY(ParseBinary(kNotBinding));
      return reader_.Placed(token, builder_.Call("not", {operand}));
    }
    if (!token.IsMark("-")) return ParsePostfix();
    TRY(reader_.Advance());
    const Token& operand = reader_.token();
    const bool special =
        operand.kind == Token::Kind::kName && ParseSpecial(operand.text, true);
    if (operand.kind == Token::Kind::kNumber || special) return ParseNumberTerm(true);
    const TermId term = TRY(ParseBinary(kNegateBinding));
    return reader_.Placed(token, builder_.Call("negate", {term}));
  }

  TermOr ParsePostfix() {
    TermId term = TRY(ParsePrimary());
    while (reader_.token().IsMark("[")) {
      term = TRY(ParseIndex(term));
    }
    return term;
  }

  // [i], [a:b] and [a:b:c] behind a term.
  TermOr ParseIndex(TermId term) {
    const Token bracket = TRY(reader_.Take());
    std::optional<TermId> first;
    if (!reader_.token().IsMark(":")) first = TRY(ParseBinary(0));
    if (first && TRY(reader_.TakeIf("]"))) {
      return reader_.Placed(bracket, builder_.Call("at", {term, *first}));
    }
    Arguments bounds;
    if (first) bounds.Set("start", TRY(IntegerOf(*first)));
    TRY(reader_.Expect(":"));
    TRY(ParseBound("stop", bounds));
    if (TRY(reader_.TakeIf(":"))) TRY(ParseBound("step", bounds));
    TRY(reader_.Expect("]"));
    return reader_.Placed(bracket, builder_.Call("slice", {term}, bounds));
  }

  absl::Status ParseBound(std::string_view name, Arguments& bounds) {
    if (reader_.token().IsMark("]") || reader_.token().IsMark(":")) {
      return absl::OkStatus();
    }
    bounds.Set(name, TRY(ParseValue(reader_, attachments_)));
    return absl::OkStatus();
  }

  absl::StatusOr<Value> IntegerOf(TermId id) const {
    const Term& term = builder_.term(id);
    if (term.kind == Term::Kind::kLiteral && term.type.weak &&
        term.type.dtype == core::DType::kInt64) {
      return Value(term.literal.As<int64_t>()[0]);
    }
    return reader_.Unexpected("']': the bounds of a slice are plain integers");
  }

  TermOr ParsePrimary() {
    const Token token = reader_.token();
    switch (token.kind) {
      case Token::Kind::kField:
        TRY(reader_.Advance());
        return reader_.Placed(token, builder_.Field(token.text));
      case Token::Kind::kLocal:
        return ParseLocalUse();
      case Token::Kind::kNumber:
        return ParseNumberTerm(false);
      case Token::Kind::kText:
        return ParseText(core::DType::kString);
      case Token::Kind::kBytes:
        return ParseText(core::DType::kBytes);
      case Token::Kind::kAttachment:
        return ParseArray();
      case Token::Kind::kName:
        return ParseWord();
      default:
        break;
    }
    if (!token.IsMark("(")) return reader_.Unexpected("an expression");
    TRY(reader_.Advance());
    const TermId inside = TRY(ParseBinary(0));
    TRY(reader_.Expect(")"));
    return inside;
  }

  TermOr ParseLocalUse() {
    const auto found = locals_.find(reader_.token().text);
    if (found == locals_.end()) return reader_.Unexpected("a local defined before");
    TRY(reader_.Advance());
    return found->second;
  }

  // Adds the constant that stands at `token`.
  TermOr AddLiteral(const Token& token, const absl::StatusOr<Literal>& literal) {
    if (!literal.ok()) return reader_.Placed(token, literal.status());
    return reader_.Placed(token, builder_.Literal(literal->value, literal->weak));
  }

  TermOr AddTensor(const Token& token, const absl::StatusOr<Tensor>& tensor) {
    if (!tensor.ok()) return reader_.Placed(token, tensor.status());
    return AddLiteral(token, Literal{*tensor, false});
  }

  TermOr ParseNumberTerm(bool negative) {
    const Token token = TRY(reader_.Take());
    if (token.kind == Token::Kind::kNumber) {
      return AddLiteral(token, ParseNumber(token.text, negative));
    }
    return AddLiteral(token, *ParseSpecial(token.text, negative));
  }

  TermOr ParseText(core::DType dtype) {
    const Token token = TRY(reader_.Take());
    return AddTensor(token, Tensor::Text(token.text, dtype));
  }

  // An array may be large and named often: it is read once.
  TermOr ParseArray() {
    const Token token = reader_.token();
    const Attachment attachment = TRY(TakeAttachment(reader_, attachments_));
    const auto found = arrays_.find(attachment.hash());
    if (found != arrays_.end()) return found->second;
    const TermId term = TRY(AddTensor(token, DecodeTensor(attachment)));
    arrays_.emplace(attachment.hash(), term);
    return term;
  }

  // A word starts a call, a typed list, or is a constant.
  TermOr ParseWord() {
    const Token token = reader_.token();
    if (token.text == "true" || token.text == "false") {
      TRY(reader_.Advance());
      return AddTensor(token, Tensor::Scalar(token.text == "true"));
    }
    if (ParseSpecial(token.text, false)) return ParseNumberTerm(false);
    const std::optional<core::DType> dtype = core::ParseDType(token.text);
    if (dtype && reader_.ahead().IsMark("[")) return ParseTypedList(*dtype);
    return ParseCall();
  }

  TermOr ParseTypedList(core::DType dtype) {
    const Token token = TRY(reader_.Take());
    const Value items = TRY(ParseValue(reader_, attachments_));
    return AddTensor(token, TensorFromList(items, dtype));
  }

  // kernel(a, b, name=value), kernel#3(a)
  TermOr ParseCall() {
    const Token name = TRY(reader_.Take());
    const int64_t call_number = TRY(ParseCallNumber(reader_));
    if (!reader_.token().IsMark("(")) {
      const std::string shown = Shown(name.text);
      return reader_.Unexpected(
          base::StrCat("'(' after ", shown, " (fields are written .", shown, ")"));
    }
    TRY(reader_.Advance());
    std::vector<TermId> operands;
    std::vector<Argument> arguments;
    while (!reader_.token().IsMark(")")) {
      if (reader_.token().kind == Token::Kind::kName && reader_.ahead().IsMark("=")) {
        const Token argument = TRY(reader_.Take());
        TRY(reader_.Advance());
        arguments.push_back({argument.text, TRY(ParseValue(reader_, attachments_))});
      } else if (arguments.empty()) {
        operands.push_back(TRY(ParseBinary(0)));
      } else {
        return reader_.Unexpected("a named argument: operands come first");
      }
      if (!TRY(reader_.TakeIf(","))) break;
    }
    TRY(reader_.Expect(")"));
    return reader_.Placed(name,
                          builder_.Call(name.text, std::move(operands),
                                        Arguments(std::move(arguments)), call_number));
  }

  TokenReader& reader_;
  const Attachments& attachments_;
  ExpressionBuilder builder_;
  absl::flat_hash_map<std::string, TermId> locals_;
  absl::flat_hash_map<base::Sha256, TermId> arrays_;
  int nesting_ = 0;
};

}  // namespace

absl::StatusOr<Expression> ParseFunction(TokenReader& reader,
                                         const ExpressionScope& scope) {
  return ExpressionParser(reader, scope).Parse();
}

}  // namespace millrace::ir
