#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/types/span.h"

#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/infix.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

// Deeper terms get a local, so that what is printed never nests more than is parsed.
constexpr int kInlineHeightMax = 24;

// Longer fields and constants are written once, however often they are used.
constexpr size_t kRepeatedBytesMax = 32;

std::string PrintAttachment(const Attachment& attachment, Attachments& attachments) {
  attachments.Add(attachment);
  return base::StrCat("@", base::ToHex(attachment.hash()));
}

const Argument* FindArgument(const Arguments& arguments, std::string_view name) {
  const auto found = std::ranges::find(arguments.all(), name, &Argument::name);
  return found == arguments.all().end() ? nullptr : &*found;
}

class ValuePrinter {
 public:
  ValuePrinter(const PrintOptions& options, Attachments& attachments)
      : options_(options), attachments_(attachments) {}

  std::string Print(const Value& value);

  // name=value for each, those at their defaults left out for people.
  std::vector<std::string> Print(const Arguments& arguments,
                                 absl::Span<const ArgumentSchema> schema) {
    std::vector<std::string> printed;
    for (const ArgumentSchema& argument : schema) {
      const Argument* given = FindArgument(arguments, argument.name);
      if (given == nullptr) continue;
      if (options_.for_people && argument.default_value == given->value) continue;
      printed.push_back(base::StrCat(argument.name, "=", Print(given->value)));
    }
    return printed;
  }

  std::string PrintConstant(const core::Tensor& value, bool weak) {
    if (FitsInText(value)) return PrintLiteral(value, weak);
    return PrintAttachment(EncodeTensor(value), attachments_);
  }

  const PrintOptions& options() const { return options_; }

 private:
  const PrintOptions& options_;
  Attachments& attachments_;
};

// A term's text and how tightly its outermost operator binds.
struct Printed {
  std::string text;
  int binding = kTightest;
  int height = 0;
};

class ExpressionPrinter {
 public:
  ExpressionPrinter(const Expression& expression, ValuePrinter& values)
      : expression_(expression), values_(values), uses_(expression.terms().size(), 0) {
    for (const Term& term : expression.terms()) {
      for (const TermId operand : term.operands) ++uses_[static_cast<size_t>(operand)];
    }
    for (const Result& result : expression.results()) {
      ++uses_[static_cast<size_t>(result.term)];
    }
  }

  std::string Print() {
    std::string locals;
    for (size_t i = 0; i < expression_.terms().size(); ++i) {
      const Term& term = expression_.terms()[i];
      Printed printed = PrintTerm(term);
      if (NeedsLocal(term, uses_[i], printed)) {
        locals += base::StrCat("$", locals_, " = ", printed.text, "; ");
        printed = {base::StrCat("$", locals_++), kTightest, 0};
      }
      printed_.push_back(std::move(printed));
    }
    std::vector<std::string> results;
    for (const Result& result : expression_.results()) {
      results.push_back(PrintResult(result));
    }
    return base::StrCat("{", locals, absl::StrJoin(results, ", "), "}");
  }

 private:
  static bool NeedsLocal(const Term& term, int uses, const Printed& printed) {
    if (term.kind != Term::Kind::kCall) {
      return uses > 1 && printed.text.size() > kRepeatedBytesMax;
    }
    return uses > 1 || printed.height >= kInlineHeightMax;
  }

  const Printed& At(TermId id) const { return printed_[static_cast<size_t>(id)]; }

  std::string PrintResult(const Result& result) const {
    const std::string& value = At(result.term).text;
    if (result.name.empty()) return value;
    return base::StrCat(IsPlainName(result.name) ? result.name : Quote(result.name),
                        ": ", value);
  }

  // An operand, in parentheses when it would bind less tightly than it must.
  std::string Bound(TermId id, int binding_least) const {
    const Printed& operand = At(id);
    if (operand.binding >= binding_least) return operand.text;
    return base::StrCat("(", operand.text, ")");
  }

  Printed PrintTerm(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kField:
        return {
            base::StrCat(".", IsPlainName(term.name) ? term.name : Quote(term.name))};
      case Term::Kind::kLiteral:
        return PrintConstant(term);
      case Term::Kind::kCall:
        break;
    }
    Printed printed = PrintCall(term);
    for (const TermId operand : term.operands) {
      printed.height = std::max(printed.height, At(operand).height + 1);
    }
    return printed;
  }

  // (-2)[0], but -2 * 3.
  Printed PrintConstant(const Term& term) {
    Printed printed = {values_.PrintConstant(term.literal, term.type.weak)};
    if (printed.text.starts_with('-')) printed.binding = kNegateBinding;
    return printed;
  }

  // Whether a call says no more than an infix or prefix of so many operands can.
  static bool IsPlain(const Term& call, size_t operands) {
    return call.operands.size() == operands && call.arguments.all().empty() &&
           call.call_number == kNoCallNumber;
  }

  Printed PrintCall(const Term& term) {
    const auto* const infix = std::ranges::find(kInfix, term.name, &Infix::kernel);
    if (infix != kInfix.end() && IsPlain(term, 2)) {
      const int left = infix->binding + (infix->chains ? 0 : 1);
      return {base::StrCat(Bound(term.operands[0], left), " ", infix->mark, " ",
                           Bound(term.operands[1], infix->binding + 1)),
              infix->binding};
    }
    if (term.name == "not" && IsPlain(term, 1)) {
      return {base::StrCat("not ", Bound(term.operands[0], kNotBinding)), kNotBinding};
    }
    // -2 would read as a literal.
    if (term.name == "negate" && IsPlain(term, 1) &&
        expression_[term.operands[0]].kind != Term::Kind::kLiteral) {
      return {base::StrCat("-", Bound(term.operands[0], kNegateBinding)),
              kNegateBinding};
    }
    if (term.arguments.Find("axis") != nullptr && term.arguments["axis"] == Value(0)) {
      if (term.name == "at") return PrintAt(term);
      if (term.name == "slice") return PrintSlice(term);
    }
    return PrintPlainCall(term);
  }

  Printed PrintAt(const Term& term) const {
    return {base::StrCat(Bound(term.operands[0], kTightest), "[",
                         At(term.operands[1]).text, "]")};
  }

  Printed PrintSlice(const Term& term) {
    const auto bound = [&](std::string_view name) {
      const Value& value = term.arguments[name];
      return value.is_none() ? "" : values_.Print(value);
    };
    const bool stepped = !(term.arguments["step"] == Value(1));
    return {base::StrCat(Bound(term.operands[0], kTightest), "[", bound("start"), ":",
                         bound("stop"), stepped ? ":" : "",
                         stepped ? bound("step") : "", "]")};
  }

  Printed PrintPlainCall(const Term& term) {
    std::vector<std::string> items;
    items.reserve(term.operands.size());
    for (const TermId operand : term.operands) items.push_back(At(operand).text);
    for (std::string& argument :
         values_.Print(term.arguments, term.kernel->arguments)) {
      items.push_back(std::move(argument));
    }
    const std::string number =
        term.call_number == kNoCallNumber ? "" : base::StrCat("#", term.call_number);
    return {base::StrCat(term.name, number, "(", absl::StrJoin(items, ", "), ")")};
  }

  const Expression& expression_;
  ValuePrinter& values_;
  std::vector<int> uses_;
  std::vector<Printed> printed_;
  int locals_ = 0;
};

std::string ValuePrinter::Print(const Value& value) {
  if (value.is_none()) return "none";
  if (const bool* flag = value.If<bool>(); flag != nullptr) {
    return *flag ? "true" : "false";
  }
  if (const auto* integer = value.If<int64_t>(); integer != nullptr) {
    return base::StrCat(*integer);
  }
  if (const auto* number = value.If<double>(); number != nullptr) {
    return core::PrintValue(core::DType::kFloat64,
                            reinterpret_cast<const std::byte*>(number));
  }
  if (const auto* text = value.If<std::string>(); text != nullptr) {
    return Quote(*text);
  }
  if (const auto* attachment = value.If<Attachment>(); attachment != nullptr) {
    return PrintAttachment(*attachment, attachments_);
  }
  if (const auto* function = value.If<Function>(); function != nullptr) {
    return ExpressionPrinter(**function, *this).Print();
  }
  std::vector<std::string> items;
  for (const Value& item : value.As<List>()) items.push_back(Print(item));
  return base::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string PrintNode(const Pipeline& node, const std::vector<Pipeline>& nodes,
                      ValuePrinter& values) {
  const auto place = [&](const Pipeline& wanted) {
    return std::ranges::find(nodes, wanted) - nodes.begin();
  };
  std::vector<std::string> items;
  for (const Pipeline& input : node.inputs()) {
    items.push_back(base::StrCat("%", place(input)));
  }
  for (std::string& argument :
       values.Print(node.arguments(), node.schema().arguments)) {
    items.push_back(std::move(argument));
  }
  const std::string number =
      node.call_number() == kNoCallNumber ? "" : base::StrCat("#", node.call_number());
  return base::StrCat("%", place(node), " = ", node.name(), number, "(",
                      absl::StrJoin(items, ", "), ")\n");
}

}  // namespace

PipelineText Print(const Pipeline& pipeline, const PrintOptions& options) {
  PipelineText printed;
  ValuePrinter values(options, printed.attachments);
  if (!options.for_people) printed.text = base::StrCat("millrace ", kTextVersion, "\n");
  const std::vector<Pipeline> nodes = pipeline.Nodes();
  for (const Pipeline& node : nodes) printed.text += PrintNode(node, nodes, values);
  return printed;
}

std::string PrintValue(const Value& value) {
  Attachments attachments;
  const PrintOptions options;
  return ValuePrinter(options, attachments).Print(value);
}

std::string PrintExpression(const Expression& expression, const PrintOptions& options) {
  Attachments attachments;
  ValuePrinter values(options, attachments);
  return values.Print(Value(std::make_shared<const Expression>(expression)));
}

}  // namespace millrace::ir
