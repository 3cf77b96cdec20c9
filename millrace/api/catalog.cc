#include "millrace/api/catalog.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include "millrace/api/json.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/text.h"

namespace millrace::api {
namespace {

struct ArgumentMessage {
  std::string name;
  std::string type;
  std::string doc;
  bool required = false;
  std::string default_text;  // As the text form writes it.
  bool none_allowed = false;
  std::optional<int64_t> least;
  std::optional<int64_t> most;
  std::vector<std::string> choices;
};

BOOST_DESCRIBE_STRUCT(ArgumentMessage, (),
                      (name, type, doc, required, default_text, none_allowed, least,
                       most, choices))

struct OperandMessage {
  std::string name;
  std::string doc;
};

BOOST_DESCRIBE_STRUCT(OperandMessage, (), (name, doc))

struct OperatorMessage {
  std::string name;
  std::string doc;
  int64_t inputs = 1;
  bool more_inputs = false;
  bool source = false;
  std::vector<ArgumentMessage> arguments;
};

BOOST_DESCRIBE_STRUCT(OperatorMessage, (),
                      (name, doc, inputs, more_inputs, source, arguments))

struct KernelMessage {
  std::string name;
  std::string doc;
  std::vector<OperandMessage> operands = {};
  bool variadic = false;
  bool random = false;
  std::vector<ArgumentMessage> arguments;
};

BOOST_DESCRIBE_STRUCT(KernelMessage, (),
                      (name, doc, operands, variadic, random, arguments))

struct CatalogMessage {
  std::vector<OperatorMessage> operators;
  std::vector<KernelMessage> kernels;
};

BOOST_DESCRIBE_STRUCT(CatalogMessage, (), (operators, kernels))

std::string TypeName(ir::ArgumentType type) {
  switch (type) {
    case ir::ArgumentType::kBool:
      return "bool";
    case ir::ArgumentType::kInt:
      return "int";
    case ir::ArgumentType::kFloat:
      return "float";
    case ir::ArgumentType::kText:
      return "text";
    case ir::ArgumentType::kInts:
      return "ints";
    case ir::ArgumentType::kFloats:
      return "floats";
    case ir::ArgumentType::kTexts:
      return "texts";
    case ir::ArgumentType::kRowFunction:
      return "row_function";
    case ir::ArgumentType::kValueFunction:
      return "value_function";
    case ir::ArgumentType::kAttachment:
      return "attachment";
    case ir::ArgumentType::kAttachments:
      return "attachments";
  }
  return "";
}

std::vector<ArgumentMessage> MessagesOf(
    const std::vector<ir::ArgumentSchema>& arguments) {
  std::vector<ArgumentMessage> messages;
  for (const ir::ArgumentSchema& argument : arguments) {
    const auto& given = argument.default_value;
    messages.push_back({.name = argument.name,
                        .type = TypeName(argument.type),
                        .doc = argument.doc,
                        .required = !given,
                        .default_text = given ? ir::PrintValue(*given) : "",
                        .none_allowed = argument.none_allowed,
                        .least = argument.least,
                        .most = argument.most,
                        .choices = argument.choices});
  }
  return messages;
}

OperatorMessage MessageOf(const ir::OperatorSchema& schema) {
  return {.name = schema.name,
          .doc = schema.doc,
          .inputs = schema.inputs,
          .more_inputs = schema.more_inputs,
          .source = schema.traits.source,
          .arguments = MessagesOf(schema.arguments)};
}

KernelMessage MessageOf(const ir::KernelSchema& schema) {
  KernelMessage message = {.name = schema.name,
                           .doc = schema.doc,
                           .variadic = schema.variadic,
                           .random = schema.random,
                           .arguments = MessagesOf(schema.arguments)};
  for (const ir::OperandSchema& operand : schema.operands) {
    message.operands.push_back({.name = operand.name, .doc = operand.doc});
  }
  return message;
}

}  // namespace

std::string CatalogToJson(const ir::Catalog& catalog) {
  CatalogMessage message;
  for (const auto& [name, schema] : catalog.operators()) {
    message.operators.push_back(MessageOf(schema));
  }
  for (const auto& [name, schema] : catalog.kernels()) {
    message.kernels.push_back(MessageOf(schema));
  }
  return ToJson(message);
}

}  // namespace millrace::api
