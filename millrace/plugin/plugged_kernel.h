// A plug-in's kernel as one of ours: its operands become views, what it writes becomes
// a column once it is checked. As pure as the plug-in's own function.
#pragma once

#include <string>
#include <vector>

#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {

// A kernel as a plug-in describes it, checked.
struct PluggedKernel {
  std::string file = {};  // Of the plug-in, for errors.
  MillraceKernel functions = {};
  std::vector<ir::OperandSchema> operands = {};
  std::vector<ir::ArgumentSchema> arguments = {};
};

ir::KernelSchema SchemaOf(const PluggedKernel& kernel);

}  // namespace millrace::plugin
