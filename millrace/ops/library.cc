#include "millrace/ops/library.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/kernels/catalog.h"
#include "millrace/ops/define.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

#define OPERATOR(name) OperatorDef name##Def();
#include "millrace/ops/catalog.inc"
#undef OPERATOR

#define FORMAT(name) SaveFormat name##Format();
#include "millrace/ops/formats.inc"
#undef FORMAT

ir::KernelSchema ReadFileKernel();

Library Library::BuiltIn() {
  Library library;
  kernels::AddKernels(*library.catalog_);
  library.catalog_->Add(ReadFileKernel());
#define OPERATOR(name) library.Add(name##Def());
#include "millrace/ops/catalog.inc"
#undef OPERATOR
#define FORMAT(name) library.AddFormat(name##Format());
#include "millrace/ops/formats.inc"
#undef FORMAT
  return library;
}

void Library::Add(OperatorDef def) {
  if (def.choose) {
    const auto choose = def.choose;
    choose(by_ending_, def);
  }
  if (def.pick) {
    const auto choose = def.pick;
    choose(formats_, def);
  }
  const int ways = (def.make ? 1 : 0) + (def.make_source ? 1 : 0) +
                   (def.make_merger ? 1 : 0) + (def.steps ? 1 : 0);
  const ir::OperatorTraits& traits = def.schema.traits;
  const bool by_lanes = traits.repeats || traits.concatenates || traits.caches;
  CHECK_EQ(ways, by_lanes ? 0 : 1) << def.schema.name;
  catalog_->Add(def.schema);
  for (const std::string& ending : def.endings) {
    CHECK(by_ending_->emplace(ending, def).second) << ending;
  }
  const std::string name = def.schema.name;
  defs_.emplace(name, std::move(def));
}

void Library::AddFormat(SaveFormat format) {
  const std::string name = format.name;
  CHECK(formats_->emplace(name, std::move(format)).second) << name;
}

std::unique_ptr<Operator> Library::Make(const ir::Pipeline& node,
                                        LaneContext lane) const {
  lane.call_number = node.call_number();
  lane.input = &node.inputs()[0].spec();
  const auto found = defs_.find(node.name());
  CHECK(found != defs_.end() && found->second.make) << node.name();
  return found->second.make(node.arguments(), lane);
}

std::unique_ptr<Source> Library::MakeSource(const ir::Pipeline& node,
                                            SourceContext context) const {
  context.call_number = node.call_number();
  const auto found = defs_.find(node.name());
  CHECK(found != defs_.end() && found->second.make_source) << node.name();
  return found->second.make_source(node.arguments(), context);
}

std::unique_ptr<Merger> Library::MakeMerger(const ir::Pipeline& node,
                                            MergeContext context) const {
  context.call_number = node.call_number();
  const auto found = defs_.find(node.name());
  CHECK(found != defs_.end() && found->second.make_merger) << node.name();
  return found->second.make_merger(node.arguments(), context);
}

std::vector<Step> Library::StepsOf(const ir::Pipeline& node) const {
  const auto found = defs_.find(node.name());
  CHECK(found != defs_.end()) << node.name();
  if (!found->second.steps) return {};
  return found->second.steps(node.arguments());
}

namespace {

// The default library, and whether it may still be extended.
struct Default {
  Library library = Library::BuiltIn();
  std::vector<void (*)(Library&)> adders;
  bool used = false;
};

Default& TheDefault() {
  static Default& the_default = *new Default;  // Never destroyed.
  return the_default;
}

Library& Unused() {
  CHECK(!TheDefault().used) << "the default library is already in use";
  return TheDefault().library;
}

}  // namespace

const Library& DefaultLibrary() {
  static const bool used = TheDefault().used = true;  // Written once, by one thread.
  CHECK(used);
  return TheDefault().library;
}

void ExtendDefaultLibrary(void (*add)(Library&)) {
  std::vector<void (*)(Library&)>& adders = TheDefault().adders;
  if (std::ranges::count(adders, add) > 0) return;
  add(Unused());
  adders.push_back(add);
}

absl::Status ExtendDefaultLibrary(absl::FunctionRef<absl::Status(Library&)> add) {
  return add(Unused());
}

}  // namespace millrace::ops
