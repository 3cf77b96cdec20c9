#include "millrace/ops/define.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/type.h"

namespace millrace::ops {

ArgumentOption AtLeast(int64_t least) {
  return [least](ir::ArgumentSchema& schema) { schema.least = least; };
}

ArgumentOption AtMost(int64_t most) {
  return [most](ir::ArgumentSchema& schema) { schema.most = most; };
}

ArgumentOption Required() {
  return [](ir::ArgumentSchema& schema) { schema.default_value.reset(); };
}

ArgumentOption Seed() {
  return [](ir::ArgumentSchema& schema) { schema.is_seed = true; };
}

ArgumentOption BatchSize() {
  return [](ir::ArgumentSchema& schema) { schema.is_batch_size = true; };
}

ArgumentOption Place() {
  return [](ir::ArgumentSchema& schema) { schema.is_place = true; };
}

core::Spec ResultSpec(const ir::Expression& function) {
  std::vector<core::FieldSpec> fields;
  for (const ir::Result& result : function.results()) {
    const ir::ValueType& type = function.type_of(result);
    fields.push_back({result.name, type.dtype, type.shape});
  }
  return core::Spec(std::move(fields));
}

}  // namespace millrace::ops
