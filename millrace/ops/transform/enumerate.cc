// Enumerate: gives every row its place in the pass as a field.

#include <cstdint>
#include <numeric>
#include <string>
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
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct EnumerateArgs {
  std::string field = "index";
  int64_t start = 0;
};

class Enumerate final : public Operator {
 public:
  Enumerate(EnumerateArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane), next_(args_.start + lane.first_row) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    core::Buffer values = TRY(lane_.pool.AllocateFor<int64_t>(block.rows()));
    const absl::Span<int64_t> numbers = values.MutableAs<int64_t>();
    std::iota(numbers.begin(), numbers.end(), next_);
    next_ += block.rows();
    core::FieldNames names = block.names();
    names.push_back(args_.field);
    std::vector<core::Column> columns = block.columns();
    columns.push_back(
        core::Column::Dense(core::DType::kInt64, block.rows(), {}, std::move(values)));
    const core::Block numbered(block.rows(), std::move(names), std::move(columns));
    return out.Emit(block.has_ids() ? numbered.WithIds(*block.ids()) : numbered);
  }

 private:
  const EnumerateArgs args_;
  const LaneContext lane_;
  int64_t next_;
};

absl::StatusOr<core::Spec> InferEnumerate(const EnumerateArgs& args,
                                          const core::Spec& in) {
  TRY(core::CheckFieldName(args.field));
  if (in.Find(args.field) != nullptr) {
    return absl::InvalidArgumentError(
        base::StrCat("there is a field ", args.field, " already; give another name"));
  }
  std::vector<core::FieldSpec> fields = in.fields();
  fields.push_back({args.field, core::DType::kInt64, {}});
  return core::Spec(std::move(fields));
}

}  // namespace

OperatorDef EnumerateDef() {
  return Define<Enumerate, EnumerateArgs>("enumerate")
      .Doc("Gives every row its number in the pass, as a field.")
      .Arg("field", &EnumerateArgs::field, "The name of the field.")
      .Arg("start", &EnumerateArgs::start, "The first number.")
      .Traits({.order_sensitive = true, .positional = true})
      .Infer(InferEnumerate)
      .Count([](const EnumerateArgs&, const ir::Cardinality& in) { return in; })
      .CountOfRun([](const EnumerateArgs&, int64_t, int64_t rows) { return rows; });
}

}  // namespace millrace::ops
