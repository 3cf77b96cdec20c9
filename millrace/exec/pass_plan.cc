#include "millrace/exec/pass_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
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
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/lowered.h"
#include "millrace/exec/merge_source.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/shuffled_reading.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

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

// Draws need identities, and so do rows without fields: a batch of them would not know
// how many it holds.
bool NeedsIds(const ir::Pipeline& node) {
  const auto draws = [](const ir::Argument& argument) {
    const auto* function = argument.value.If<ir::Function>();
    return function != nullptr && (*function)->IsRandom();
  };
  return std::ranges::any_of(node.arguments().all(), draws) ||
         node.spec().fields().empty();
}

bool CanFail(const ir::Pipeline& node) {
  return !node.schema().traits.source && node.schema().can_fail(node.arguments());
}

bool Unstacks(const ir::Pipeline& node) { return node.schema().traits.unstacks; }

// How many repeats the rows of an operator's inputs go through, at most.
int64_t RepeatsBefore(const ir::Pipeline& node) {
  return std::ranges::count_if(node.Nodes(), [&](const ir::Pipeline& before) {
    return before.schema().traits.repeats && before != node;
  });
}

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

// Follows the rows of each lane through the operators, as far as they are known.
void CountLanes(PassPlan& plan) {
  std::vector<int64_t> rows = plan.lanes.lane_rows();
  plan.first_rows.clear();
  const bool ignored = plan.ignored_behind;
  bool known = plan.cut.counted && !MayLeaveOut(plan.nodes, 0, ignored);
  for (int place = 1; place < plan.join; ++place) {
    const ir::Pipeline& node = plan.nodes[place];
    known = known &&
            (node.schema().traits.positional || KeepsCount(plan.nodes, place, ignored));
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

// The rows that ever come to the joining place.
ir::Cardinality AllJoined(const PassPlan& plan) {
  const auto end = static_cast<int>(plan.nodes.size());
  return plan.nodes[std::min(plan.join, end) - 1].cardinality();
}

// Tells whether the rows of the lanes, added up, will once be all.
bool EndsByCount(const PassPlan& plan) {
  return AllJoined(plan).known() &&
         std::ranges::count(plan.joined_rows, lanes::kRowsMax) == 0;
}

// Tells whether all rows that will ever come are in the lanes that are there: what
// stands behind an endless repeat may take so many and no more.
bool GivesAll(const PassPlan& plan) {
  const ir::Cardinality all = AllJoined(plan);
  int64_t rows = 0;
  for (const int64_t lane_rows : plan.joined_rows)
    rows += std::min(lane_rows, lanes::kRowsMax - rows);
  return all.known() && rows >= all.rows() && rows < lanes::kRowsMax;
}

}  // namespace

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

ops::LaneContext PassPlan::ContextOf(int64_t lane, core::Pool& pool) const {
  return {.pool = pool, .seed = seed, .epoch = epoch, .lane = lanes.ContentHash(lane)};
}

int PassPlan::IgnoredBy(int place) const {
  const int behind = IgnoringPlace(nodes, place);
  return behind < 0 ? -1 : numbers[behind];
}

LeftOutRow PassPlan::Ignored(LeftOutRow row) const {
  if (row.by < 0) row.by = IgnoredBy(0);
  return row;
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
  manifest = cut.counted ? std::move(grown) : lanes::WithoutCounts(std::move(grown));
  lanes = TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
  CountLanes(*this);
  return true;
}

absl::Status PassPlan::GrowToEnd() {
  if (growing != nullptr && !EndsByCount(*this)) TRY(growing->GrowToEnd());
  while (TRY(Grow())) {
  }
  return absl::OkStatus();
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

base::Sha256 HashOfAll(const std::vector<base::Sha256>& hashes) {
  if (hashes.size() == 1) return hashes[0];
  base::Sha256Hasher hasher;
  for (const base::Sha256& hash : hashes) hasher.Update(base::ToHex(hash));
  return hasher.Finish();
}

// A part of a pipeline that gives one stream of rows.
struct Branch {
  ir::Pipeline written;
  ir::Pipeline run;
  std::vector<ir::Pipeline> behind;  // As written: what its rows go through afterwards.
  bool ignored_behind = false;       // Errors are, there.
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
    plan.ignored_behind = branch.ignored_behind;
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
    plan.manifest_hash = HashOfAll(hashes);
  }

 private:
  absl::StatusOr<PassPlan> PlanChain(const Branch& branch, uint64_t epoch) {
    const std::vector<ir::Pipeline> written = ChainTo(branch.written);
    std::vector<ir::Pipeline> nodes = ChainTo(branch.run);
    if (nodes[0].schema().traits.branches()) {
      return PlanBehindBranches(
          {written, std::move(nodes), branch.behind, branch.ignored_behind}, epoch);
    }
    TRY(CheckPermutesFirst(written));
    const Listed listed = TRY(ListedOf(nodes[0], written, branch));
    lanes::LaneList lanes = TRY(lanes::LaneList::Cut(
        listed.manifest, listed.cut, ChunkKeyOf(written, options_.seed, epoch)));
    PassPlan plan = Finished({.pipeline = {},
                              .nodes = std::move(nodes),
                              .numbers = {},
                              .source = listed.source,
                              .manifest = listed.manifest,
                              .cut = listed.cut,
                              .lanes = std::move(lanes),
                              .epoch = epoch,
                              .one_lane_reason = listed.one_lane_reason});
    ShuffleByReading(plan, options_.shuffle_reading && !ignores_);
    return plan;
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
    bool ignored_behind = false;
  };

  absl::StatusOr<Listed> ListedOf(const ir::Pipeline& node,
                                  const std::vector<ir::Pipeline>& written,
                                  const Branch& branch) {
    const base::MutexLock lock(&mutex_);
    const auto found = listed_.find(KeyOf(node));
    if (found != listed_.end()) return found->second;
    Listed listed;
    listed.source =
        library_.MakeSource(node, {.pool = pool_,
                                   .seed = options_.seed,
                                   .epoch = options_.epoch,
                                   .with_ids = with_ids_,
                                   .build_indexes = options_.build_indexes,
                                   .row_bytes_max = options_.row_bytes_max});
    listed.manifest = TRY(listed.source->List());
    TRY(CheckCanPermute(written, listed.manifest));
    const std::optional<lanes::CutRecord> recorded = TRY(RecordedCut(node));
    if (!listed.manifest.counted() || (recorded && !recorded->counted)) {
      listed.manifest = lanes::WithoutCounts(std::move(listed.manifest));
    }
    const lanes::CutFacts facts =
        With(CutFactsOf(written, listed.manifest.counted(), branch.ignored_behind),
             branch.behind);
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
    TRY(CheckPermutesFirst(chains.written));
    std::shared_ptr<BranchSource> branches;
    std::shared_ptr<NestedSource> source;
    if (traits.merges) {
      source = TRY(MakeMerge(chains, epoch));
    } else {
      source = branches = TRY(MakeBranches(chains, epoch));
    }
    lanes::Manifest manifest = TRY(source->List());
    std::string one_lane =
        CutFactsOf(chains.written, manifest.counted(), chains.ignored_behind)
            .one_lane_reason;
    const lanes::CutRecord cut = CutOfBranches(!one_lane.empty(), manifest);
    if (traits.merges && one_lane.empty()) {
      one_lane =
          base::StrCat(head.name(), " counts the rows of its inputs from the start");
    }
    if (branches != nullptr && cut.lane_rows > 1) TRY(branches->GrowToEnd());
    if (branches != nullptr) manifest = branches->manifest();
    if (!cut.counted) manifest = lanes::WithoutCounts(std::move(manifest));
    lanes::LaneList lanes =
        TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
    return Finished({.pipeline = {},
                     .nodes = std::move(chains.run),
                     .numbers = {},
                     .source = source,
                     .nested = source,
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
    const bool ignored =
        chains.ignored_behind || std::ranges::any_of(chains.written, IgnoresErrors);
    std::vector<Branch> branches;
    const ir::Pipeline& written = chains.written[0];
    for (size_t i = 0; i < written.inputs().size(); ++i) {
      branches.push_back(
          {written.inputs()[i], chains.run[0].inputs()[i], behind, ignored});
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
    const int64_t before = RepeatsBefore(head);
    const auto plan_turn = [planner = shared_from_this(), inputs = std::move(inputs),
                            repeats, before, epoch](int64_t turn) {
      if (!repeats) return planner->Plan(inputs[turn], epoch);
      return planner->Plan(inputs[0], EpochOfTurn(epoch, KeyOfTurn(turn, before)));
    };
    return std::make_shared<BranchSource>(BranchOptions{.name = head.name(),
                                                        .turns = turns,
                                                        .repeats = repeats,
                                                        .repeats_before = before},
                                          plan_turn);
  }

  absl::StatusOr<std::shared_ptr<NestedSource>> MakeMerge(const Chains& chains,
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
    plan.pipeline = nodes_;
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
  const bool ignores_;  // Errors are, somewhere.
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
      TRY(planner->Plan({lowered.before, lowered.after, {}}, options.epoch));
  planner->Record(plan);
  plan.order = options.order;
  return plan;
}

}  // namespace millrace::exec
