#include "millrace/adapters/arrow/operators.h"

#include "millrace/ops/library.h"

namespace millrace::arrow {

void AddOperators(ops::Library& library) {
  library.Add(ReadParquetDef());
  library.Add(ReadArrowDef());
  library.AddFormat(ArrowFormat());
  library.AddFormat(ParquetFormat());
}

}  // namespace millrace::arrow
