// Feeds the readers of tf.train.Example anything: each kernel gives the same result
// for a record whatever stood before it, or an error that names a row.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using core::Column;

Column TextsOf(std::string_view first, std::string_view second) {
  return *core::FromRows(core::DType::kBytes,
                         {core::Tensor::Text(first, core::DType::kBytes),
                          core::Tensor::Text(second, core::DType::kBytes)},
                         core::HeapPool());
}

void CheckError(const absl::Status& error) {
  CHECK(error.code() == absl::StatusCode::kDataLoss) << error;
  CHECK(error.message().find("row ") == 0) << error;
}

// Reads the features of a row after a plain record, and of the row alone.
void CheckReaders(std::string_view record, const std::string& find,
                  const std::vector<std::string>& readers) {
  const std::string plain = SequenceOf({{"a", Ints({1})}}, {{"a", StepsOf({})}});
  const Column records = TextsOf(plain, record);
  const ir::Arguments names = {{"names", ir::List{"a", ""}}};
  const absl::StatusOr<Column> entries = CallKernel(find, {Rows(records)}, names);
  if (!entries.ok()) return CheckError(entries.status());
  const Column alone = records.Slice(1, 1);
  const absl::StatusOr<Column> again = CallKernel(find, {Rows(alone)}, names);
  CHECK(again.ok()) << again.status();
  CHECK(core::SameRows(*again, entries->Slice(1, 1)));
  for (const std::string& reader : readers) {
    for (const ir::Value& shape : {ir::Value(), ir::Value(ir::List{})}) {
      const absl::StatusOr<Column> values =
          CallKernel(reader, {Rows(alone), Rows(*again)},
                     {{"index", 0}, {"name", "a"}, {"shape", shape}});
      if (!values.ok()) CheckError(values.status());
    }
  }
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::kernels::CheckReaders;
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  CheckReaders(record, "example_features",
               {"example_floats", "example_ints", "example_texts"});
  CheckReaders(record, "sequence_features",
               {"sequence_floats", "sequence_ints", "sequence_texts"});
  return 0;
}
