#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_parser.h"
#include "millrace/ir/lexer.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/value.h"
#include "millrace/ir/value_parser.h"

namespace millrace::ir {
namespace {

// Every node knows its rows' fields; together they fit in memory.
constexpr size_t kFieldsInAllMax = 1 << 20;

class PipelineParser {
 public:
  PipelineParser(TokenReader& reader, const Attachments& attachments,
                 const Catalog& catalog, int64_t next_call_number)
      : reader_(reader),
        attachments_(attachments),
        catalog_(catalog),
        next_call_number_(next_call_number) {}

  absl::StatusOr<Pipeline> Parse() {
    TRY(ParseVersion());
    while (reader_.token().kind != Token::Kind::kEnd) TRY(ParseStatement());
    if (!last_) return reader_.Unexpected("an operator, as in %0 = range(stop=10)");
    return *last_;
  }

 private:
  absl::Status ParseVersion() {
    if (!reader_.token().IsName("millrace")) return absl::OkStatus();
    TRY(reader_.Advance());
    if (!reader_.token().Is(Token::Kind::kNumber, base::StrCat(kTextVersion))) {
      return reader_.Unexpected(base::StrCat("version ", kTextVersion));
    }
    return reader_.Advance();
  }

  // %name = operator(...)
  absl::Status ParseStatement() {
    if (reader_.token().kind != Token::Kind::kNode) {
      return reader_.Unexpected("a line like %0 = range(stop=10)");
    }
    const Token name = TRY(reader_.Take());
    TRY(CheckNew(name));
    TRY(reader_.Expect("="));
    const Pipeline made = TRY(ParseOperator());
    nodes_.emplace(name.text, made);
    fields_ += made.spec().fields().size();
    last_ = made;
    return absl::OkStatus();
  }

  // Lines count that nobody reads too: memory is bounded by the text's limits.
  absl::Status CheckNew(const Token& name) const {
    std::string wrong;
    if (nodes_.contains(name.text)) {
      wrong = base::StrCat(Describe(name), " is defined twice");
    } else if (static_cast<int64_t>(nodes_.size()) >= kNodesMax) {
      wrong = base::StrCat("pipeline has more than ", kNodesMax, " operators");
    } else if (fields_ > kFieldsInAllMax) {
      wrong = base::StrCat("operators have more than ", kFieldsInAllMax,
                           " fields together");
    }
    if (wrong.empty()) return absl::OkStatus();
    return reader_.Placed(name, absl::InvalidArgumentError(wrong));
  }

  absl::StatusOr<Pipeline> ParseOperator() {
    if (reader_.token().kind != Token::Kind::kName) {
      return reader_.Unexpected("an operator's name");
    }
    const Token name = TRY(reader_.Take());
    const OperatorSchema* schema =
        TRY(reader_.Placed(name, catalog_.FindOperator(name.text)));
    reader_.SetOperator(schema->name);
    int64_t call_number = TRY(ParseCallNumber(reader_));
    TRY(reader_.Expect("("));
    std::vector<Pipeline> inputs;
    std::vector<Argument> arguments;
    while (!reader_.token().IsMark(")")) {
      if (reader_.token().kind == Token::Kind::kNode && arguments.empty()) {
        inputs.push_back(TRY(ParseInput()));
      } else {
        arguments.push_back(TRY(ParseArgument(*schema, arguments, inputs)));
      }
      if (!TRY(reader_.TakeIf(","))) break;
    }
    TRY(reader_.Expect(")"));
    reader_.SetOperator("");
    // Branches count on: no two nodes of one text get the same number.
    if (schema->numbered() && call_number == kNoCallNumber) {
      call_number = next_call_number_;
    }
    Pipeline made = TRY(reader_.Placed(
        name, Pipeline::Make(catalog_, name.text, Arguments(std::move(arguments)),
                             std::move(inputs), call_number)));
    next_call_number_ = std::max(next_call_number_, made.NextCallNumber());
    return made;
  }

  absl::StatusOr<Pipeline> ParseInput() {
    const Token token = TRY(reader_.Take());
    const auto found = nodes_.find(token.text);
    if (found != nodes_.end()) return found->second;
    return reader_.Placed(
        token, absl::InvalidArgumentError(base::StrCat(
                   Describe(token),
                   " is used before it is defined; a pipeline has no cycles")));
  }

  absl::StatusOr<Argument> ParseArgument(const OperatorSchema& schema,
                                         const std::vector<Argument>& before,
                                         const std::vector<Pipeline>& inputs) {
    if (reader_.token().kind != Token::Kind::kName) {
      return reader_.Unexpected("a named argument, as in size=32; inputs come first");
    }
    const Token name = TRY(reader_.Take());
    TRY(reader_.Expect("="));
    if (!reader_.token().IsMark("{")) {
      return Argument{name.text, TRY(ParseValue(reader_, attachments_))};
    }
    if (inputs.empty()) return reader_.Unexpected("an input before a function");
    const core::Spec rows = TRY(reader_.Placed(
        name, schema.function_input(Arguments(before), inputs[0].spec())));
    Expression function =
        TRY(ParseFunction(reader_, {catalog_, attachments_, rows, next_call_number_}));
    next_call_number_ = std::max(next_call_number_, function.NextCallNumber());
    return Argument{name.text, std::make_shared<const Expression>(std::move(function))};
  }

  TokenReader& reader_;
  const Attachments& attachments_;
  const Catalog& catalog_;
  absl::flat_hash_map<std::string, Pipeline> nodes_;
  std::optional<Pipeline> last_;
  size_t fields_ = 0;  // Of all nodes together.
  int64_t next_call_number_;
};

absl::Status CheckSize(std::string_view text) {
  if (text.size() <= kTextBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "pipeline text is too long: ", text.size(), " bytes, at most ", kTextBytesMax));
}

// One more than the largest call number that the text gives: calls without one are
// numbered from there on, so that none gets the number of another.
int64_t FirstFreeCallNumber(std::string_view text) {
  if (text.find('#') == std::string_view::npos) return 0;
  Lexer lexer(text);
  int64_t next = 0;
  for (int64_t i = 0; i < kTokensMax; ++i) {
    const absl::StatusOr<Token> token = lexer.Next();
    if (!token.ok() || token->kind == Token::Kind::kEnd) break;
    int64_t number = 0;
    if (token->kind != Token::Kind::kCallNumber) continue;
    if (!absl::SimpleAtoi(token->text, &number)) continue;
    next = std::max(next, std::min(number, kCallNumberMax) + 1);
  }
  return next;
}

}  // namespace

absl::StatusOr<Pipeline> Parse(std::string_view text, const Attachments& attachments,
                               const Catalog& catalog) {
  TRY(CheckSize(text));
  TokenReader reader = TRY(TokenReader::Open(text));
  const int64_t next = FirstFreeCallNumber(text);
  return PipelineParser(reader, attachments, catalog, next).Parse();
}

absl::StatusOr<Expression> ParseExpression(std::string_view text,
                                           const core::Spec& input,
                                           const Catalog& catalog) {
  TRY(CheckSize(text));
  TokenReader reader = TRY(TokenReader::Open(text));
  const int64_t next = FirstFreeCallNumber(text);
  Expression expression = TRY(ParseFunction(reader, {catalog, {}, input, next}));
  if (reader.token().kind != Token::Kind::kEnd)
    return reader.Unexpected("nothing more");
  return expression;
}

}  // namespace millrace::ir
