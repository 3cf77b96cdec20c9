// ReadFixed: rows of one length.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/paths.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/fixed.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBytesMax = int64_t{1} << 40;

struct ReadFixedArgs {
  std::vector<std::string> paths;
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
};

core::Spec RecordSpec() { return core::Spec({{"record", core::DType::kBytes, {}}}); }

storage::FixedOptions OptionsOf(const ReadFixedArgs& args) {
  return {.record_bytes = args.record_bytes,
          .header_bytes = args.header_bytes,
          .footer_bytes = args.footer_bytes};
}

class ReadFixed final : public ScanSource {
 public:
  ReadFixed(const ReadFixedArgs& args, const SourceContext& context)
      : ScanSource(args.paths,
                   {.spec = RecordSpec(),
                    .indexes = false,
                    .fixed = OptionsOf(args),
                    .make_scanner =
                        [options = OptionsOf(args)](int64_t) {
                          return std::make_unique<storage::FixedScanner>(options);
                        }},
                   context) {}
};

}  // namespace

OperatorDef ReadFixedDef() {
  return Define<ReadFixed, ReadFixedArgs>("read_fixed")
      .Doc(
          "Reads files whose rows all have the same length, as the field `record`. How "
          "many there are is told by a file's size, unless it is compressed.")
      .Arg("paths", &ReadFixedArgs::paths, kPathsDoc, Required())
      .Arg("record_bytes", &ReadFixedArgs::record_bytes, "The bytes of a row.",
           AtLeast(1), AtMost(kBytesMax), Required())
      .Arg("header_bytes", &ReadFixedArgs::header_bytes,
           "Bytes at the beginning of each file that are no row.", AtLeast(0),
           AtMost(kBytesMax))
      .Arg("footer_bytes", &ReadFixedArgs::footer_bytes,
           "Bytes at the end of each file that are no row.", AtLeast(0),
           AtMost(kBytesMax))
      .CanFail([](const ReadFixedArgs&) { return true; })
      .Infer([](const ReadFixedArgs& args, const core::Spec&) {
        return SpecOfPaths(args.paths, RecordSpec());
      })
      .Count([](const ReadFixedArgs&, const ir::Cardinality&) {
        return ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
