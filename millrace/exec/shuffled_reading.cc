#include "millrace/exec/shuffled_reading.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {
namespace {

// Smaller rows are better shuffled in memory, and so are those that are read together.
constexpr int64_t kRowBytesLeast = 4096;

bool WorthReadingAlone(const lanes::Manifest& manifest) {
  const bool alone = std::ranges::all_of(
      manifest.splits, [](const lanes::Split& split) { return split.grain <= 1; });
  return alone && lanes::AllSeekable(manifest) && manifest.total_rows() > 0 &&
         manifest.total_bytes().count() / manifest.total_rows() >= kRowBytesLeast;
}

// The place of a shuffle that can be done by reading; -1 where there is none. Within a
// window it matters which rows there are, so none may be left out before.
int ShufflePlace(const PassPlan& plan, bool windows) {
  for (int place = 1; place < static_cast<int>(plan.nodes.size()); ++place) {
    const ir::Pipeline& node = plan.nodes[place];
    if (PermutesAll(node)) return place;
    if (node.schema().traits.reorders) {
      return windows && WorthReadingAlone(plan.manifest) ? place : -1;
    }
    if (!plan.cut.permuted && !GivesOneRowPerRow(plan, place)) return -1;
  }
  return -1;
}

ShuffledReading ReadingOf(const ir::Pipeline& shuffle, const PassPlan& plan) {
  const ir::Value& own = shuffle.arguments()["seed"];
  return {.window = shuffle.arguments()["window"].As<int64_t>(),
          .seed = own.is_none() ? plan.seed : static_cast<uint64_t>(own.As<int64_t>()),
          .call_number = shuffle.call_number()};
}

}  // namespace

bool PermutesAll(const ir::Pipeline& node) { return node.schema().traits.permutes_all; }

absl::Status CheckPermutesFirst(const std::vector<ir::Pipeline>& nodes) {
  const auto permutes = std::ranges::find_if(nodes, PermutesAll);
  if (permutes == nodes.end()) return absl::OkStatus();
  const auto before =
      std::find_if(nodes.begin(), permutes, [](const ir::Pipeline& node) {
        const ir::OperatorTraits& traits = node.schema().traits;
        return !traits.source && !traits.row_wise;
      });
  if (before == permutes) return absl::OkStatus();
  return absl::UnimplementedError(base::StrCat(
      permutes->name(), " cannot stand behind ", before->name(),
      ": it decides in which order rows are read; put it in front of that"));
}

absl::Status CheckCanPermute(const std::vector<ir::Pipeline>& nodes,
                             const lanes::Manifest& manifest) {
  const auto permutes = std::ranges::find_if(nodes, PermutesAll);
  const auto stuck = std::ranges::find(manifest.splits, false, &lanes::Split::seekable);
  if (permutes == nodes.end() || stuck == manifest.splits.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(base::StrCat(
      permutes->name(), ": the rows of ", stuck->name,
      " cannot be reached each by itself: index the files with `millrace data index` "
      "(compressed ones cannot be), or use shuffle with a window"));
}

void ShuffleByReading(PassPlan& plan, bool windows) {
  const int place = ShufflePlace(plan, windows);
  if (place < 0) return;
  const ir::Pipeline& shuffle = plan.nodes[place];
  if (!PermutesAll(shuffle)) plan.shuffled_reading = ReadingOf(shuffle, plan);
  plan.nodes.erase(plan.nodes.begin() + place);
  plan.numbers.erase(plan.numbers.begin() + place);
  plan.FindJoin();
}

}  // namespace millrace::exec
