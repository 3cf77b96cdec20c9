// How a pipeline becomes a plan: from its end to its sources, and what stands before a
// repeat, a merge or a cache each as a plan of its own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "millrace/exec/cache_source.h"
#include "millrace/exec/caches.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/denied.h"
#include "millrace/exec/lowered.h"
#include "millrace/exec/merge_source.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_origins.h"
#include "millrace/exec/shuffled_reading.h"
#include "millrace/exec/wanted_ids.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/ops/recalled.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

// How many repeats the rows of an operator's inputs go through, at most.
int64_t RepeatsBefore(const ir::Pipeline& node) {
  return std::ranges::count_if(node.Nodes(), [&](const ir::Pipeline& before) {
    return before.schema().traits.repeats && before != node;
  });
}

bool IgnoresErrors(const ir::Pipeline& node) {
  return node.schema().traits.ignores_errors;
}

// The epoch of what stands before a cache, in every pass.
constexpr uint64_t kCachedEpoch = 0;

// How far back errors can say of which rows one was made: a few megabytes.
constexpr size_t kNotedRowsMax = size_t{1} << 16;

// A part of a pipeline that gives one stream of rows.
struct Branch {
  ir::Pipeline written;
  ir::Pipeline run;
  std::vector<ir::Pipeline> behind;  // As written: what its rows go through afterwards.
  bool ignored_behind = false;       // Errors are, there.
  bool cached = false;               // A cache is among what stands behind it ...
  bool by_chunk = false;  // ... or right behind: lanes are chunks, if can be.
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
        with_ids_(options.with_ids || options.origins != nullptr ||
                  WantsIds(pipeline.before.Nodes())),
        notes_(with_ids_ && MayFail(nodes_)),
        sources_(options.origins != nullptr
                     ? options.origins
                     : std::make_shared<RowOrigins>(kNotedRowsMax)),
        ignores_(std::ranges::any_of(nodes_, IgnoresErrors)) {
    FindUses(nodes_.back(), false);
  }

  absl::StatusOr<PassPlan> Plan(const Branch& branch, uint64_t epoch) {
    PassPlan plan = TRY(PlanChain(branch, epoch));
    plan.ignored_behind = branch.ignored_behind;
    plan.CountRows();
    return plan;
  }

  // What is known of the sources, in the order of the text form.
  void Record(PassPlan& plan) const {
    const base::MutexLock lock(&mutex_);
    for (const ir::Pipeline& node : nodes_) {
      for (const SourceKey& key : KeysOf(node)) {
        const auto found = listed_.find(key);
        const bool is_read = found != listed_.end();  // Not by repeat(count=0).
        plan.cuts.push_back(is_read ? found->second.cut : lanes::CutRecord());
        plan.listing.push_back(is_read ? std::optional(found->second.manifest)
                                       : std::nullopt);
      }
    }
    plan.manifest_hash = lanes::ContentHash(plan.listing);
  }

 private:
  absl::StatusOr<PassPlan> PlanChain(const Branch& branch, uint64_t epoch) {
    const std::vector<ir::Pipeline> written = ChainTo(branch.written);
    std::vector<ir::Pipeline> nodes = ChainTo(branch.run);
    const Chains chains = {written, nodes, branch.behind, branch.ignored_behind,
                           branch.cached};
    const ir::OperatorTraits& traits = nodes[0].schema().traits;
    if (traits.branches() && !traits.caches) return PlanBehindBranches(chains, epoch);
    TRY(CheckPermutesFirst(written));
    const Listed listed = TRY(ListedOf(chains, branch.by_chunk));
    lanes::LaneList lanes = TRY(lanes::LaneList::Cut(
        listed.manifest, listed.cut, ChunkKeyOf(written, options_.seed, epoch)));
    TRY(CheckOneLane(listed.one_lane_reason, lanes));
    PassPlan plan = Finished({.pipeline = {},
                              .nodes = std::move(nodes),
                              .numbers = {},
                              .source = listed.source,
                              .nested = listed.cache,
                              .manifest = listed.manifest,
                              .cut = listed.cut,
                              .lanes = std::move(lanes),
                              .epoch = epoch,
                              .one_lane_reason = listed.one_lane_reason});
    ShuffleByReading(plan, options_.shuffle_reading && !ignores_);
    return plan;
  }

  // Sources that read the same are still two: their rows are told apart. So is one that
  // is read both before a cache and not.
  struct SourceKey {
    base::Sha256 fingerprint;
    int64_t call_number = 0;
    bool cached = false;

    friend auto operator<=>(const SourceKey&, const SourceKey&) = default;
  };

  static SourceKey KeyOf(const ir::Pipeline& source, bool cached) {
    return {source.fingerprint(), source.call_number(), cached};
  }

  // The ways in which a node's rows are listed and cut; none of most.
  std::vector<SourceKey> KeysOf(const ir::Pipeline& node) const {
    std::vector<SourceKey> keys;
    const ir::OperatorTraits& traits = node.schema().traits;
    if (!traits.source && !traits.caches) return keys;
    for (const bool cached : {false, true}) {
      const SourceKey key = KeyOf(node, cached);
      if (uses_.contains(key)) keys.push_back(key);
    }
    return keys;
  }

  // Follows the nodes from the last to the sources. Nodes are seen by number: two that
  // do the same may still stand behind different sources.
  void FindUses(const ir::Pipeline& node, bool cached) {
    if (!seen_.emplace(NumberOf(node), cached).second) return;
    uses_.insert(KeyOf(node, cached));
    for (const ir::Pipeline& input : node.inputs()) {
      FindUses(input, cached || node.schema().traits.caches);
    }
  }

  // A source and how it is cut.
  struct Listed {
    std::shared_ptr<ops::Source> source;
    std::shared_ptr<CacheSource> cache = {};  // The same, where it is one.
    std::weak_ptr<CacheSource> known_cache = {};
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
    bool cached = false;
  };

  std::optional<Listed> Known(const SourceKey& key) const {
    const base::MutexLock lock(&mutex_);
    return Find(key);
  }

  std::optional<Listed> Find(const SourceKey& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = listed_.find(key);
    if (found == listed_.end()) return std::nullopt;
    Listed known = found->second;
    if (known.source != nullptr) return known;
    known.source = known.cache = known.known_cache.lock();
    return known.cache == nullptr ? std::nullopt : std::optional(std::move(known));
  }

  // What stands before a cache may plan more turns, and so keep the planner: that keeps
  // no cache. Who was quicker has listed it.
  Listed Remember(const SourceKey& key, const Listed& listed) {
    const base::MutexLock lock(&mutex_);
    if (std::optional<Listed> known = Find(key)) return *std::move(known);
    Listed& known = listed_[key] = listed;
    known.known_cache = listed.cache;
    if (listed.cache != nullptr) known.source = known.cache = nullptr;
    return listed;
  }

  absl::StatusOr<Listed> ListedOf(const Chains& chains, bool by_chunk) {
    const ir::Pipeline& node = chains.run[0];
    const SourceKey key = KeyOf(node, chains.cached);
    if (std::optional<Listed> known = Known(key)) return *std::move(known);
    Listed listed;
    if (node.schema().traits.caches) listed.cache = TRY(MakeCache(chains));
    listed.source = listed.cache;
    if (listed.source == nullptr) listed.source = MakeSource(node, chains.cached);
    listed.manifest = TRY(NamedIfDenied(ManifestOf(*listed.source, key), node));
    if (listed.cache == nullptr)
      sources_->AddSource(node.call_number(), listed.source, listed.manifest);
    TRY(CheckCanPermute(chains.written, listed.manifest));
    const std::optional<lanes::CutRecord> recorded = TRY(RecordedCut(key));
    const bool counted = listed.manifest.counted() && (!recorded || recorded->counted);
    if (!counted) listed.manifest = lanes::WithoutCounts(std::move(listed.manifest));
    const auto facts = FactsOf(chains, counted, lanes::AllSeekable(listed.manifest));
    if (recorded) {
      listed.cut = *recorded;
    } else if (by_chunk && AreRowWise(chains.written)) {
      listed.cut = lanes::CutByChunk(listed.manifest);
    } else {
      listed.cut = TRY(lanes::DecideCut(listed.manifest, facts));
    }
    listed.one_lane_reason = facts.one_lane_reason;
    return Remember(key, listed);
  }

  std::unique_ptr<ops::Source> MakeSource(const ir::Pipeline& node, bool cached) const {
    return library_.MakeSource(node, {.pool = pool_,
                                      .seed = options_.seed,
                                      .epoch = cached ? kCachedEpoch : options_.epoch,
                                      .with_ids = with_ids_,
                                      .build_indexes = options_.build_indexes,
                                      .row_bytes_max = options_.row_bytes_max,
                                      .cancelled = options_.cancelled.get()});
  }

  absl::StatusOr<std::shared_ptr<CacheSource>> MakeCache(const Chains& chains) {
    Branch before = BranchesOf(chains, false)[0];
    before.cached = before.by_chunk = true;
    auto computed = std::make_shared<PassPlan>(TRY(Plan(before, kCachedEpoch)));
    TRY(computed->GrowToEnd());
    const ir::Pipeline& head = chains.run[0];
    const std::string name = base::StrCat(head.name(), " (%", NumberOf(head), ")");
    auto cache = std::make_shared<CacheSource>(name, std::move(computed), pool_);
    if (options_.caches == nullptr || options_.origins != nullptr) return cache;
    const base::Sha256 computation =
        ComputationOf(before.written, options_.seed, with_ids_);
    const ir::Value& path = head.arguments()["path"];
    auto entries = options_.caches->EntriesAt(
        path.is_none() ? std::nullopt : std::optional(path.As<std::string>()),
        computation);
    if (!entries.ok()) return base::Annotate(entries.status(), name);
    TRY(cache->KeepAt(*std::move(entries), computation,
                      [&](std::shared_ptr<ops::Source> kept, lanes::Manifest manifest) {
                        return PlanKept(head, std::move(kept), std::move(manifest));
                      }));
    return cache;
  }

  // A lane for each split, however many rows it has.
  absl::StatusOr<PassPlan> PlanKept(const ir::Pipeline& cache,
                                    std::shared_ptr<ops::Source> kept,
                                    lanes::Manifest manifest) const {
    manifest = lanes::WithoutCounts(std::move(manifest));
    const lanes::CutRecord cut = lanes::CutByChunk(manifest);
    lanes::LaneList lanes =
        TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
    PassPlan plan = Finished({.pipeline = {},
                              .nodes = {cache},
                              .numbers = {},
                              .source = std::move(kept),
                              .manifest = std::move(manifest),
                              .cut = cut,
                              .lanes = std::move(lanes)});
    plan.CountRows();
    return plan;
  }

  // The number of a source in the order of the text form.
  size_t PlaceOf(const SourceKey& source) const {
    size_t number = 0;
    for (const ir::Pipeline& node : nodes_) {
      const std::vector<SourceKey> keys = KeysOf(node);
      const auto found = std::ranges::find(keys, source);
      number += found - keys.begin();
      if (found != keys.end()) break;
    }
    return number;
  }

  // What a source has: as it was listed before, or what it finds now.
  absl::StatusOr<lanes::Manifest> ManifestOf(ops::Source& source,
                                             const SourceKey& key) const {
    if (options_.listing.empty()) return source.List();
    const size_t number = PlaceOf(key);
    if (number >= options_.listing.size() || !options_.listing[number]) {
      return absl::InvalidArgumentError(base::StrCat(
          "the listing has ", options_.listing.size(),
          " sources, and nothing of number ", number, ": it is another pipeline's"));
    }
    const lanes::Manifest& listed = *options_.listing[number];
    TRY(ops::Recall(source, listed));
    return listed;
  }

  // How the state to go on from says that a source was cut.
  absl::StatusOr<std::optional<lanes::CutRecord>> RecordedCut(
      const SourceKey& source) const {
    if (options_.cuts.empty()) return std::nullopt;
    const size_t number = PlaceOf(source);
    if (number < options_.cuts.size()) return options_.cuts[number];
    return absl::InvalidArgumentError(
        base::StrCat("the state has ", options_.cuts.size(),
                     " sources, the pipeline has more: it is another pipeline's"));
  }

  absl::StatusOr<PassPlan> PlanBehindBranches(const Chains& chains, uint64_t epoch) {
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
    std::string one_lane = FactsOf(chains, manifest.counted(), false).one_lane_reason;
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
                     .nodes = chains.run,
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
      branches.push_back({written.inputs()[i], chains.run[0].inputs()[i], behind,
                          ignored, chains.cached});
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

  // Only the last of the chains may give runs: whoever receives it joins them.
  bool MayRun(const std::vector<ir::Pipeline>& run) const {
    return options_.runs && run.back() == nodes_.back();
  }

  lanes::CutFacts FactsOf(const Chains& chains, bool counted, bool divisible) const {
    return WithBehind(CutFactsOf(chains.written, counted, chains.ignored_behind,
                                 divisible, MayRun(chains.run)),
                      chains.behind, options_.runs);
  }

  int NumberOf(const ir::Pipeline& node) const {
    return static_cast<int>(std::ranges::find(nodes_, node) - nodes_.begin());
  }

  PassPlan Finished(PassPlan plan) const {
    for (const ir::Pipeline& node : plan.nodes) plan.numbers.push_back(NumberOf(node));
    plan.pipeline = nodes_;
    plan.seed = options_.seed;
    plan.cancelled = options_.cancelled;
    if (notes_ || options_.origins != nullptr) plan.origins = sources_;
    plan.sources = sources_;
    plan.with_ids = with_ids_;
    plan.writes = plan.nodes.back().schema().traits.sinks;
    plan.may_run = MayRun(plan.nodes);
    plan.FindJoin();
    return plan;
  }

  const std::vector<ir::Pipeline> nodes_;  // Of the whole pipeline, as run.
  const ops::Library& library_;
  const PassOptions options_;
  core::Pool& pool_;
  const bool with_ids_;
  const bool notes_;  // Which rows are made of others: an error may be about one.
  const std::shared_ptr<RowOrigins> sources_;
  const bool ignores_;                   // Errors are, somewhere.
  std::set<std::pair<int, bool>> seen_;  // By FindUses.
  std::set<SourceKey> uses_;             // Of all nodes.
  mutable base::Mutex mutex_;
  std::map<SourceKey, Listed> listed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<PassPlan> PlanPass(const rewrite::Rewritten& pipeline,
                                  const ops::Library& library,
                                  const PassOptions& options, core::Pool& pool) {
  const rewrite::Rewritten lowered = {TRY(Lowered(pipeline.before, library)),
                                      TRY(Lowered(pipeline.after, library)),
                                      {}};
  const auto planner = std::make_shared<Planner>(lowered, library, options, pool);
  auto plan = TRY(planner->Plan({lowered.before, lowered.after, {}}, options.epoch));
  planner->Record(plan);
  plan.order = options.order;
  return plan;
}

}  // namespace millrace::exec
