// ReadArrow: the rows of Arrow IPC files.

#include <utility>

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/columnar_source.h"
#include "millrace/adapters/arrow/operators.h"
#include "millrace/ops/define.h"
#include "millrace/ops/source.h"

namespace millrace::arrow {
namespace {

class ReadArrow final : public ColumnarSource {
 public:
  ReadArrow(ColumnarArgs args, const ops::SourceContext& context)
      : ColumnarSource(FileFormat::kMessages, std::move(args), context) {}
};

}  // namespace

ops::OperatorDef ReadArrowDef() {
  return DefineColumnar<ReadArrow>("read_arrow", FileFormat::kMessages)
      .Doc(
          "Reads Arrow IPC files (Feather 2) and saved streams. A struct's fields are "
          "named `outer.inner`, lists have an axis more; dates and times are int64, in "
          "the unit of the file.")
      .Endings({".arrow", ".arrows", ".feather"});
}

}  // namespace millrace::arrow
