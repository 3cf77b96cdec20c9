// All operators and kernels, ready to run: the catalog that pipelines are checked
// against and, beside it, the way to make each operator. Made from `catalog.inc` and
// the kernels' list; adapters add theirs. A value; immutable once shared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/define.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

class Library {
 public:
  // Everything that comes with Millrace itself.
  static Library BuiltIn();

  void Add(OperatorDef def);
  void AddFormat(SaveFormat format);

  const ir::Catalog& catalog() const { return *catalog_; }

  ir::Catalog& mutable_catalog() { return *catalog_; }

  // Makes the object that runs a node. Requires: the node is of this library, and of
  // the kind that the name says.
  std::unique_ptr<Operator> Make(const ir::Pipeline& node, LaneContext lane) const;
  std::unique_ptr<Source> MakeSource(const ir::Pipeline& node,
                                     SourceContext context) const;
  std::unique_ptr<Merger> MakeMerger(const ir::Pipeline& node,
                                     MergeContext context) const;

  // Finds a format that rows are saved in. An error names those there are.
  absl::StatusOr<const SaveFormat*> FindFormat(const std::string& name) const {
    return ops::FindFormat(*formats_, name);
  }

  const SaveFormats& formats() const { return *formats_; }

  // Gives what a node is run as, one behind the other; empty where it runs itself.
  std::vector<Step> StepsOf(const ir::Pipeline& node) const;

 private:
  // On the heap: pipelines point into it, also after the library was moved.
  std::unique_ptr<ir::Catalog> catalog_ = std::make_unique<ir::Catalog>();
  std::map<std::string, OperatorDef> defs_;
  std::shared_ptr<SaveFormats> formats_ = std::make_shared<SaveFormats>();
  std::shared_ptr<SourcesByEnding> by_ending_ = std::make_shared<SourcesByEnding>();
};

// The library of this process: all that is built in, and what adapters added.
const Library& DefaultLibrary();

// Has an adapter's operators added to it, once each. Call it as the program starts, on
// one thread. Requires: nobody has used the default library yet.
void ExtendDefaultLibrary(void (*add)(Library&));

// The same for what can fail, such as a plug-in.
absl::Status ExtendDefaultLibrary(absl::FunctionRef<absl::Status(Library&)> add);

}  // namespace millrace::ops
