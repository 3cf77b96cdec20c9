#include "millrace/adapters/python/distribute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::python {
namespace {

// The name of the argument that is a batch's size; empty where there is none.
std::string SizeArgument(const ir::Pipeline& node) {
  for (const ir::ArgumentSchema& argument : node.schema().arguments) {
    if (argument.is_batch_size) return argument.name;
  }
  return "";
}

bool KeepsPlaces(const ir::Pipeline& node) {
  const ir::OperatorTraits& traits = node.schema().traits;
  return traits.row_wise && !traits.changes_cardinality;
}

// A pipeline in three parts: what all consumers run, what each runs for its own rows,
// and the place of the last batch in that.
struct Parts {
  ir::Pipeline shared;
  std::vector<ir::Pipeline> own;  // In order.
  int batch = -1;
};

absl::StatusOr<Parts> PartsOf(const ir::Pipeline& pipeline) {
  std::vector<ir::Pipeline> backwards;
  ir::Pipeline node = pipeline;
  int batch = -1;
  while (node.inputs().size() == 1) {
    const bool is_batch = node.schema().traits.batching;
    if (is_batch && batch >= 0) break;  // Only the last is dealt.
    if (!is_batch && !KeepsPlaces(node)) break;
    if (is_batch) batch = static_cast<int>(backwards.size());
    backwards.push_back(node);
    node = ir::Pipeline(node.inputs()[0]);
  }
  Parts parts = {.shared = node, .own = {backwards.rbegin(), backwards.rend()}};
  if (batch >= 0) parts.batch = static_cast<int>(backwards.size()) - 1 - batch;
  const bool sized = batch < 0 || !SizeArgument(backwards[batch]).empty();
  if (sized) return parts;
  return absl::InvalidArgumentError(
      base::StrCat(backwards[batch].name(),
                   ": its batches have no one size, and cannot be dealt to "
                   "several consumers in turn"));
}

absl::StatusOr<ir::Pipeline> Then(const ir::Pipeline& input, const std::string& name,
                                  const ir::Arguments& arguments) {
  return ir::Pipeline::Make(Catalog(), name, arguments, {input});
}

int64_t BatchOf(const Parts& parts) {
  if (parts.batch < 0) return 1;
  const ir::Pipeline& batch = parts.own[parts.batch];
  return batch.arguments()[SizeArgument(batch)].As<int64_t>();
}

// The shared part, less what was taken, dealt.
absl::StatusOr<ir::Pipeline> Dealt(const Parts& parts, const Distribution& to,
                                   int64_t batch) {
  ir::Pipeline rows = parts.shared;
  if (to.skipped > 0) rows = TRY(Then(rows, "skip", {{"count", to.skipped}}));
  const bool known = to.rows.has_value();
  if (to.drop && known) {
    const int64_t count = std::max<int64_t>(*to.rows - to.skipped, 0);
    const int64_t round = batch * to.consumers;
    rows = TRY(Then(rows, "take", {{"count", count - count % round}}));
  }
  return Then(rows, "shard",
              {{"shards", to.consumers},
               {"index", to.consumer},
               {"run", batch},
               {"whole_rounds", to.drop && !known && !rows.cardinality().infinite()}});
}

absl::StatusOr<Distributed> Apply(const ir::Pipeline& pipeline,
                                  const Distribution& to) {
  const Parts parts = TRY(PartsOf(pipeline));
  const int64_t batch = to.batch > 0 ? to.batch : BatchOf(parts);
  ir::Pipeline node = TRY(Dealt(parts, to, batch));
  for (size_t i = 0; i < parts.own.size(); ++i) {
    const ir::Pipeline& own = parts.own[i];
    ir::Arguments arguments = own.arguments();
    if (static_cast<int>(i) == parts.batch) arguments.Set(SizeArgument(own), batch);
    node = TRY(ir::Pipeline::Make(Catalog(), own.name(), arguments, {node},
                                  own.call_number()));
  }
  return Distributed{
      .pipeline = Pipeline(node), .batch = batch, .shared = Pipeline(parts.shared)};
}

}  // namespace

Distributed Distribute(const Pipeline& pipeline, const Distribution& distribution) {
  return Checked(Apply(pipeline.inner(), distribution));
}

}  // namespace millrace::python
