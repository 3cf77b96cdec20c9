#include "millrace/lanes/cursor.h"

#include <string>

#include "millrace/base/hash.h"
#include "millrace/base/text.h"

namespace millrace::lanes {

std::string ToString(const Cursor& cursor) {
  return base::StrCat("lane ", cursor.lane, " row ", cursor.rows, " digest ",
                      base::ToHex(cursor.digest.value()));
}

}  // namespace millrace::lanes
