// ReadText: the lines of text files.

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
#include "millrace/storage/lines.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

core::Spec TextSpec() { return core::Spec({{"text", core::DType::kString, {}}}); }

class ReadText final : public ScanSource {
 public:
  ReadText(const PathsArgs& args, const SourceContext& context)
      : ScanSource(args.paths,
                   {.format = storage::RowFormat::kLines,
                    .spec = TextSpec(),
                    .make_scanner =
                        [](int64_t offset) {
                          return std::make_unique<storage::LineScanner>(
                              storage::LineOptions{.offset = offset});
                        }},
                   context) {}
};

}  // namespace

OperatorDef ReadTextDef() {
  return Define<ReadText, PathsArgs>("read_text")
      .Doc("Reads the lines of text files, as the field `text`, without their ends.")
      .Endings({".txt"})
      .Arg("paths", &PathsArgs::paths, kPathsDoc, Required())
      .CanFail([](const PathsArgs&) { return true; })
      .Infer([](const PathsArgs& args, const core::Spec&) {
        return SpecOfPaths(args.paths, TextSpec());
      })
      .Count([](const PathsArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
