// What is known about the rows of a pipeline before it runs: the fields, their types,
// and their shapes as far as they are known. Nested structure is spelt in field names,
// as paths: "image.pixels". A plain value.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"

namespace millrace::core {

struct FieldSpec {
  std::string name;
  DType dtype = DType::kBool;
  Shape shape;

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

class Spec {
 public:
  Spec() = default;

  explicit Spec(std::vector<FieldSpec> fields) : fields_(std::move(fields)) {}

  const std::vector<FieldSpec>& fields() const { return fields_; }

  // Finds a field by name; null when there is none.
  const FieldSpec* Find(std::string_view name) const;

  // The spec of batches of such rows: every field has one axis more, in front.
  Spec Stacked(int64_t size) const;

  // The spec of the rows that such batches are made of. An error names a field without
  // a leading axis.
  absl::StatusOr<Spec> Unstacked() const;

  // "{value: int64, image: uint8[?, ?, 3]}"; spec_text.h reads it.
  std::string ToString() const;

  // "image, label": the names alone, for messages.
  std::string Names() const;

  friend bool operator==(const Spec&, const Spec&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Spec& spec);

 private:
  std::vector<FieldSpec> fields_;
};

// Checks that a name can be a field's: of sane length, and a path without empty steps.
absl::Status CheckFieldName(std::string_view name);

// Checks that every row of a column is what the spec says. An unknown size may differ
// even within a row, as in ragged batches.
absl::Status CheckAdmits(const FieldSpec& spec, const Column& column);

}  // namespace millrace::core
