#include "millrace/plugin/load.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/shared_library.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"
#include "millrace/plugin/c_values.h"
#include "millrace/plugin/millrace_plugin.h"
#include "millrace/plugin/plugged_kernel.h"
#include "millrace/plugin/plugged_operator.h"

namespace millrace::plugin {
namespace {

constexpr int64_t kListMax = 10'000;  // Nobody describes more of anything.

// Copies structs that a plug-in lists, each of the size that it knows: what an older
// one does not have is zero.
template <typename T>
absl::StatusOr<std::vector<T>> CopyList(const T* list, int64_t count, int64_t bytes,
                                        std::string_view what) {
  if (count == 0) return std::vector<T>();
  if (list == nullptr || count < 0 || count > kListMax || bytes <= 0 ||
      bytes > static_cast<int64_t>(sizeof(T))) {
    return Breach(base::StrCat("its description is broken: ", count, " ", what, " of ",
                               bytes, " bytes; begin it with ",
                               "MILLRACE_PLUGIN_HEAD"));
  }
  std::vector<T> copied(count);
  const auto* const from = reinterpret_cast<const char*>(list);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(&copied[i], from + i * bytes, bytes);
  }
  return copied;
}

bool IsName(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_part = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, is_part);
}

absl::Status CheckNamed(const char* name, const char* doc, std::string_view what) {
  if (name == nullptr || !IsName(name)) {
    return Breach(base::StrCat("a name of its ", what, " is ",
                               name == nullptr ? "missing" : ir::Shown(name),
                               "; use letters a to z, digits and _"));
  }
  if (doc != nullptr && *doc != '\0') return absl::OkStatus();
  return Breach(base::StrCat("there is no doc of ", name, " in its ", what));
}

absl::StatusOr<ir::ArgumentSchema> ArgumentOf(const MillraceArgument& argument) {
  TRY(CheckNamed(argument.name, argument.doc, "arguments"));
  ir::ArgumentSchema schema = {.name = argument.name, .doc = argument.doc};
  const MillraceArgumentValue& given = argument.default_value;
  ir::Value value;
  switch (argument.type) {
    case kMillraceBoolArgument:
      schema.type = ir::ArgumentType::kBool;
      value = given.integer != 0;
      break;
    case kMillraceIntArgument:
      schema.type = ir::ArgumentType::kInt;
      value = given.integer;
      break;
    case kMillraceFloatArgument:
      schema.type = ir::ArgumentType::kFloat;
      value = given.number;
      break;
    case kMillraceTextArgument:
      schema.type = ir::ArgumentType::kText;
      value = given.text == nullptr ? "" : given.text;
      break;
    default:
      return Breach(base::StrCat("argument ", argument.name, " is of the type ",
                                 argument.type, ", which is none"));
  }
  if (argument.required == 0) schema.default_value = value;
  return schema;
}

absl::StatusOr<std::vector<ir::ArgumentSchema>> ArgumentsOf(
    const MillracePlugin& plugin, const MillraceArgument* list, int64_t count) {
  std::vector<ir::ArgumentSchema> schemas;
  std::set<std::string> names;
  const std::vector<MillraceArgument> arguments =
      TRY(CopyList(list, count, plugin.argument_bytes, "arguments"));
  for (const MillraceArgument& argument : arguments) {
    schemas.push_back(TRY(ArgumentOf(argument)));
    if (names.insert(schemas.back().name).second) continue;
    return Breach(base::StrCat("there are two arguments ", schemas.back().name));
  }
  return schemas;
}

absl::StatusOr<PluggedKernel> KernelOf(const MillracePlugin& plugin,
                                       const MillraceKernel& kernel) {
  if (kernel.infer == nullptr || kernel.compute == nullptr) {
    return Breach("it lacks the function infer or compute");
  }
  PluggedKernel plugged = {.functions = kernel};
  plugged.arguments = TRY(ArgumentsOf(plugin, kernel.arguments, kernel.argument_count));
  const std::vector<MillraceOperand> operands = TRY(CopyList(
      kernel.operands, kernel.operand_count, plugin.operand_bytes, "operands"));
  if (operands.empty()) return Breach("it has no operand");
  for (const MillraceOperand& operand : operands) {
    TRY(CheckNamed(operand.name, operand.doc, "operands"));
    plugged.operands.push_back({operand.name, operand.doc});
  }
  return plugged;
}

absl::StatusOr<PluggedOperator> OperatorOf(const MillracePlugin& plugin,
                                           const MillraceOperator& of) {
  constexpr int32_t kTraits = kMillraceRowWise | kMillraceFewerRows |
                              kMillraceMoreRows | kMillraceAcrossLanes |
                              kMillraceCanFail;
  if (of.infer == nullptr || of.push == nullptr) {
    return Breach("it lacks the function infer or push");
  }
  if ((of.traits & ~kTraits) != 0) return Breach("its traits are none that there are");
  if ((of.traits & kMillraceRowWise) != 0 && (of.traits & kMillraceAcrossLanes) != 0) {
    return Breach("it is kMillraceRowWise, so it cannot be kMillraceAcrossLanes");
  }
  return PluggedOperator{
      .functions = of,
      .arguments = TRY(ArgumentsOf(plugin, of.arguments, of.argument_count))};
}

// All that a plug-in has, checked.
struct Contents {
  std::vector<PluggedKernel> kernels;
  std::vector<PluggedOperator> operators;
};

// Reads a list of kernels or operators, and names the one that is wrong.
template <typename T, typename Plugged>
absl::Status ReadList(const MillracePlugin& plugin, const std::vector<T>& list,
                      absl::StatusOr<Plugged> (*read)(const MillracePlugin&, const T&),
                      std::string_view what, std::vector<Plugged>& out) {
  for (const T& described : list) {
    TRY(CheckNamed(described.name, described.doc, base::StrCat(what, "s")));
    absl::StatusOr<Plugged> plugged = read(plugin, described);
    if (!plugged.ok()) {
      return base::Annotate(plugged.status(), base::StrCat(what, " ", described.name));
    }
    out.push_back(*std::move(plugged));
  }
  return absl::OkStatus();
}

absl::StatusOr<Contents> Read(const MillracePlugin& plugin) {
  Contents contents;
  TRY(ReadList(plugin,
               TRY(CopyList(plugin.kernels, plugin.kernel_count, plugin.kernel_bytes,
                            "kernels")),
               KernelOf, "kernel", contents.kernels));
  TRY(ReadList(plugin,
               TRY(CopyList(plugin.operators, plugin.operator_count,
                            plugin.operator_bytes, "operators")),
               OperatorOf, "operator", contents.operators));
  if (!contents.kernels.empty() || !contents.operators.empty()) return contents;
  return Breach("it has no kernel and no operator");
}

std::string VersionText(int32_t major, int32_t minor) {
  return base::StrCat(major, ".", minor);
}

absl::Status CheckVersion(const MillracePlugin& plugin) {
  if (plugin.major == MILLRACE_PLUGIN_MAJOR && plugin.minor <= MILLRACE_PLUGIN_MINOR) {
    return absl::OkStatus();
  }
  const std::string its = VersionText(plugin.major, plugin.minor);
  return Breach(base::StrCat(
      "it is built for version ", its,
      " of the plug-in interface, and this Millrace has ",
      VersionText(MILLRACE_PLUGIN_MAJOR, MILLRACE_PLUGIN_MINOR),
      "; build it with this Millrace's millrace_plugin.h, or use a Millrace that has ",
      its));
}

absl::StatusOr<Contents> Open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return absl::NotFoundError("there is no such file");
  }
  const base::SharedLibrary library = TRY(base::SharedLibrary::Open(path));
  auto* const entry = library.Find<MillracePluginEntry>("millrace_plugin_entry");
  if (entry == nullptr) {
    return Breach(
        "it is a library, but no plug-in: it does not export millrace_plugin_entry");
  }
  const MillracePlugin* const plugin = entry();
  if (plugin == nullptr) return Breach("its millrace_plugin_entry gives nothing");
  TRY(CheckVersion(*plugin));
  return Read(TRY(CopyList(plugin, 1, plugin->plugin_bytes, "plug-in"))[0]);
}

// Checks that names are free, here and among themselves.
template <typename Plugged, typename Map>
absl::Status CheckFree(const std::vector<Plugged>& plugged, const Map& taken,
                       std::string_view what) {
  std::set<std::string_view> names;
  for (const Plugged& one : plugged) {
    const std::string_view name = one.functions.name;
    if (taken.find(name) == taken.end() && names.insert(name).second) continue;
    return absl::AlreadyExistsError(
        base::StrCat("there is another ", what, " ", name,
                     ", built in or of a plug-in; give it another name"));
  }
  return absl::OkStatus();
}

absl::Status Load(const std::string& path, ops::Library& library) {
  Contents contents = TRY(Open(path));
  TRY(CheckFree(contents.kernels, library.catalog().kernels(), "kernel"));
  TRY(CheckFree(contents.operators, library.catalog().operators(), "operator"));
  for (PluggedKernel& kernel : contents.kernels) {
    kernel.file = path;
    library.mutable_catalog().Add(SchemaOf(kernel));
  }
  for (PluggedOperator& plugged : contents.operators) {
    plugged.file = path;
    library.Add(DefOf(plugged));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadPlugin(const std::string& path, ops::Library& library) {
  return base::Annotate(Load(path, library), base::StrCat("plug-in ", path));
}

}  // namespace millrace::plugin
