// Between plain values and the engine's own; for the other files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/python/plain.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::python {

// Throws what is not OK.
void Check(const absl::Status& status);

// Marks an error of a user's function, which has a code of its own in Python.
absl::Status OfFunction(absl::Status error);

template <typename T>
T Checked(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

// All operators and kernels that Python can name, Arrow's among them.
const ops::Library& Library();
const ir::Catalog& Catalog();

ir::Value ToValue(const Argument& argument);
ir::Arguments ToArguments(const NamedArguments& arguments);

// A value of Python's; arrays are copied.
absl::StatusOr<core::Tensor> ToTensor(const Plain& value);

Axes ToAxes(const core::Shape& shape);
std::vector<FieldType> ToFields(const core::Spec& spec);
FieldType ToFieldType(const ir::ValueType& type);

}  // namespace millrace::python
