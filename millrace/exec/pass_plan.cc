#include "millrace/exec/pass_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/branch_source.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/merge_source.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

// An absurd product of sizes stays absurd; cutting refuses it by name.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return b > 0 && a > kMost / b ? kMost : a * b;
}

// The operators from the nearest one that rows come from, a source or what makes one
// stream of several, to the last.
std::vector<ir::Pipeline> ChainTo(const ir::Pipeline& last) {
  std::vector<ir::Pipeline> nodes = {last};
  while (!nodes.back().inputs().empty() && !nodes.back().schema().traits.branches()) {
    nodes.push_back(nodes.back().inputs()[0]);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

int LastBatching(const std::vector<ir::Pipeline>& nodes) {
  for (int i = static_cast<int>(nodes.size()) - 1; i >= 0; --i) {
    if (nodes[i].schema().traits.batching) return i;
  }
  return -1;
}

bool IsRowWise(const ir::Pipeline& node) { return node.schema().traits.row_wise; }

// Lanes are joined by the last batching operator. Where operators behind it look at
// more than one batch there is only one lane, and what comes out is counted.
int JoinPlace(const std::vector<ir::Pipeline>& nodes, int last_batching) {
  const auto end = static_cast<int>(nodes.size());
  if (last_batching < 0) return end;
  const bool ends_row_wise =
      std::all_of(nodes.begin() + last_batching + 1, nodes.end(), IsRowWise);
  return ends_row_wise ? last_batching : end;
}

// Whether as many rows come out as go in.
bool KeepsCount(const std::vector<ir::Pipeline>& nodes, int place) {
  const ir::OperatorTraits& traits = nodes[place].schema().traits;
  return !traits.changes_cardinality && !traits.batching && !MayLeaveOut(nodes, place);
}

// "take (%2)", as the text form and errors have it.
std::string NameAt(const std::vector<ir::Pipeline>& nodes, int place) {
  const auto number = std::ssize(nodes[place].Nodes()) - 1;
  return base::StrCat(nodes[place].name(), " (%", number, ")");
}

// Why a positional operator does not know its rows' places: because of an earlier one
// that does not say how many rows it gives.
std::string PlacesNotKnown(const std::vector<ir::Pipeline>& nodes, int place,
                           int uncounted) {
  const std::string why =
      uncounted == 0
          ? " does not know its rows before it reads them; count them once with "
            "`millrace data index`"
          : base::StrCat(" in front of it changes how many there are; put ",
                         nodes[place].name(), " in front of ", nodes[uncounted].name(),
                         ", where that serves");
  return base::StrCat(NameAt(nodes, place), " goes by a row's place in the pass, and ",
                      NameAt(nodes, uncounted), why);
}

// Why an operator looks at more rows than those of one lane, and what to do about it;
// empty when none does. `counted`: the source knows its rows.
std::string LooksAcrossLanes(const std::vector<ir::Pipeline>& nodes, bool counted) {
  constexpr int kNone = -1;
  int uncounted = counted ? kNone : 0;  // The first place that rows are not known of.
  for (int place = 1; place < static_cast<int>(nodes.size()); ++place) {
    const ir::OperatorTraits& traits = nodes[place].schema().traits;
    if (traits.across_lanes) {
      return base::StrCat(NameAt(nodes, place), " looks at the rows of all lanes");
    }
    if (traits.positional && uncounted != kNone) {
      return PlacesNotKnown(nodes, place, uncounted);
    }
    const bool keeps_known = traits.positional || KeepsCount(nodes, place);
    if (uncounted == kNone && !keeps_known) uncounted = place;
  }
  return "";
}

// The same for operators behind the last batching one, where lanes are already joined.
std::string MixesBatches(const std::vector<ir::Pipeline>& nodes) {
  const int batching = LastBatching(nodes);
  if (batching < 0 || JoinPlace(nodes, batching) == batching) return "";
  const auto mixes =
      std::find_if_not(nodes.begin() + batching + 1, nodes.end(), IsRowWise);
  return base::StrCat(NameAt(nodes, static_cast<int>(mixes - nodes.begin())),
                      " looks at more than one batch of ", NameAt(nodes, batching),
                      "; put it in front of that, where that serves");
}

std::string OneLaneReason(const std::vector<ir::Pipeline>& nodes, bool counted) {
  std::string reason = LooksAcrossLanes(nodes, counted);
  return reason.empty() ? MixesBatches(nodes) : reason;
}

// Draws need identities, and so do rows without fields: a batch of them would not know
// how many it holds.
bool NeedsIds(const ir::Pipeline& node) {
  const bool draws =
      node.schema().traits.row_wise && node.schema().is_random(node.arguments());
  return draws || node.spec().fields().empty();
}

bool CanFail(const ir::Pipeline& node) {
  return !node.schema().traits.source && node.schema().can_fail(node.arguments());
}

bool Unstacks(const ir::Pipeline& node) { return node.schema().traits.unstacks; }

bool PermutesAll(const ir::Pipeline& node) { return node.schema().traits.permutes_all; }

bool IgnoresErrors(const ir::Pipeline& node) {
  return node.schema().traits.ignores_errors;
}

// Errors name the row by its identity. Not worth it where batches are taken apart: a
// map may have left other rows in them than there are identities.
bool WantsIdsForErrors(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(nodes, CanFail) && std::ranges::none_of(nodes, Unstacks);
}

bool WantsIds(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(nodes, NeedsIds) || WantsIdsForErrors(nodes);
}

// Puts the operators that others are run as in their place.
absl::StatusOr<ir::Pipeline> Lowered(const ir::Pipeline& pipeline,
                                     const ops::Library& library) {
  const ir::Catalog& catalog = library.catalog();
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    const std::vector<ops::Step> steps = library.StepsOf(node);
    if (steps.empty()) return rewrite::WithInputs(node, inputs, catalog);
    ir::Pipeline made = inputs[0];
    for (const ops::Step& step : steps) {
      made = TRY(ir::Pipeline::Make(catalog, step.name, step.arguments, {made}));
    }
    return made;
  };
  return rewrite::RebuildAll(pipeline, rebuild);
}

// Follows the rows of each lane through the operators, as far as they are known.
void CountLanes(PassPlan& plan) {
  std::vector<int64_t> rows = plan.lanes.lane_rows();
  plan.first_rows.clear();
  bool known = plan.cut.counted && !MayLeaveOut(plan.nodes, 0) && !plan.ignored_behind;
  for (int place = 1; place < plan.join; ++place) {
    const ir::Pipeline& node = plan.nodes[place];
    known = known && (node.schema().traits.positional || KeepsCount(plan.nodes, place));
    if (!known || !node.schema().traits.positional) continue;
    std::vector<int64_t>& first = plan.first_rows[place];
    int64_t before = 0;
    for (int64_t& lane_rows : rows) {
      first.push_back(before);
      before += lane_rows;
      lane_rows = node.schema().count_of_run(node.arguments(), first.back(), lane_rows);
    }
  }
  if (!known) rows.assign(rows.size(), lanes::kRowsMax);
  plan.joined_rows = std::move(rows);
}

// Tells whether all rows that will ever come are in the lanes that are there: what
// stands behind an endless repeat may take so many and no more.
bool GivesAll(const PassPlan& plan) {
  const auto end = static_cast<int>(plan.nodes.size());
  const ir::Cardinality all = plan.nodes[std::min(plan.join, end) - 1].cardinality();
  int64_t rows = 0;
  for (const int64_t lane_rows : plan.joined_rows)
    rows += std::min(lane_rows, lanes::kRowsMax - rows);
  return all.known() && rows >= all.rows() && rows < lanes::kRowsMax;
}

}  // namespace

int64_t BatchSizeOf(const ir::Pipeline& node) {
  for (const ir::ArgumentSchema& argument : node.schema().arguments) {
    if (argument.is_batch_size) return node.arguments()[argument.name].As<int64_t>();
  }
  return 1;
}

ops::LaneContext PassPlan::ContextAt(int place, int64_t lane,
                                     const ops::LaneContext& all,
                                     ops::BadRows& bad_rows) const {
  ops::LaneContext context = {.pool = all.pool,
                              .seed = all.seed,
                              .epoch = all.epoch,
                              .lane = all.lane,
                              .call_number = all.call_number,
                              .first_row = all.first_row,
                              .bad_rows = bad_rows};
  const auto found = first_rows.find(place);
  if (found != first_rows.end()) context.first_row = found->second[lane];
  return context;
}

lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes, bool counted) {
  lanes::CutFacts facts;
  int64_t rows_per_row = 1;  // Rows of the source in a row at this place.
  for (int place = 0; place < static_cast<int>(nodes.size()); ++place) {
    const ir::Pipeline& node = nodes[place];
    const ir::OperatorTraits& traits = node.schema().traits;
    if (traits.batching) {
      rows_per_row = Times(rows_per_row, BatchSizeOf(node));
      facts.batch_rows = rows_per_row;
    } else if (traits.changes_cardinality || MayLeaveOut(nodes, place)) {
      facts.counts_change = true;
    }
    facts.permuted = facts.permuted || traits.permutes_all;
    if (traits.reorders && !traits.permutes_all) {
      const int64_t window = node.arguments()["window"].As<int64_t>();
      facts.shuffled = true;
      facts.shuffle_window =
          std::max(facts.shuffle_window, Times(window, rows_per_row));
    }
  }
  facts.one_lane_reason = OneLaneReason(nodes, counted);
  return facts;
}

ops::LaneContext PassPlan::ContextOf(int64_t lane, core::Pool& pool) const {
  return {.pool = pool, .seed = seed, .epoch = epoch, .lane = lanes.ContentHash(lane)};
}

std::string PassPlan::NameOf(int place) const {
  return base::StrCat(nodes[place].name(), " (%", numbers[place], ")");
}

absl::StatusOr<bool> PassPlan::Grow() {
  if (growing == nullptr) return false;
  if (!GivesAll(*this)) TRY(growing->Grow());
  lanes::Manifest grown = growing->manifest();
  if (GivesAll(*this) || grown.splits.size() == manifest.splits.size()) {
    growing = nullptr;
    return false;
  }
  manifest = std::move(grown);
  lanes = TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
  CountLanes(*this);
  return true;
}

base::RandomKey ChunkKeyOf(const std::vector<ir::Pipeline>& nodes, uint64_t seed,
                           uint64_t epoch) {
  for (const ir::Pipeline& node : nodes) {
    if (!node.schema().traits.reorders) continue;
    const ir::Value& own = node.arguments()["seed"];
    return {own.is_none() ? seed : static_cast<uint64_t>(own.As<int64_t>()), epoch,
            static_cast<uint64_t>(node.call_number())};
  }
  return {seed, epoch, 0};
}

namespace {

// A part of a pipeline that gives one stream of rows.
struct Branch {
  ir::Pipeline written;
  ir::Pipeline run;
  std::vector<ir::Pipeline> behind;  // As written: what its rows go through afterwards.
  bool is_whole = false;             // It is all of the pipeline.
};

// Plans a pipeline from its end to its sources. Each source is listed and its cut
// decided once, however often it is planned. Thread-safe: turns of a repeat are planned
// while the pass runs.
class Planner : public std::enable_shared_from_this<Planner> {
 public:
  Planner(const rewrite::Rewritten& pipeline, const ops::Library& library,
          const PassOptions& options, core::Pool& pool)
      : nodes_(pipeline.after.Nodes()),
        library_(library),
        options_(options),
        pool_(pool),
        with_ids_(options.with_ids || WantsIds(pipeline.before.Nodes())),
        ignores_(std::ranges::any_of(nodes_, IgnoresErrors)) {}

  absl::StatusOr<PassPlan> Plan(const Branch& branch, uint64_t epoch) {
    PassPlan plan = TRY(PlanChain(branch, epoch));
    plan.ignored_behind = ignores_ && !branch.is_whole;
    if (plan.ignored_behind) TRY(CheckIgnoresNothing(plan));
    CountLanes(plan);
    return plan;
  }

  // What is known of the sources, in the order of the text form.
  void Record(PassPlan& plan) const {
    const base::MutexLock lock(&mutex_);
    std::vector<base::Sha256> hashes;
    for (const ir::Pipeline& node : nodes_) {
      if (!node.schema().traits.source) continue;
      const auto found = listed_.find(KeyOf(node));
      const bool is_read = found != listed_.end();  // Not by repeat(count=0).
      plan.cuts.push_back(is_read ? found->second.cut : lanes::CutRecord());
      hashes.push_back(is_read ? lanes::ContentHash(found->second.manifest)
                               : base::Sha256());
    }
    base::Sha256Hasher hasher;
    for (const base::Sha256& hash : hashes) hasher.Update(base::ToHex(hash));
    plan.manifest_hash = hashes.size() == 1 ? hashes[0] : hasher.Finish();
  }

 private:
  absl::StatusOr<PassPlan> PlanChain(const Branch& branch, uint64_t epoch) {
    const std::vector<ir::Pipeline> written = ChainTo(branch.written);
    std::vector<ir::Pipeline> nodes = ChainTo(branch.run);
    if (nodes[0].schema().traits.branches()) {
      return PlanBehindBranches({written, std::move(nodes), branch.behind}, epoch);
    }
    TRY(CheckPermutesFirst(written));
    const Listed listed = TRY(ListedOf(nodes[0], written, branch.behind));
    lanes::LaneList lanes = TRY(lanes::LaneList::Cut(
        listed.manifest, listed.cut, ChunkKeyOf(written, options_.seed, epoch)));
    PassPlan plan = Finished({.nodes = std::move(nodes),
                              .numbers = {},
                              .source = listed.source,
                              .manifest = listed.manifest,
                              .cut = listed.cut,
                              .lanes = std::move(lanes),
                              .epoch = epoch,
                              .one_lane_reason = listed.one_lane_reason});
    ShuffleByReading(plan);
    return plan;
  }

  // Only row-wise operators can as well come after such a shuffle.
  static absl::Status CheckPermutesFirst(const std::vector<ir::Pipeline>& nodes) {
    const auto permutes = std::ranges::find_if(nodes, PermutesAll);
    if (permutes == nodes.end()) return absl::OkStatus();
    const auto before = std::find_if_not(nodes.begin() + 1, permutes, IsRowWise);
    if (before == permutes) return absl::OkStatus();
    return absl::UnimplementedError(base::StrCat(
        permutes->name(), " cannot stand behind ", before->name(),
        ": it decides in which order rows are read; put it in front of that"));
  }

  // Takes shuffles that are done by reading out of the operators.
  void ShuffleByReading(PassPlan& plan) const {
    const int place = ShufflePlace(plan);
    if (place < 0) return;
    const ir::Pipeline& shuffle = plan.nodes[place];
    if (!PermutesAll(shuffle)) {
      const ir::Value& own = shuffle.arguments()["seed"];
      plan.shuffled_reading = {
          .window = shuffle.arguments()["window"].As<int64_t>(),
          .seed = own.is_none() ? plan.seed : static_cast<uint64_t>(own.As<int64_t>()),
          .call_number = shuffle.call_number()};
    }
    plan.nodes.erase(plan.nodes.begin() + place);
    plan.numbers.erase(plan.numbers.begin() + place);
    plan.last_batching = LastBatching(plan.nodes);
    plan.join = JoinPlace(plan.nodes, plan.last_batching);
  }

  // The place of a shuffle that can be done by reading; -1 where there is none. Rows
  // that are not worth a read of their own are better shuffled in memory.
  int ShufflePlace(const PassPlan& plan) const {
    constexpr int64_t kRowBytesLeast = 4096;
    const auto end = static_cast<int>(plan.nodes.size());
    for (int place = 1; place < end; ++place) {
      const ir::Pipeline& node = plan.nodes[place];
      if (PermutesAll(node)) return place;
      if (node.schema().traits.reorders) {
        const bool worth = options_.shuffle_reading && !ignores_ &&
                           lanes::AllSeekable(plan.manifest) &&
                           plan.manifest.total_bytes().count() >=
                               kRowBytesLeast * plan.manifest.total_rows();
        return worth && plan.manifest.total_rows() > 0 ? place : -1;
      }
      // What a global shuffle may stand behind is checked before.
      if (!GivesOneRowPerRow(plan.nodes, place) && !plan.cut.permuted) return -1;
    }
    return -1;
  }

  // Budgets are counted for the whole pass, so the operator must see all of it.
  static absl::Status CheckIgnoresNothing(const PassPlan& plan) {
    for (size_t place = 0; place < plan.nodes.size(); ++place) {
      if (!IgnoresErrors(plan.nodes[place])) continue;
      return absl::UnimplementedError(base::StrCat(
          plan.NameOf(static_cast<int>(place)),
          " cannot stand before repeat, concat, zip or mix; put it behind them"));
    }
    return absl::OkStatus();
  }

  // Sources that read the same are still two: their rows are told apart.
  using SourceKey = std::pair<base::Sha256, int64_t>;

  static SourceKey KeyOf(const ir::Pipeline& source) {
    return {source.fingerprint(), source.call_number()};
  }

  // A source and how it is cut.
  struct Listed {
    std::shared_ptr<ops::Source> source;
    lanes::Manifest manifest;
    lanes::CutRecord cut;
    std::string one_lane_reason;
  };

  // Two chains with the same head, as written and as run.
  struct Chains {
    std::vector<ir::Pipeline> written;
    std::vector<ir::Pipeline> run;
    std::vector<ir::Pipeline> behind;
  };

  absl::StatusOr<Listed> ListedOf(const ir::Pipeline& node,
                                  const std::vector<ir::Pipeline>& written,
                                  const std::vector<ir::Pipeline>& behind) {
    const base::MutexLock lock(&mutex_);
    const auto found = listed_.find(KeyOf(node));
    if (found != listed_.end()) return found->second;
    Listed listed;
    listed.source = library_.MakeSource(node, {.pool = pool_,
                                               .seed = options_.seed,
                                               .epoch = options_.epoch,
                                               .with_ids = with_ids_});
    listed.manifest = TRY(listed.source->List());
    const std::optional<lanes::CutRecord> recorded = TRY(RecordedCut(node));
    if (!listed.manifest.counted() || (recorded && !recorded->counted)) {
      listed.manifest = lanes::WithoutCounts(std::move(listed.manifest));
    }
    const lanes::CutFacts facts =
        With(CutFactsOf(written, listed.manifest.counted()), behind);
    listed.cut = recorded ? *recorded : TRY(lanes::DecideCut(listed.manifest, facts));
    listed.one_lane_reason = facts.one_lane_reason;
    return listed_.emplace(KeyOf(node), std::move(listed)).first->second;
  }

  // How the state to go on from says that a source was cut.
  absl::StatusOr<std::optional<lanes::CutRecord>> RecordedCut(
      const ir::Pipeline& source) const {
    if (options_.cuts.empty()) return std::nullopt;
    size_t number = 0;
    for (const ir::Pipeline& node : nodes_) {
      if (KeyOf(node) == KeyOf(source)) break;
      if (node.schema().traits.source) ++number;
    }
    if (number < options_.cuts.size()) return options_.cuts[number];
    return absl::InvalidArgumentError(
        base::StrCat("the state has ", options_.cuts.size(),
                     " sources, the pipeline has more: it is another pipeline's"));
  }

  // Lanes are cut for what stands behind a repeat or concat as well.
  static lanes::CutFacts With(lanes::CutFacts facts,
                              const std::vector<ir::Pipeline>& behind) {
    if (behind.empty()) return facts;
    const lanes::CutFacts more = CutFactsOf(behind, false);
    facts.batch_rows = std::max(facts.batch_rows, more.batch_rows);
    facts.shuffle_window = std::max(facts.shuffle_window, more.shuffle_window);
    facts.counts_change = facts.counts_change || more.counts_change;
    return facts;
  }

  absl::StatusOr<PassPlan> PlanBehindBranches(Chains chains, uint64_t epoch) {
    const ir::Pipeline head = chains.run[0];
    const ir::OperatorTraits& traits = head.schema().traits;
    if (std::ranges::any_of(chains.written, PermutesAll)) {
      return absl::UnimplementedError(base::StrCat(
          "global_shuffle cannot stand behind ", head.name(),
          ": it decides in which order rows are read; put it in front of that"));
    }
    std::shared_ptr<BranchSource> branches;
    std::shared_ptr<ops::Source> source;
    if (traits.merges) {
      source = TRY(MakeMerge(chains, epoch));
    } else {
      source = branches = TRY(MakeBranches(chains, epoch));
    }
    lanes::Manifest manifest = TRY(source->List());
    if (!manifest.counted()) manifest = lanes::WithoutCounts(std::move(manifest));
    std::string one_lane =
        CutFactsOf(chains.written, manifest.counted()).one_lane_reason;
    const lanes::CutRecord cut = CutOfBranches(!one_lane.empty(), manifest);
    if (traits.merges && one_lane.empty()) {
      one_lane =
          base::StrCat(head.name(), " counts the rows of its inputs from the start");
    }
    if (branches != nullptr && cut.lane_rows > 1) TRY(branches->GrowToEnd());
    if (branches != nullptr) manifest = branches->manifest();
    lanes::LaneList lanes =
        TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
    return Finished({.nodes = std::move(chains.run),
                     .numbers = {},
                     .source = std::move(source),
                     .manifest = std::move(manifest),
                     .cut = cut,
                     .lanes = std::move(lanes),
                     .epoch = epoch,
                     .one_lane_reason = std::move(one_lane),
                     .growing = traits.repeats ? branches : nullptr});
  }

  // A lane of the input is a lane, or all of them are one. They stay in their order: a
  // shuffle behind mixes its window.
  static lanes::CutRecord CutOfBranches(bool one_lane,
                                        const lanes::Manifest& manifest) {
    return {.counted = manifest.counted(),
            .lane_rows = one_lane ? lanes::kRowsMax : 1,
            .lane_bytes = one_lane ? lanes::kSourceBytesMax : base::Bytes(1)};
  }

  std::vector<Branch> BranchesOf(const Chains& chains, bool with_behind) const {
    std::vector<ir::Pipeline> behind;
    if (with_behind) {
      behind.assign(chains.written.begin() + 1, chains.written.end());
      behind.insert(behind.end(), chains.behind.begin(), chains.behind.end());
    }
    std::vector<Branch> branches;
    const ir::Pipeline& written = chains.written[0];
    for (size_t i = 0; i < written.inputs().size(); ++i) {
      branches.push_back({written.inputs()[i], chains.run[0].inputs()[i], behind});
    }
    return branches;
  }

  absl::StatusOr<std::shared_ptr<BranchSource>> MakeBranches(const Chains& chains,
                                                             uint64_t epoch) {
    const ir::Pipeline& head = chains.run[0];
    std::vector<Branch> inputs = BranchesOf(chains, true);
    const bool repeats = head.schema().traits.repeats;
    std::optional<int64_t> turns = std::ssize(inputs);
    if (repeats) {
      const ir::Value& count = head.arguments()["count"];
      turns = count.is_none() ? std::nullopt : std::optional(count.As<int64_t>());
    }
    const auto plan_turn = [planner = shared_from_this(), inputs = std::move(inputs),
                            repeats, epoch](int64_t turn) {
      const Branch& input = inputs[repeats ? 0 : turn];
      return planner->Plan(input, repeats ? EpochOfTurn(epoch, turn) : epoch);
    };
    return std::make_shared<BranchSource>(
        BranchOptions{.name = head.name(), .turns = turns, .repeats = repeats},
        plan_turn, library_, pool_);
  }

  absl::StatusOr<std::shared_ptr<ops::Source>> MakeMerge(const Chains& chains,
                                                         uint64_t epoch) {
    std::vector<PassPlan> inputs;
    for (const Branch& input : BranchesOf(chains, false)) {
      inputs.push_back(TRY(Plan(input, epoch)));
    }
    return std::make_shared<MergeSource>(chains.run[0], std::move(inputs), library_,
                                         pool_);
  }

  PassPlan Finished(PassPlan plan) const {
    for (const ir::Pipeline& node : plan.nodes) {
      const auto place = std::ranges::find(nodes_, node);
      plan.numbers.push_back(static_cast<int>(place - nodes_.begin()));
    }
    plan.seed = options_.seed;
    plan.with_ids = with_ids_;
    plan.last_batching = LastBatching(plan.nodes);
    plan.join = JoinPlace(plan.nodes, plan.last_batching);
    return plan;
  }

  const std::vector<ir::Pipeline> nodes_;  // Of the whole pipeline, as run.
  const ops::Library& library_;
  const PassOptions options_;
  core::Pool& pool_;
  const bool with_ids_;
  const bool ignores_;  // Errors are, behind the last branching.
  mutable base::Mutex mutex_;
  std::map<SourceKey, Listed> listed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<PassPlan> PlanPass(const rewrite::Rewritten& pipeline,
                                  const ops::Library& library,
                                  const PassOptions& options, core::Pool& pool) {
  const rewrite::Rewritten lowered = {.before = TRY(Lowered(pipeline.before, library)),
                                      .after = TRY(Lowered(pipeline.after, library)),
                                      .steps = {}};
  const auto planner = std::make_shared<Planner>(lowered, library, options, pool);
  PassPlan plan =
      TRY(planner->Plan({lowered.before, lowered.after, {}, true}, options.epoch));
  planner->Record(plan);
  return plan;
}

}  // namespace millrace::exec
