// ReadParquet: the rows of Parquet files.

#include <utility>

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/columnar_source.h"
#include "millrace/adapters/arrow/operators.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"

namespace millrace::arrow {
namespace {

class ReadParquet final : public ColumnarSource {
 public:
  ReadParquet(ColumnarArgs args, const ops::SourceContext& context)
      : ColumnarSource(FileFormat::kParquet, std::move(args), context) {}
};

}  // namespace

ops::OperatorDef ReadParquetDef() {
  return DefineColumnar<ReadParquet>("read_parquet", FileFormat::kParquet)
      .Doc(
          "Reads Parquet files. A struct's fields are named `outer.inner`, lists have "
          "an axis more; dates and times are int64, in the unit of the file.")
      .Endings({".parquet"});
}

}  // namespace millrace::arrow
