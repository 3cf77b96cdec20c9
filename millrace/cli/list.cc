// millrace list: the operators and kernels there are, and what they take.

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include <CLI/CLI.hpp>

#include "millrace/base/text.h"
#include "millrace/cli/verb.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string name;
  bool markdown = false;
};

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

// The first sentence.
std::string Short(const std::string& doc) {
  const size_t end = doc.find(". ");
  return end == std::string::npos ? doc : doc.substr(0, end + 1);
}

// "size=, drop_remainder=false": what an operator or kernel takes.
std::string ArgumentsOf(absl::Span<const ir::ArgumentSchema> arguments) {
  std::string list;
  for (const ir::ArgumentSchema& argument : arguments) {
    list += base::StrCat(list.empty() ? "" : ", ", argument.name, "=");
    if (argument.default_value) list += ir::PrintValue(*argument.default_value);
  }
  return list;
}

std::string Joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : base::StrCat(a, ", ", b);
}

std::string CallOf(const ir::OperatorSchema& schema) {
  std::string inputs = schema.inputs > 0 ? "%0" : "";
  for (int i = 1; i < schema.inputs; ++i) inputs += base::StrCat(", %", i);
  if (schema.more_inputs) inputs += ", …";
  return base::StrCat(schema.name, "(", Joined(inputs, ArgumentsOf(schema.arguments)),
                      ")");
}

std::string CallOf(const ir::KernelSchema& schema) {
  std::string operands;
  for (const ir::OperandSchema& operand : schema.operands) {
    operands += base::StrCat(operands.empty() ? "" : ", ", operand.name);
  }
  if (schema.variadic) operands += ", …";
  return base::StrCat(schema.name, "(", Joined(operands, ArgumentsOf(schema.arguments)),
                      ")");
}

// What there is to say of one.
template <typename Schema>
std::string Details(const Schema& schema) {
  constexpr size_t kWidth = 18;
  std::string text = base::StrCat(CallOf(schema), "\n\n", schema.doc, "\n");
  if constexpr (requires { schema.operands; }) {
    for (const ir::OperandSchema& operand : schema.operands) {
      text += base::StrCat("  ", Padded(operand.name, kWidth), operand.doc, "\n");
    }
  }
  for (const ir::ArgumentSchema& argument : schema.arguments) {
    text += base::StrCat("  ", Padded(argument.name + "=", kWidth), argument.doc,
                         argument.default_value ? "" : " Required.", "\n");
  }
  return text;
}

// A list of calls with the first sentence about each; as a table in Markdown.
class Section {
 public:
  Section(std::string title, bool markdown)
      : title_(std::move(title)), markdown_(markdown) {}

  template <typename Schema>
  void Add(const Schema& schema) {
    constexpr size_t kWidth = 22;
    lines_ +=
        markdown_
            ? base::StrCat("| `", CallOf(schema), "` | ", schema.doc, " |\n")
            : base::StrCat("  ", Padded(schema.name, kWidth), Short(schema.doc), "\n");
  }

  std::string Text() const {
    return markdown_ ? base::StrCat("\n## ", title_, "\n\n| call | what it does |\n",
                                    "|---|---|\n", lines_)
                     : base::StrCat(title_, "\n", lines_, "\n");
  }

 private:
  const std::string title_;
  const bool markdown_;
  std::string lines_;
};

constexpr std::string_view kPreface =
    "# Operators and kernels\n\n"
    "What a pipeline is made of, as `millrace list` has it; `millrace list NAME` says "
    "what the\narguments of one are. An argument without a value must be given. "
    "Kernels are called in\nexpressions: the functions of `map` and `filter`. Made by "
    "`millrace list --markdown`.\n";

std::string All(bool markdown) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  Section sources("Sources", markdown);
  Section transforms("Transformations", markdown);
  for (const auto& [name, schema] : catalog.operators()) {
    (schema.traits.source ? sources : transforms).Add(schema);
  }
  Section kernels("Kernels", markdown);
  for (const auto& [name, schema] : catalog.kernels()) kernels.Add(schema);
  return base::StrCat(markdown ? kPreface : "", sources.Text(), transforms.Text(),
                      kernels.Text());
}

absl::Status List(const Options& options) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  if (options.name.empty()) {
    std::cout << All(options.markdown);
    return absl::OkStatus();
  }
  if (const auto found = catalog.FindKernel(options.name); found.ok()) {
    std::cout << Details(**found);
    return absl::OkStatus();
  }
  const auto found = catalog.FindOperator(options.name);
  if (!found.ok()) {
    return absl::NotFoundError(
        base::StrCat(found.status().message(), ", and no kernel of that name"));
  }
  std::cout << Details(**found);
  return absl::OkStatus();
}

}  // namespace

Verb ListVerb() {
  return {"list", "List the operators and kernels there are, and what they take",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command.add_option("NAME", options->name, "Of one, to see all about it");
            command.add_flag("--markdown", options->markdown, "As docs/operators.md");
            return [options] { return List(*options); };
          }};
}

}  // namespace millrace::cli
