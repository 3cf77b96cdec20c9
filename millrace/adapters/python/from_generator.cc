#include "millrace/adapters/python/from_generator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/here.h"
#include "millrace/adapters/python/runner_pool.h"
#include "millrace/adapters/python/runner_process.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"

namespace millrace::python {
namespace {

struct FromGeneratorArgs {
  std::vector<ir::Attachment> function;
  std::string fields;
  std::string name = "generator";
  bool random = false;
  std::optional<int64_t> seed;
};

int64_t NextStream() {
  static std::atomic<int64_t> next = 1;
  return next.fetch_add(1);
}

// One generator from its first row on, in a process of its own, which ends with it. A
// range that begins later lets the rows before it go by.
class GeneratorReader final : public ops::Reader {
 public:
  GeneratorReader(const FromGeneratorArgs& args, const ops::SourceContext& context,
                  const lanes::RowRange& rows)
      : args_(args),
        context_(context),
        spec_(*core::ParseSpec(args.fields)),
        stream_({.number = NextStream(), .skip = rows.begin}),
        rows_(rows) {}

  absl::Status Fetch() override {
    if (fetched_ || ended_) return absl::OkStatus();
    fetched_ = TRY(Ask());
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows& bad_rows) override {
    if (!fetched_ || rows_.begin >= rows_.end) return std::nullopt;
    if (fetched_->rows.rows() > 0) return TRY(Give());
    FunctionResult result = *std::exchange(fetched_, std::nullopt);
    ended_ = result.ended;
    if (result.error.ok()) return std::nullopt;
    if (ended_) return result.error;  // It cannot go on without the row.
    TRY(bad_rows.LeaveOut(
        {.why = result.error,
         .id = ops::SourceRowId(context_.call_number, 0, rows_.begin)}));
    ++rows_.begin;
    return core::Block();
  }

 private:
  // The rows before what else the answer says; that is kept for the next time.
  absl::StatusOr<core::Block> Give() {
    const core::Block rows = std::exchange(fetched_->rows, {});
    if (fetched_->error.ok() && !fetched_->ended) fetched_.reset();
    TRY(core::CheckAdmits(spec_, rows));
    const int64_t begin = rows_.begin;
    const int64_t count = std::min(rows.rows(), rows_.end - begin);
    rows_.begin += count;
    return ops::WithSourceIds(rows.Slice(0, count), 0, begin, context_);
  }

  absl::StatusOr<FunctionResult> Ask() {
    const FunctionCall call = {
        .function = args_.function[0],
        .fields = args_.fields,
        .seed = args_.seed ? static_cast<uint64_t>(*args_.seed) : context_.seed,
        .epoch = context_.epoch,
        .first_call = context_.call_number,
        .cancelled = context_.cancelled};
    if (Here* const here = Here::Current()) return here->Generate(call, stream_);
    if (process_ == nullptr) process_ = TRY(Runners().TakeApart());
    absl::StatusOr<FunctionResult> result = process_->Generate(call, stream_);
    if (!result.ok()) {
      process_.reset();
      if (!absl::IsAborted(result.status())) return result;
      return absl::DataLossError(
          base::StrCat(args_.name, ": ", base::ToStd(result.status().message())));
    }
    if (result->ended) Runners().GiveBack(std::move(process_));
    return result;
  }

  const FromGeneratorArgs args_;
  const ops::SourceContext context_;
  const core::Spec spec_;
  const RowStream stream_;
  lanes::RowRange rows_;
  std::unique_ptr<RunnerProcess> process_;
  std::optional<FunctionResult> fetched_;
  bool ended_ = false;
};

class FromGenerator final : public ops::Source {
 public:
  FromGenerator(FromGeneratorArgs args, const ops::SourceContext& context)
      : args_(std::move(args)), context_(context) {}

  absl::StatusOr<lanes::Manifest> List() override {
    return lanes::Manifest{{{.name = base::StrCat("generator ", args_.name),
                             .bytes = {},
                             .version = base::ToHex(args_.function[0].hash()),
                             .rows = {},
                             .seekable = false}}};
  }

  std::string NameOfRow(int64_t /*split*/, int64_t row) const override {
    return base::StrCat("row ", row);
  }

  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& rows) const override {
    return std::make_unique<GeneratorReader>(args_, context_, rows);
  }

 private:
  const FromGeneratorArgs args_;
  const ops::SourceContext context_;
};

absl::StatusOr<core::Spec> SpecOf(const FromGeneratorArgs& args, const core::Spec&) {
  if (args.function.size() != 1) {
    return absl::InvalidArgumentError("argument function must be one attachment");
  }
  return core::ParseSpec(args.fields);
}

}  // namespace

ops::OperatorDef FromGeneratorDef() {
  return ops::Define<FromGenerator, FromGeneratorArgs>("from_generator")
      .Doc(
          "Gives the rows of a Python generator, in a process beside the engine. Made "
          "by from_generator of the Python package.")
      .Arg("function", &FromGeneratorArgs::function,
           "What begins the generator, as the Python package writes it.")
      .Arg("fields", &FromGeneratorArgs::fields, "The fields of the rows, a spec.",
           ops::Required())
      .Arg("name", &FromGeneratorArgs::name, "What it is called, for people.")
      .Arg("random", &FromGeneratorArgs::random, "Whether it draws random numbers.")
      .Arg("seed", &FromGeneratorArgs::seed,
           "For random numbers; by default the job's.", ops::AtLeast(0), ops::Seed())
      .Random([](const FromGeneratorArgs& args) { return args.random; })
      .CanFail([](const FromGeneratorArgs&) { return true; })
      .Infer(SpecOf)
      .Count([](const FromGeneratorArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::python
