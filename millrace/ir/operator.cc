#include "millrace/ir/operator.h"

#include <ostream>
#include <string>

#include "millrace/base/text.h"

namespace millrace::ir {

std::string Cardinality::ToString() const {
  if (known()) return base::StrCat(rows_);
  return infinite() ? "infinite" : "unknown";
}

std::ostream& operator<<(std::ostream& out, const Cardinality& cardinality) {
  return out << cardinality.ToString();
}

}  // namespace millrace::ir
