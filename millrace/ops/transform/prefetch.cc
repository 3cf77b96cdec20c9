// Prefetch: what other systems need to be told. It changes nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct PrefetchArgs {
  std::optional<int64_t> count;
};

class Prefetch final : public Operator {
 public:
  Prefetch(const PrefetchArgs& /*args*/, const LaneContext& /*lane*/) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    return out.Emit(std::move(block));
  }
};

}  // namespace

OperatorDef PrefetchDef() {
  return Define<Prefetch, PrefetchArgs>("prefetch")
      .Doc(
          "Changes nothing: the engine works ahead of the consumer by itself, as far "
          "as "
          "its memory budget allows.")
      .Arg("count", &PrefetchArgs::count,
           "How much to prefetch, as other systems ask; any value is taken, and none "
           "has an effect.",
           AtLeast(0))
      .Traits({.row_wise = true, .keeps_fields = true})
      .NoOp([](const PrefetchArgs&, const core::Spec&) -> std::string {
        return "the engine works ahead by itself, within its memory budget";
      })
      .Infer([](const PrefetchArgs&, const core::Spec& in) { return in; })
      .Count([](const PrefetchArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
