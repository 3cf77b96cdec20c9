// What fields of WebDataset's tar files are, by their names.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/dtype.h"

namespace millrace::ops {

// The field that holds what the members of a row share of their names.
inline constexpr std::string_view kTarKey = "__key__";

// The type of a field, by the last part of its name: "cls", "seg.cls".
inline core::DType TarTypeOf(const std::string& field) {
  const std::string last = field.substr(field.rfind('.') + 1);
  if (last == "cls" || field == "index") return core::DType::kInt64;
  return last == "txt" ? core::DType::kString : core::DType::kBytes;
}

}  // namespace millrace::ops
