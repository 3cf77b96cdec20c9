// Range: whole numbers, evenly spaced. The smallest source: it reads nothing, so it
// shows what the rest of a pipeline costs.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

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
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBlockRows = 1024;

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

class Range final : public Source {
 public:
  Range(const RangeArgs& args, const LaneContext& lane) : args_(args), lane_(lane) {}

  absl::StatusOr<lanes::Manifest> List() override {
    return lanes::Manifest{
        {{.name = base::StrCat("range ", args_.start, " ", args_.step),
          .bytes = {},
          .version = "",
          .rows = CountOf(args_),
          .seekable = true}}};
  }

  absl::Status Read(const lanes::RowRange& rows, Emitter& out) override {
    for (int64_t at = rows.begin; at < rows.end; at += kBlockRows) {
      const int64_t end = std::min(at + kBlockRows, rows.end);
      TRY(out.Emit(TRY(MakeBlock(rows.split, at, end))));
    }
    return absl::OkStatus();
  }

 private:
  // Unsigned, since a step times a row may pass the end of int64 and come back.
  int64_t NumberAt(int64_t row) const {
    return static_cast<int64_t>(static_cast<uint64_t>(args_.start) +
                                static_cast<uint64_t>(row) *
                                    static_cast<uint64_t>(args_.step));
  }

  absl::StatusOr<core::Block> MakeBlock(int64_t split, int64_t begin, int64_t end) {
    const int64_t rows = end - begin;
    core::Buffer values = TRY(lane_.pool.AllocateFor<int64_t>(rows));
    const absl::Span<int64_t> numbers = values.MutableAs<int64_t>();
    std::vector<core::RowId> ids(rows);
    for (int64_t i = 0; i < rows; ++i) {
      numbers[i] = NumberAt(begin + i);
      ids[i] = SourceRowId(lane_.call_number, split, begin + i);
    }
    core::Column column =
        core::Column::Dense(core::DType::kInt64, rows, {}, std::move(values));
    const core::Block block(rows, core::FieldNames{"value"}, {std::move(column)});
    return block.WithIds(TRY(core::IdColumn(ids, lane_.pool)));
  }

  const RangeArgs args_;
  const LaneContext lane_;
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
