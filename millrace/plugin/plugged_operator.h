// A plug-in's operator as one of ours. As single-threaded as any operator: a state of
// the plug-in per object.
#pragma once

#include <string>
#include <vector>

#include "millrace/ir/argument_schema.h"
#include "millrace/ops/define.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {

// An operator as a plug-in describes it, checked.
struct PluggedOperator {
  std::string file = {};  // Of the plug-in, for errors.
  MillraceOperator functions = {};
  std::vector<ir::ArgumentSchema> arguments = {};
};

ops::OperatorDef DefOf(const PluggedOperator& plugged);

}  // namespace millrace::plugin
