#include "millrace/kernels/image/chance.h"

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {

ir::ArgumentSchema ChanceArgument(double default_value) {
  return {.name = "p",
          .type = ir::ArgumentType::kFloat,
          .doc = "How likely it is that an image is changed, from 0 to 1.",
          .default_value = default_value};
}

absl::Status CheckChance(const ir::Arguments& arguments) {
  const double chance = ChanceOf(arguments);
  if (chance >= 0 && chance <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument p must be from 0 to 1, not ", chance));
}

}  // namespace millrace::kernels
