#include "millrace/ops/library.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/kernels/catalog.h"
#include "millrace/ops/define.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

#define OPERATOR(name) OperatorDef name##Def();
#include "millrace/ops/catalog.inc"
#undef OPERATOR

Library Library::BuiltIn() {
  Library library;
  kernels::AddKernels(*library.catalog_);
#define OPERATOR(name) library.Add(name##Def());
#include "millrace/ops/catalog.inc"
#undef OPERATOR
  return library;
}

void Library::Add(OperatorDef def) {
  const int ways = (def.make ? 1 : 0) + (def.make_source ? 1 : 0) +
                   (def.make_merger ? 1 : 0) + (def.steps ? 1 : 0);
  const ir::OperatorTraits& traits = def.schema.traits;
  CHECK_EQ(ways, traits.repeats || traits.concatenates ? 0 : 1) << def.schema.name;
  catalog_->Add(def.schema);
  const std::string name = def.schema.name;
  defs_.emplace(name, std::move(def));
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

// What the default library is made of, until it is made.
struct Extensions {
  std::vector<void (*)(Library&)> adders;
  bool used = false;
};

Extensions& DefaultExtensions() {
  static Extensions& extensions = *new Extensions;  // Never destroyed.
  return extensions;
}

Library MakeDefault() {
  Library library = Library::BuiltIn();
  DefaultExtensions().used = true;
  for (auto* const add : DefaultExtensions().adders) add(library);
  return library;
}

}  // namespace

const Library& DefaultLibrary() {
  static const Library& library = *new Library(MakeDefault());  // Never destroyed.
  return library;
}

void ExtendDefaultLibrary(void (*add)(Library&)) {
  std::vector<void (*)(Library&)>& adders = DefaultExtensions().adders;
  if (std::ranges::count(adders, add) > 0) return;
  CHECK(!DefaultExtensions().used) << "the default library is already in use";
  adders.push_back(add);
}

}  // namespace millrace::ops
