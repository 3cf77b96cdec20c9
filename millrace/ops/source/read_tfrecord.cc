// ReadTfrecord: the rows of TFRecord files, as they are.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/tfrecord.h"

namespace millrace::ops {
namespace {

core::Spec RecordSpec() { return core::Spec({{"record", core::DType::kBytes, {}}}); }

class ReadTfrecord final : public ScanSource {
 public:
  ReadTfrecord(const PathsArgs& args, const SourceContext& context)
      : ScanSource(args.paths,
                   {.format = storage::RowFormat::kTfrecord,
                    .spec = RecordSpec(),
                    .sums = true,
                    .make_scanner =
                        [](int64_t offset) {
                          return std::make_unique<storage::TfrecordScanner>(offset);
                        }},
                   context) {}
};

}  // namespace

OperatorDef ReadTfrecordDef() {
  return Define<ReadTfrecord, PathsArgs>("read_tfrecord")
      .Doc(
          "Reads the rows of TFRecord files, as the field `record`. Checksums are "
          "checked.")
      .Endings({".tfrecord", ".tfrecords"})
      .Arg("paths", &PathsArgs::paths, kPathsDoc, Required())
      .CanFail([](const PathsArgs&) { return true; })
      .Infer([](const PathsArgs& args, const core::Spec&) {
        return SpecOfPaths(args.paths, RecordSpec());
      })
      .Count([](const PathsArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
