// Between the plug-ins' C structs and our own: types, arguments, errors, and rows as
// views without a copy. Pure; views last as long as the column or arguments they show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {

// A plug-in broke a rule of its interface: no row's fault, so it ends the pass.
absl::Status Breach(std::string_view what);

// What a function said was wrong.
std::string TextOf(const MillraceError& error);

MillraceType ToC(core::DType dtype, const core::Shape& shape);

// Checks the type that a plug-in gave.
absl::StatusOr<ir::ValueType> FromC(const MillraceType& type);

// Checks and reads sizes that a plug-in gave; -1 may be among them.
absl::StatusOr<core::Shape> ShapeFromC(int32_t rank, const int64_t* sizes);

// The fields of a spec. Requires: the spec outlives them.
std::vector<MillraceField> FieldsOf(const core::Spec& spec);

// Checked arguments, in order. Requires: they outlive this.
std::vector<MillraceArgumentValue> ValuesOf(const ir::Arguments& arguments);

class RowViews {
 public:
  // Views `rows` rows. Where `constant`, the column's one row stands for all of them.
  // The error names the first row that has no regular shape.
  static absl::StatusOr<RowViews> Of(const core::Column& column, int64_t rows,
                                     bool constant = false);

  const MillraceValue* values() const { return values_.data(); }

 private:
  // The quick way for one text a row.
  static RowViews OfTexts(const core::Column& column, int64_t rows);

  std::vector<core::Tensor> tensors_;  // What the views point into,
  std::vector<int64_t> ends_;          // or of single texts, 0 and the size of each.
  std::vector<MillraceValue> values_;
};

}  // namespace millrace::plugin
