// example_features and sequence_features: where the features of a record lie, all found
// in one scan. What reads them (value_kernels.cc, sequence_kernels.cc) takes the places
// from here, so that a record of many features is not searched for each.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/example/entries.h"
#include "millrace/kernels/example/feature_rows.h"
#include "millrace/kernels/result_buffer.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

static_assert(sizeof(EntryPlace) == 2 * sizeof(int64_t));  // A row of the result.

std::vector<std::string_view> NamesOf(const ir::Arguments& arguments) {
  std::vector<std::string_view> names;
  for (const ir::Value& name : arguments["names"].As<ir::List>()) {
    names.emplace_back(name.As<std::string>());
  }
  return names;
}

absl::StatusOr<ValueType> InferPlaces(const KernelTypes& types) {
  TRY(CheckRecord(types.operands[0]));
  absl::flat_hash_set<absl::string_view> seen;
  const std::vector<std::string_view> names = NamesOf(types.arguments);
  for (const std::string_view name : names) {
    if (seen.insert(base::ToAbsl(name)).second) continue;
    return absl::InvalidArgumentError(
        base::StrCat("argument names has ", ir::Shown(name), " twice"));
  }
  return ValueType{.dtype = DType::kInt64, .shape = {std::ssize(names), 2}};
}

template <EntriesOf kMap>
absl::StatusOr<Column> RunFind(const KernelCall& call) {
  const std::vector<std::string_view> names = NamesOf(call.arguments);
  const RecordRows records(call.operands[0]);
  core::Buffer result = TRY(ResultBuffer(call));
  auto* places = reinterpret_cast<EntryPlace*>(result.mutable_data());
  EntryFinder finder(kMap, names);
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::StatusOr<std::string_view> record = records.At(row);
    if (!record.ok()) return RowErrorOf(row, record.status());
    const absl::Status found =
        finder.Find(*record, absl::MakeSpan(places, names.size()));
    if (!found.ok()) return RowErrorOf(row, found);
    places += names.size();
  }
  return Column::Dense(DType::kInt64, call.rows, call.type.shape, std::move(result));
}

KernelSchema Schema(std::string name, std::string doc,
                    decltype(KernelSchema::run) run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"record", "The bytes of one record per row."}},
          .arguments = {{.name = "names",
                         .type = ir::ArgumentType::kTexts,
                         .doc = "The names of the features, each once."}},
          .fails = ir::Fails::kOnData,
          .infer = InferPlaces,
          .run = std::move(run)};
}

}  // namespace

KernelSchema ExampleFeaturesKernel() {
  return Schema(
      "example_features",
      "Finds features of a tf.train.Example, or in the context of a "
      "tf.train.SequenceExample: where each begins and ends in the record, -1 where it "
      "is missing.",
      RunFind<EntriesOf::kFeatures>);
}

KernelSchema SequenceFeaturesKernel() {
  return Schema("sequence_features",
                "Finds feature lists of a tf.train.SequenceExample: where each begins "
                "and ends in the record, -1 where it is missing.",
                RunFind<EntriesOf::kFeatureLists>);
}

}  // namespace millrace::kernels
