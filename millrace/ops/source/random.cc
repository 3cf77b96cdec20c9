// Random: whole numbers that are drawn, each by its row, so that a row has the same
// number whoever reads it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBlockRows = 8192;

// A pass has an end: who wants more repeats it, and gets others.
constexpr int64_t kUsualCount = int64_t{1} << 30;

struct RandomArgs {
  std::optional<int64_t> seed;
  std::optional<int64_t> count;
};

// What the numbers of a pass are drawn from.
uint64_t KeyOf(const RandomArgs& args, const SourceContext& context) {
  const uint64_t seed =
      args.seed ? static_cast<uint64_t>(*args.seed) : base::Mix64(context.seed) + 1;
  const uint64_t call = args.seed ? 0 : static_cast<uint64_t>(context.call_number);
  return base::Mix64(base::Mix64(seed ^ base::Mix64(context.epoch)) + call);
}

class RandomReader final : public Reader {
 public:
  RandomReader(uint64_t key, const SourceContext& context, const lanes::RowRange& rows)
      : key_(key), context_(context), rows_(rows) {}

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& /*bad_rows*/) override {
    if (rows_.begin == rows_.end) return std::nullopt;
    const int64_t begin = rows_.begin;
    rows_.begin = std::min(begin + kBlockRows, rows_.end);
    const int64_t rows = rows_.begin - begin;
    core::Buffer values = TRY(context_.pool.AllocateFor<int64_t>(rows));
    const absl::Span<int64_t> numbers = values.MutableAs<int64_t>();
    for (int64_t i = 0; i < rows; ++i) {
      numbers[i] = static_cast<int64_t>(
          base::Mix64(key_ ^ base::Mix64(static_cast<uint64_t>(begin + i))));
    }
    const core::Block block(
        rows, names_,
        {core::Column::Dense(core::DType::kInt64, rows, {}, std::move(values))});
    return TRY(WithSourceIds(block, rows_.split, begin, context_));
  }

 private:
  const uint64_t key_;
  const SourceContext context_;
  const std::shared_ptr<const core::FieldNames> names_ =
      std::make_shared<const core::FieldNames>(core::FieldNames{"value"});
  lanes::RowRange rows_;
};

class Random final : public Source {
 public:
  Random(const RandomArgs& args, const SourceContext& context)
      : args_(args), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    return lanes::Manifest{{{.name = "random",
                             .bytes = {},
                             .version = "",
                             .rows = args_.count.value_or(kUsualCount),
                             .seekable = true}}};
  }

  bool waits() const override { return false; }

  std::string NameOfRow(int64_t /*split*/, int64_t row) const override {
    return base::StrCat("row ", row);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    return std::make_unique<RandomReader>(KeyOf(args_, context_), context_, rows);
  }

 private:
  const RandomArgs args_;
  const SourceContext context_;
};

}  // namespace

OperatorDef RandomDef() {
  return Define<Random, RandomArgs>("random")
      .Doc(
          "Gives whole numbers drawn from all that int64 has, as the field `value`: "
          "others in every epoch.")
      .Arg("seed", &RandomArgs::seed,
           "What the numbers are drawn from. Left out, the job's seed.", Seed())
      .Arg("count", &RandomArgs::count, "How many there are. Left out, 1,073,741,824.",
           AtLeast(0), AtMost(lanes::kRowsMax))
      .Random([](const RandomArgs&) { return true; })
      .Infer([](const RandomArgs&, const core::Spec&) {
        return core::Spec({{"value", core::DType::kInt64, {}}});
      })
      .Count([](const RandomArgs& args, const ir::Cardinality&) {
        return ir::Cardinality::Known(args.count.value_or(kUsualCount));
      });
}

}  // namespace millrace::ops
