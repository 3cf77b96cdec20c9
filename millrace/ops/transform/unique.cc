// Unique: gives each row that has not come before. Rows are told apart by a hash of 128
// bits of what is in them, so that a row is remembered in 16 bytes, however long it is.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct UniqueArgs {
  std::vector<std::string> fields;
  bool per_lane = false;
};

base::Hash128 HashBytes(base::Hash128 hash, std::string_view bytes) {
  hash = base::Combine(hash, bytes.size());
  while (!bytes.empty()) {
    base::Hash128 word;
    const size_t size = std::min(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), size);
    hash = base::Combine(hash, word);
    bytes.remove_prefix(size);
  }
  return hash;
}

// Hashes a value: its shape, and what is in it.
base::Hash128 HashValue(base::Hash128 hash, const core::Tensor& value) {
  for (const int64_t size : value.shape().sizes()) {
    hash = base::Combine(hash, static_cast<uint64_t>(size));
  }
  if (!core::IsVariable(value.dtype())) return HashBytes(hash, value.values().text());
  for (int64_t i = 0; i < value.count(); ++i) hash = HashBytes(hash, value.TextAt(i));
  return hash;
}

class Unique final : public Operator {
 public:
  Unique(UniqueArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto hashes_of = [this](const core::Block& rows) { return HashesOf(rows); };
    const auto emit = [&](const core::Block& rows, const Hashes& hashes) {
      return EmitNew(rows, hashes, out);
    };
    return UseGoodRows<Hashes>(block, hashes_of, emit, lane_.bad_rows);
  }

 private:
  using Hashes = std::vector<base::Hash128>;

  absl::StatusOr<Hashes> HashesOf(const core::Block& rows) const {
    Hashes hashes(rows.rows());
    for (const std::string& name : args_.fields.empty() ? rows.names() : args_.fields) {
      const core::Column& column = *rows.Find(name);
      for (int64_t row = 0; row < rows.rows(); ++row) {
        hashes[row] = HashValue(hashes[row], TRY(column.Row(row)));
      }
    }
    return hashes;
  }

  absl::Status EmitNew(const core::Block& rows, const Hashes& hashes, Emitter& out) {
    std::vector<int64_t> fresh;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      if (seen_.insert(hashes[row]).second) fresh.push_back(row);
    }
    if (std::ssize(fresh) == rows.rows()) return out.Emit(rows);
    if (fresh.empty()) return absl::OkStatus();
    return out.Emit(TRY(core::Gather(rows, fresh, lane_.pool)));
  }

  const UniqueArgs args_;
  const LaneContext lane_;
  absl::flat_hash_set<base::Hash128> seen_;
};

absl::StatusOr<core::Spec> InferUnique(const UniqueArgs& args, const core::Spec& in) {
  for (const std::string& name : args.fields) {
    if (in.Find(name) != nullptr) continue;
    return absl::InvalidArgumentError(
        base::StrCat("there is no field ", name, "; the fields are ", in.Names()));
  }
  return in;
}

}  // namespace

OperatorDef UniqueDef() {
  return Define<Unique, UniqueArgs>("unique")
      .Doc(
          "Gives each row once: rows that came before, with the same fields, are left "
          "out. Remembers 16 bytes of every row that it gives.")
      .Arg("fields", &UniqueArgs::fields,
           "What must differ; by default any field will do.")
      .Arg("per_lane", &UniqueArgs::per_lane,
           "Compare only with rows of the same lane, so that there can be many.")
      .Traits({.order_sensitive = true, .changes_cardinality = true})
      .AcrossLanes([](const UniqueArgs& args) { return !args.per_lane; })
      .CanFail([](const UniqueArgs&) { return true; })
      .Infer(InferUnique)
      .Count([](const UniqueArgs&, const ir::Cardinality& in) {
        return in.known() && in.rows() <= 1 ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
