#include "millrace/bench/service/kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::bench {
namespace {

using core::Column;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr int64_t kBytesMax = int64_t{1} << 30;

// Memory of each size that was asked for, written once and kept.
class ReadyBytes {
 public:
  absl::StatusOr<core::Buffer> Get(int64_t bytes) {
    const base::MutexLock lock(&mutex_);
    if (const auto found = kept_.find(bytes); found != kept_.end()) {
      return found->second;
    }
    core::Buffer buffer = TRY(core::HeapPool().Allocate(bytes));
    // Not all alike: equal pages could be shared, equal words be compressed.
    uint64_t word = 1;
    std::generate_n(buffer.mutable_data(), bytes, [&word] {
      word = word * 6364136223846793005U + 1442695040888963407U;
      return static_cast<std::byte>(word >> 56);
    });
    return kept_.emplace(bytes, std::move(buffer)).first->second;
  }

 private:
  base::Mutex mutex_;
  std::map<int64_t, core::Buffer> kept_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<ValueType> InferReady(const KernelTypes& types) {
  return ValueType{.dtype = core::DType::kUint8,
                   .shape = {types.arguments["bytes"].As<int64_t>()}};
}

absl::StatusOr<Column> RunReady(const KernelCall& call) {
  static ReadyBytes& ready = *new ReadyBytes();  // Never destroyed: workers use it.
  const auto bytes = call.arguments["bytes"].As<int64_t>();
  return Column::Dense(core::DType::kUint8, call.rows, {bytes},
                       TRY(ready.Get(bytes * call.rows)));
}

KernelSchema ReadyKernel() {
  return {.name = "ready",
          .doc = "Gives bytes that are in memory already, the same for every row.",
          .operands = {{"x", "Any value."}},
          .arguments = {{.name = "bytes",
                         .type = ir::ArgumentType::kInt,
                         .doc = "Of each row.",
                         .least = 1,
                         .most = kBytesMax}},
          .infer = InferReady,
          .run = RunReady};
}

absl::StatusOr<ValueType> InferNap(const KernelTypes& types) {
  return types.operands[0];
}

absl::StatusOr<Column> RunNap(const KernelCall& call) {
  const auto microseconds = call.arguments["microseconds"].As<int64_t>();
  base::RealClock().WaitFor(absl::Microseconds(microseconds) * call.rows,
                            std::stop_token());
  return call.operands[0].column;
}

KernelSchema NapKernel() {
  return {.name = "nap",
          .doc = "Gives each value after a while, in which it computes nothing.",
          .operands = {{"x", "Any value."}},
          .arguments = {{.name = "microseconds",
                         .type = ir::ArgumentType::kInt,
                         .doc = "For each row.",
                         .least = 0,
                         .most = 60'000'000}},
          .infer = InferNap,
          .run = RunNap};
}

ops::Library MakeLibrary() {
  ops::Library library = ops::Library::BuiltIn();
  library.mutable_catalog().Add(ReadyKernel());
  library.mutable_catalog().Add(NapKernel());
  return library;
}

}  // namespace

const ops::Library& ServiceLibrary() {
  static const ops::Library& library = *new ops::Library(MakeLibrary());
  return library;
}

}  // namespace millrace::bench
