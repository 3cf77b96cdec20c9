// The part of the C++ builder that no operator decides: a pipeline under construction,
// or the first mistake that was made in it. `dataset.h` adds a method for each
// operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::ops {

class DatasetBase {
 public:
  // Gives the pipeline, or why there is none: an error names the operator.
  const absl::StatusOr<ir::Pipeline>& pipeline() const { return pipeline_; }

 protected:
  explicit DatasetBase(absl::StatusOr<ir::Pipeline> pipeline)
      : pipeline_(std::move(pipeline)) {}

  // Starts with a source.
  static absl::StatusOr<ir::Pipeline> Start(std::string_view source,
                                            const ir::Arguments& arguments);

  // Puts an operator behind; a mistake made before stays the first.
  absl::StatusOr<ir::Pipeline> Then(std::string_view name,
                                    const ir::Arguments& arguments) const;

  // The same with further inputs, which may have been built apart from this one.
  absl::StatusOr<ir::Pipeline> ThenWith(std::string_view name,
                                        const ir::Arguments& arguments,
                                        const std::vector<DatasetBase>& others) const;

  // The same for operators that call a function: traced over the rows at this place.
  absl::StatusOr<ir::Pipeline> Then(std::string_view name, ir::Arguments arguments,
                                    std::string_view argument,
                                    const ir::RowFunction& function) const;
  absl::StatusOr<ir::Pipeline> Then(std::string_view name, ir::Arguments arguments,
                                    std::string_view argument,
                                    const ir::ValueFunction& function) const;

 private:
  absl::StatusOr<ir::Pipeline> pipeline_;
};

// An option as plain data.
template <typename T>
ir::Value ToValue(const T& option) {
  return ir::Value(option);
}

template <typename T>
ir::Value ToValue(const std::optional<T>& option) {
  return option ? ToValue(*option) : ir::Value();
}

template <typename T>
ir::Value ToValue(const std::vector<T>& options) {
  ir::List items;
  for (const T& option : options) items.push_back(ToValue(option));
  return ir::Value(std::move(items));
}

}  // namespace millrace::ops
