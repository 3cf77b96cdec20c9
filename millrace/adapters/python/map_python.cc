#include "millrace/adapters/python/map_python.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/runner_pool.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::python {
namespace {

struct MapPythonArgs {
  std::vector<ir::Attachment> function;
  std::string fields;
  std::string name = "function";
  int64_t draws = 0;
  std::optional<double> timeout = 600.0;
  std::optional<int64_t> seed;
};

class MapPython final : public ops::Operator {
 public:
  MapPython(const MapPythonArgs& args, const ops::LaneContext& lane)
      : args_(args), lane_(lane), spec_(*core::ParseSpec(args.fields)) {}

  absl::Status Push(core::Block block, ops::Emitter& out) override {
    int64_t done = 0;
    while (done < block.rows()) {
      const core::Block rest = block.Slice(done, block.rows() - done);
      const FunctionResult result = TRY(Runners().Call(CallOf(), rest, lane_.pool));
      const int64_t rows = result.rows.rows();
      if (rows > 0) TRY(Give(rest.Slice(0, rows), result.rows, out));
      done += rows;
      if (result.error.ok()) continue;
      ops::BadRow bad = ops::BadRowOf(block.Slice(done, 1), result.error);
      bad.why = OfFunction(std::move(bad.why));
      TRY(lane_.bad_rows.LeaveOut(bad));
      ++done;
    }
    return absl::OkStatus();
  }

 private:
  FunctionCall CallOf() const {
    return {.function = args_.function[0],
            .fields = args_.fields,
            .seed = ops::SeedOf(args_.seed, lane_),
            .epoch = lane_.epoch,
            .first_call = lane_.call_number - args_.draws + 1,
            .timeout = args_.timeout ? absl::Seconds(*args_.timeout)
                                     : absl::InfiniteDuration(),
            .cancelled = lane_.cancelled};
  }

  absl::Status Give(const core::Block& from, const core::Block& made,
                    ops::Emitter& out) const {
    TRY(core::CheckAdmits(spec_, made));
    return out.Emit(from.has_ids() ? made.WithIds(*from.ids()) : made);
  }

  const MapPythonArgs args_;
  const ops::LaneContext lane_;
  const core::Spec spec_;
};

absl::StatusOr<core::Spec> SpecOf(const MapPythonArgs& args, const core::Spec&) {
  if (args.function.size() != 1) {
    return absl::InvalidArgumentError("argument function must be one attachment");
  }
  return core::ParseSpec(args.fields);
}

}  // namespace

ops::OperatorDef MapPythonDef() {
  return ops::Define<MapPython, MapPythonArgs>("map_python")
      .Doc(
          "Replaces every row by what a Python function makes of it, in processes "
          "beside the engine. Made by the method map of a dataset in Python.")
      .Arg("function", &MapPythonArgs::function,
           "The function, as the Python package writes it.")
      .Arg("fields", &MapPythonArgs::fields, "The fields of the new rows, a spec.",
           ops::Required())
      .Arg("name", &MapPythonArgs::name, "What the function is called, for people.")
      .Arg("draws", &MapPythonArgs::draws, "How many random calls it makes for a row.",
           ops::AtLeast(0))
      .Arg("timeout", &MapPythonArgs::timeout,
           "Seconds that it may take for a block of rows; none: any time.")
      .Arg("seed", &MapPythonArgs::seed, "For random numbers; by default the job's.",
           ops::AtLeast(0), ops::Seed())
      .Traits({.row_wise = true, .draws = true, .waits = true})
      .Random([](const MapPythonArgs& args) { return args.draws > 0; })
      .CanFail([](const MapPythonArgs&) { return true; })
      .Infer(SpecOf)
      .Count([](const MapPythonArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::python
