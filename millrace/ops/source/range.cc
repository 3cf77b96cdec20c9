// Range: whole numbers, evenly spaced. The smallest source: it reads nothing, so it
// shows what the rest of a pipeline costs.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

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

struct RangeArgs {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};

// How many numbers there are; -1 when that is more than a pass can have.
int64_t CountOf(const RangeArgs& args) {
  __extension__ using Wide = __int128;
  const Wide distance = static_cast<Wide>(args.stop) - args.start;
  const Wide step = args.step;
  if (distance == 0 || (distance > 0) != (step > 0)) return 0;
  const Wide count = (distance + step - (step > 0 ? 1 : -1)) / step;
  return count > lanes::kRowsMax ? -1 : static_cast<int64_t>(count);
}

// Unsigned, since a step times a row may pass the end of int64 and come back.
int64_t NumberAt(const RangeArgs& args, int64_t row) {
  return static_cast<int64_t>(static_cast<uint64_t>(args.start) +
                              static_cast<uint64_t>(row) *
                                  static_cast<uint64_t>(args.step));
}

class RangeReader final : public Reader {
 public:
  RangeReader(const RangeArgs& args, const SourceContext& context,
              const lanes::RowRange& rows)
      : args_(args), context_(context), rows_(rows) {}

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& /*bad_rows*/) override {
    if (rows_.begin == rows_.end) return std::nullopt;
    const int64_t begin = rows_.begin;
    rows_.begin = std::min(begin + kBlockRows, rows_.end);
    const int64_t rows = rows_.begin - begin;
    core::Buffer values = TRY(context_.pool.AllocateFor<int64_t>(rows));
    const absl::Span<int64_t> numbers = values.MutableAs<int64_t>();
    for (int64_t i = 0; i < rows; ++i) numbers[i] = NumberAt(args_, begin + i);
    const core::Block block(
        rows, names_,
        {core::Column::Dense(core::DType::kInt64, rows, {}, std::move(values))});
    return TRY(WithSourceIds(block, rows_.split, begin, context_));
  }

 private:
  const RangeArgs args_;
  const SourceContext context_;
  const std::shared_ptr<const core::FieldNames> names_ =
      std::make_shared<const core::FieldNames>(core::FieldNames{"value"});
  lanes::RowRange rows_;
};

class Range final : public Source {
 public:
  Range(const RangeArgs& args, const SourceContext& context)
      : args_(args), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    return lanes::Manifest{
        {{.name = base::StrCat("range ", args_.start, " ", args_.step),
          .bytes = {},
          .version = "",
          .rows = CountOf(args_),
          .seekable = true}}};
  }

  bool waits() const override { return false; }

  std::string NameOfRow(int64_t /*split*/, int64_t row) const override {
    return base::StrCat("row ", row);
  }

  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override {
    return std::make_unique<RangeReader>(args_, context_, rows);
  }

 private:
  const RangeArgs args_;
  const SourceContext context_;
};

absl::StatusOr<core::Spec> InferRange(const RangeArgs& args, const core::Spec&) {
  if (args.step == 0) return absl::InvalidArgumentError("argument step must not be 0");
  if (CountOf(args) < 0) {
    return absl::InvalidArgumentError("there are more numbers than a pass can have");
  }
  return core::Spec({{"value", core::DType::kInt64, {}}});
}

}  // namespace

OperatorDef RangeDef() {
  return Define<Range, RangeArgs>("range")
      .Doc("Gives the whole numbers from start up to stop, as the field `value`.")
      .Arg("start", &RangeArgs::start, "The first number.")
      .Arg("stop", &RangeArgs::stop, "Where to stop; not given itself.", Required())
      .Arg("step", &RangeArgs::step, "From one number to the next; may be negative.")
      .Infer(InferRange)
      .Count([](const RangeArgs& args, const ir::Cardinality&) {
        return ir::Cardinality::Known(CountOf(args));
      });
}

}  // namespace millrace::ops
