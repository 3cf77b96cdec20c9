#include "millrace/ops/faces.h"

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"

namespace millrace::ops {
namespace {

using ir::ArgumentSchema;
using ir::ArgumentType;
using ir::OperatorSchema;

constexpr std::string_view kHead =
    R"(// Pipelines in C++: a source, then operators, each a method with named options.
//
//   auto pipeline = millrace::Range({.stop = 1000})
//                       .Shuffle({.window = 100})
//                       .Map([](Row row, Rng rng) {
//                         return Fields{{"x", row["value"] + rng.Normal(0.0, 1.0)}};
//                       })
//                       .Batch({.size = 32});
//
// Made from the operators' definitions; `make golden` writes it anew.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/dataset_base.h"

namespace millrace {

using ir::Expr;
using ir::Fields;
using ir::Rng;
using ir::Row;

)";

std::string PascalCase(std::string_view name) {
  std::string pascal;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') pascal += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return pascal;
}

bool IsFunction(const ArgumentSchema& argument) {
  return argument.type == ArgumentType::kRowFunction ||
         argument.type == ArgumentType::kValueFunction;
}

std::string PlainType(ArgumentType type) {
  switch (type) {
    case ArgumentType::kBool:
      return "bool";
    case ArgumentType::kInt:
      return "int64_t";
    case ArgumentType::kFloat:
      return "double";
    case ArgumentType::kText:
      return "std::string";
    case ArgumentType::kInts:
      return "std::vector<int64_t>";
    case ArgumentType::kFloats:
      return "std::vector<double>";
    case ArgumentType::kTexts:
      return "std::vector<std::string>";
    case ArgumentType::kRowFunction:
      return "ir::RowFunction";
    case ArgumentType::kValueFunction:
      return "ir::ValueFunction";
    case ArgumentType::kAttachment:
      return "ir::Attachment";
    case ArgumentType::kAttachments:
      return "std::vector<ir::Attachment>";
  }
  return "";
}

std::string CppType(const ArgumentSchema& argument) {
  const std::string plain = PlainType(argument.type);
  return argument.none_allowed ? base::StrCat("std::optional<", plain, ">") : plain;
}

std::string CppValue(const ir::Value& value) {
  if (const auto* flag = value.If<bool>(); flag != nullptr) {
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
    return ir::Quote(*text);
  }
  if (const auto* items = value.If<ir::List>(); items != nullptr) {
    return base::StrCat("{",
                        absl::StrJoin(*items, ", ",
                                      [](std::string* out, const ir::Value& item) {
                                        out->append(CppValue(item));
                                      }),
                        "}");
  }
  return "{}";
}

// A comment of lines that fit, each indented.
std::string Comment(const std::string& text, const std::string& indent) {
  std::string lines;
  std::string line = indent + "//";
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > 88) {
      lines += line + "\n";
      line = indent + "//";
    }
    line += base::StrCat(" ", word);
  }
  return base::StrCat(lines, line, "\n");
}

std::vector<const ArgumentSchema*> PlainArguments(const OperatorSchema& schema) {
  std::vector<const ArgumentSchema*> plain;
  for (const ArgumentSchema& argument : schema.arguments) {
    if (!IsFunction(argument)) plain.push_back(&argument);
  }
  return plain;
}

const ArgumentSchema* FunctionArgument(const OperatorSchema& schema) {
  const ArgumentSchema* function = nullptr;
  for (const ArgumentSchema& argument : schema.arguments) {
    if (!IsFunction(argument)) continue;
    CHECK(function == nullptr) << schema.name << ": one function at most";
    function = &argument;
  }
  return function;
}

std::string OptionsStruct(const OperatorSchema& schema) {
  std::string text = base::StrCat("struct ", PascalCase(schema.name), "Options {\n");
  for (const ArgumentSchema* argument : PlainArguments(schema)) {
    const bool required = !argument->default_value.has_value();
    text +=
        Comment(base::StrCat(argument->doc, required ? " Must be given." : ""), "  ");
    text += base::StrCat("  ", CppType(*argument), " ", argument->name, " = ",
                         required ? "{}" : CppValue(*argument->default_value), ";\n");
  }
  return text + "};\n\n";
}

// {{"size", ToValue(options.size)}, …}
std::string ArgumentList(const OperatorSchema& schema) {
  std::vector<std::string> items;
  for (const ArgumentSchema* argument : PlainArguments(schema)) {
    items.push_back(base::StrCat("{\"", argument->name, "\", ops::ToValue(options.",
                                 argument->name, ")}"));
  }
  return base::StrCat("{", absl::StrJoin(items, ",\n       "), "}");
}

std::string Method(const OperatorSchema& schema) {
  const std::string name = PascalCase(schema.name);
  const ArgumentSchema* function = FunctionArgument(schema);
  bool all_default = true;
  for (const ArgumentSchema* argument : PlainArguments(schema)) {
    all_default = all_default && argument->default_value.has_value();
  }
  const std::string options = PlainArguments(schema).empty()
                                  ? ""
                                  : base::StrCat("const ", name, "Options& options",
                                                 all_default ? " = {}" : "");
  std::string text = Comment(schema.doc, "  ");
  if (schema.more_inputs) {
    text += base::StrCat("  Dataset ", name, "(const std::vector<Dataset>& others",
                         options.empty() ? "" : ",\n      ", options, ") const {\n");
    return text + base::StrCat("    return Dataset(ThenWith(\"", schema.name,
                               "\",\n      ", ArgumentList(schema),
                               ",\n      {others.begin(), others.end()}));\n  }\n\n");
  }
  if (function != nullptr) {
    text += base::StrCat("  Dataset ", name, "(const ", CppType(*function), "& ",
                         function->name, ",\n      ", options, ") const {\n");
  } else {
    text += base::StrCat("  Dataset ", name, "(", options, ") const {\n");
  }
  text += base::StrCat("    return Dataset(Then(\"", schema.name, "\",\n      ",
                       ArgumentList(schema));
  if (function != nullptr) {
    text += base::StrCat(",\n      \"", function->name, "\", ", function->name);
  }
  return text + "));\n  }\n\n";
}

std::string SourceFunction(const OperatorSchema& schema) {
  const std::string name = PascalCase(schema.name);
  return base::StrCat(Comment(schema.doc, ""), "inline Dataset ", name, "(const ", name,
                      "Options& options) {\n  return Dataset::FromSource(\"",
                      schema.name, "\",\n      ", ArgumentList(schema), ");\n}\n\n");
}

}  // namespace

std::string DatasetHeader(const ir::Catalog& catalog) {
  std::string options;
  std::string methods;
  std::string sources;
  for (const auto& [name, schema] : catalog.operators()) {
    if (!PlainArguments(schema).empty()) options += OptionsStruct(schema);
    (schema.traits.source ? sources : methods) +=
        schema.traits.source ? SourceFunction(schema) : Method(schema);
  }
  return base::StrCat(kHead, options,
                      "class Dataset : public ops::DatasetBase {\n public:\n", methods,
                      "  // Starts with any source, by name.\n"
                      "  static Dataset FromSource(const std::string& name,\n"
                      "                            const ir::Arguments& arguments) {\n"
                      "    return Dataset(Start(name, arguments));\n  }\n\n private:\n"
                      "  explicit Dataset(absl::StatusOr<ir::Pipeline> pipeline)\n"
                      "      : DatasetBase(std::move(pipeline)) {}\n};\n\n",
                      sources, "}  // namespace millrace\n");
}

}  // namespace millrace::ops
