#include "millrace/adapters/python/engine.h"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/hand_over.h"
#include "millrace/adapters/python/here.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/api/facts.h"
#include "millrace/api/state.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/machine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_origins.h"
#include "millrace/exec/save.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/source.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::python {

int AvailableThreads() { return exec::AvailableThreads(); }

int64_t AvailableMemoryBytes() { return exec::AvailableMemoryBytes(); }

Engine::Engine(const EngineSettings& settings)
    : inner_(new exec::Engine({.threads = settings.threads,
                               .memory_bytes = settings.memory_bytes,
                               .cache_bytes = settings.cache_bytes,
                               .shares_memory = settings.shares_memory}),
             [process = getpid()](exec::Engine* engine) {
               // A forked child has none of its threads, and cannot end them.
               if (getpid() == process) delete engine;
             }) {}

std::unique_ptr<Iterator> Engine::Open(const Pipeline& pipeline,
                                       const PassSettings& settings) const {
  exec::PassOptions options = {
      .seed = settings.seed,
      .epoch = settings.epoch,
      .order = settings.any_order ? exec::Delivery::kAny : exec::Delivery::kLogical};
  std::optional<lanes::State> state;
  if (settings.state) {
    state = Checked(api::StateFromJson(*settings.state));
    options.cuts = state->cuts;
  }
  if (settings.cut_as) {
    options.cuts = Checked(api::StateFromJson(*settings.cut_as)).cuts;
  }
  if (settings.origins) options.origins = std::make_shared<exec::RowOrigins>();
  const rewrite::Rewritten rewritten =
      Checked(rewrite::Rewrite(pipeline.inner(), Catalog()));
  return std::make_unique<Iterator>(
      inner_, Checked(inner_->Open(rewritten, Library(), options, state)),
      settings.here ? std::make_unique<Here>(settings.here) : nullptr, options.origins);
}

std::optional<core::Block> Engine::FirstRow(const Pipeline& pipeline,
                                            std::function<bool()> interrupt) const {
  const rewrite::Rewritten rewritten =
      Checked(rewrite::Rewrite(pipeline.inner(), Catalog()));
  const auto iterator = Checked(inner_->Open(rewritten, Library(), {}));
  iterator->SetInterrupt(std::move(interrupt));
  const std::optional<core::Block> block = Checked(iterator->Next());
  if (!block) return std::nullopt;
  return block->Slice(0, 1);
}

int64_t Engine::Save(const Pipeline& pipeline, const SaveSettings& settings) const {
  const rewrite::Rewritten rewritten =
      Checked(rewrite::Rewrite(pipeline.inner(), Catalog()));
  return Checked(exec::Save(*inner_, rewritten, Library(),
                            {.folder = settings.folder,
                             .format = settings.format,
                             .file_bytes = settings.file_bytes,
                             .replace = settings.replace,
                             .pass = {.seed = settings.seed},
                             .interrupt = settings.interrupt}))
      .rows;
}

int64_t Engine::UsedBytes() const { return inner_->memory().used_bytes; }

int64_t Engine::PeakBytes() const { return inner_->memory().peak_bytes; }

Mark::Mark(lanes::State state)
    : state_(std::make_shared<const lanes::State>(std::move(state))) {}

std::string Mark::Json() const { return api::StateToJson(*state_); }

Iterator::Iterator(std::shared_ptr<exec::Engine> engine,
                   std::unique_ptr<exec::Iterator> inner, std::unique_ptr<Here> here,
                   std::shared_ptr<const exec::RowOrigins> origins)
    : engine_(std::move(engine)),
      here_(std::move(here)),
      inner_(std::move(inner)),
      origins_(std::move(origins)),
      process_(getpid()) {}

Iterator::~Iterator() {
  // Nor can it wait for them.
  if (getpid() != process_)
    static_cast<void>(inner_.release());  // NOLINT(bugprone-unused-return-value)
}

std::optional<Rows> Iterator::Next() {
  const Here::Scope scope(here_.get());
  std::optional<core::Block> block = Checked(inner_->Next());
  if (!block) return std::nullopt;
  ++given_;
  if (origins_ != nullptr) {
    last_ids_ = std::make_shared<const core::Block>(
        core::Block(block->rows(), core::FieldNames{}, {}).WithIds(*block->ids()));
  }
  return Checked(HandOver(*std::exchange(block, std::nullopt)));
}

int64_t Iterator::Drain(int64_t blocks_max) {
  int64_t blocks = 0;
  while (blocks < blocks_max && Checked(inner_->Next())) ++blocks;
  return blocks;
}

std::vector<std::vector<Origin>> Iterator::Origins(int64_t row) const {
  if (last_ids_ == nullptr || row < 0 || row >= last_ids_->rows()) {
    throw Error("INVALID_ARGUMENT", "there is no such row to find");
  }
  std::vector<std::vector<Origin>> origins;
  for (const auto& places : Checked(origins_->PlacesOf(last_ids_->IdsIn(row)))) {
    std::vector<Origin>& found = origins.emplace_back();
    for (const ops::RowPlace& place : places) {
      found.push_back(
          {.file = place.file.empty() ? std::nullopt : std::optional(place.file),
           .offset = place.byte.value_or(place.row),
           .key = place.key});
    }
  }
  return origins;
}

void Iterator::Cancel() { inner_->Cancel(); }

void Iterator::SetInterrupt(std::function<bool()> interrupt) {
  inner_->SetInterrupt(std::move(interrupt));
}

Mark Iterator::State() const { return Mark(inner_->state()); }

std::string Iterator::Facts() const { return api::FactsToJson(inner_->Facts()); }

std::string Iterator::Report() const { return profile::ToTable(inner_->Facts()); }

int64_t Iterator::Lanes() const { return inner_->plan().lanes.size(); }

}  // namespace millrace::python
