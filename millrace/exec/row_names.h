// Says which row an error is about, in the words of the source: a row's identity tells
// its split and its number there, and the file where it begins.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "millrace/exec/pass_plan.h"
#include "millrace/ops/bad_rows.h"

namespace millrace::exec {

// Where something happens.
struct AtPlace {
  int place = 0;  // Of the operator.
  int64_t lane = 0;
};

// "map (%1), lane 6: ...".
absl::Status NamedPlace(const PassPlan& plan, const AtPlace& at,
                        const absl::Status& status);

// "map (%1): row 17 of data/train-003.tar (at byte 10240, key 000017): ..."; of a row
// that was made of others, such as by zip, those. As NamedPlace where the row's
// identity does not tell. Looks into the file, but for rows that are to be left out.
absl::Status NamedRow(const PassPlan& plan, const AtPlace& at, const ops::BadRow& row);

}  // namespace millrace::exec
