// Makes fields of the texts of rows: JSON lines, CSV. A parser is made for the rows of
// one block, wherever blocks are made of what was found, so it shares nothing and needs
// no lock. It does not know where a text stood; whoever gives it rows does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/pool.h"

namespace millrace::ops {

// A row as it was found, and how many bytes behind it can be read as well.
struct RowText {
  std::string_view text;
  int64_t slack = 0;
};

class RowParser {
 public:
  virtual ~RowParser() = default;

  // Takes a row. DataLoss when it is wrong; nothing of it is kept then.
  virtual absl::Status Add(const RowText& row) = 0;

  // Gives the columns of the rows taken, one a field, and begins anew.
  virtual absl::StatusOr<std::vector<core::Column>> Take() = 0;
};

// Makes a parser for about so many rows.
using MakeRowParser =
    std::function<std::unique_ptr<RowParser>(int64_t rows, core::Pool& pool)>;

}  // namespace millrace::ops
