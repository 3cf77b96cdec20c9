// Feeds the splitter of CSV rows anything: whatever the cells are, they take no more
// bytes than the row has, and one cell more than it has separators at most.

#include "millrace/ops/source/csv_cells.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view row(reinterpret_cast<const char*>(data), size);
  millrace::ops::CsvCells cells({});
  const absl::Status split = cells.Split(row, size + 1);
  CHECK(split.ok() || absl::IsDataLoss(split)) << split;
  if (!split.ok()) return 0;
  size_t bytes = 0;
  for (size_t i = 0; i < cells.count(); ++i) bytes += cells[i].text.size();
  CHECK(bytes <= size);
  CHECK(cells.count() <= 1 + static_cast<size_t>(std::ranges::count(row, ',')));
  return 0;
}
