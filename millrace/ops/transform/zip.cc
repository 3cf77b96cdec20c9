// Zip: rows side by side. Row number n of what comes out has the fields of row number n
// of every input; the shortest input ends it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"

namespace millrace::ops {
namespace {

struct ZipArgs {};

class Zip final : public Merger {
 public:
  Zip(const ZipArgs& /*args*/, const MergeContext& context)
      : pool_(context.pool), origins_(context.origins), waiting_(context.inputs) {}

  int Wants() const override {
    if (ended_) return kNone;
    const auto empty = std::ranges::find(waiting_, 0, &core::Block::rows);
    return static_cast<int>(empty - waiting_.begin());
  }

  absl::Status Push(core::Block rows, Emitter& out) override {
    waiting_[Wants()] = std::move(rows);
    if (std::ranges::count(waiting_, 0, &core::Block::rows) > 0)
      return absl::OkStatus();
    const int64_t common = std::ranges::min(waiting_, {}, &core::Block::rows).rows();
    std::vector<core::Block> sides;
    for (core::Block& block : waiting_) {
      sides.push_back(block.Slice(0, common));
      block = block.Slice(common, block.rows() - common);
    }
    return out.Emit(TRY(SideBySide(sides)));
  }

  absl::Status End(Emitter& /*out*/) override {
    ended_ = true;
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<core::Block> SideBySide(const std::vector<core::Block>& sides) {
    core::FieldNames names;
    std::vector<core::Column> columns;
    for (const core::Block& side : sides) {
      names.insert(names.end(), side.names().begin(), side.names().end());
      columns.insert(columns.end(), side.columns().begin(), side.columns().end());
    }
    const core::Block block(sides[0].rows(),
                            std::make_shared<const core::FieldNames>(std::move(names)),
                            std::move(columns));
    return sides[0].has_ids() ? WithIdsOfAll(block, sides) : block;
  }

  absl::StatusOr<core::Block> WithIdsOfAll(const core::Block& block,
                                           const std::vector<core::Block>& sides) {
    core::Buffer ids = TRY(pool_.AllocateFor<uint64_t>(2 * block.rows()));
    const absl::Span<uint64_t> words = ids.MutableAs<uint64_t>();
    MadeRows made;
    for (int64_t row = 0; row < block.rows(); ++row) {
      base::Hash128 hash;
      for (const core::Block& side : sides) {
        const core::RowId id = side.IdAt(row);
        hash = base::Combine(hash, base::Hash128{id.hi, id.lo});
      }
      words[2 * row] = hash.hi;
      words[2 * row + 1] = hash.lo;
      if (origins_ != nullptr) made.Add(hash, IdsOfAll(sides, row));
    }
    if (origins_ != nullptr) origins_->Note(std::move(made));
    return block.WithIds(
        core::Column::Dense(core::DType::kUint64, block.rows(), {2}, std::move(ids)));
  }

  static std::vector<core::RowId> IdsOfAll(const std::vector<core::Block>& sides,
                                           int64_t row) {
    std::vector<core::RowId> all;
    for (const core::Block& side : sides) {
      const std::vector<core::RowId> ids = side.IdsIn(row);
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  }

  core::Pool& pool_;
  Origins* const origins_;
  std::vector<core::Block> waiting_;  // Of each input.
  bool ended_ = false;
};

absl::StatusOr<core::Spec> AllFields(absl::Span<const core::Spec> inputs) {
  std::vector<core::FieldSpec> fields;
  std::set<std::string> names;
  for (const core::Spec& input : inputs) {
    for (const core::FieldSpec& field : input.fields()) {
      if (!names.insert(field.name).second) {
        return absl::InvalidArgumentError(
            base::StrCat("two inputs have a field named ", field.name,
                         "; use rename, select or drop before"));
      }
      fields.push_back(field);
    }
  }
  return core::Spec(std::move(fields));
}

ir::Cardinality Shortest(absl::Span<const ir::Cardinality> inputs) {
  int64_t rows = std::numeric_limits<int64_t>::max();
  bool unknown = false;
  for (const ir::Cardinality& input : inputs) {
    if (input.known()) rows = std::min(rows, input.rows());
    unknown = unknown || (!input.known() && !input.infinite());
  }
  if (rows == 0) return ir::Cardinality::Known(0);
  if (unknown) return ir::Cardinality::Unknown();
  if (rows == std::numeric_limits<int64_t>::max()) return ir::Cardinality::Infinite();
  return ir::Cardinality::Known(rows);
}

}  // namespace

OperatorDef ZipDef() {
  return Define<Zip, ZipArgs>("zip")
      .Doc(
          "Puts the rows of its inputs side by side: the first with the first, and so "
          "on, until one input ends.")
      .Traits({.order_sensitive = true, .changes_cardinality = true, .merges = true})
      .InferAll(2,
                [](const ZipArgs&, absl::Span<const core::Spec> inputs) {
                  return AllFields(inputs);
                })
      .CountAll([](const ZipArgs&, absl::Span<const ir::Cardinality> inputs) {
        return Shortest(inputs);
      });
}

}  // namespace millrace::ops
