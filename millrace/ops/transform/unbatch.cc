// Unbatch: takes batches apart into the rows they were made of, which have their own
// identities again.

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"

namespace millrace::ops {
namespace {

struct UnbatchArgs {};

class Unbatch final : public Operator {
 public:
  Unbatch(const UnbatchArgs& /*args*/, const LaneContext& lane) : lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto make = [&](const core::Block& batches) { return Apart(batches); };
    return EmitGoodRows(block, make, lane_.bad_rows, out);
  }

 private:
  absl::StatusOr<core::Block> Apart(const core::Block& batches) const {
    if (!batches.has_ids() || batches.columns().empty()) return batches.Unstack();
    const core::Column& ids = *batches.ids();
    const bool are_batches = ids.levels().size() > 1;
    const core::Column& rows = batches.columns().front();
    bool is_as_batched = are_batches;
    for (int64_t i = 0; i < batches.rows() && is_as_batched && rows.HasLeadingAxis();
         ++i) {
      is_as_batched = ids.LeadingSize(i) == rows.LeadingSize(i);
    }
    // Of batches in batches, the inner identities cannot be made up.
    if (is_as_batched || ids.levels().size() > 2) return batches.Unstack();
    const core::Block bare(batches.rows(), batches.shared_names(), batches.columns());
    const core::Block apart = TRY(bare.Unstack());
    return apart.WithIds(TRY(core::IdColumn(IdsOf(batches, are_batches), lane_.pool)));
  }

  // A batch that still has as many rows as were batched has theirs. The rows of any
  // other have new identities: of the batch, and their number in it.
  std::vector<core::RowId> IdsOf(const core::Block& batches, bool are_batches) const {
    std::vector<core::RowId> ids;
    MadeRows made;
    for (int64_t batch = 0; batch < batches.rows(); ++batch) {
      const std::vector<core::RowId> inside = batches.IdsIn(batch);
      const int64_t rows = batches.columns().front().LeadingSize(batch);
      if (are_batches && rows == std::ssize(inside)) {
        ids.insert(ids.end(), inside.begin(), inside.end());
        continue;
      }
      const core::RowId id = batches.IdAt(batch);
      if (are_batches) made.Add(id, inside);
      for (uint64_t row = 0; row < static_cast<uint64_t>(rows); ++row) {
        ids.push_back(base::Combine(id, row));
        made.Add(ids.back(), {id});
      }
    }
    if (lane_.origins != nullptr) lane_.origins->Note(std::move(made));
    return ids;
  }

  const LaneContext lane_;
};

}  // namespace

OperatorDef UnbatchDef() {
  return Define<Unbatch, UnbatchArgs>("unbatch")
      .Doc("Takes batches apart: one row for each part along the leading axis.")
      .CanFail([](const UnbatchArgs&) { return true; })
      .Traits({.row_wise = true, .changes_cardinality = true, .unstacks = true})
      .Infer([](const UnbatchArgs&, const core::Spec& in) { return in.Unstacked(); })
      .Count([](const UnbatchArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
