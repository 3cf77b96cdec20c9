#include "millrace/rewrite/seed_of_both.h"

#include <optional>

#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::rewrite {
namespace {

bool Draws(const ir::Pipeline& node) {
  return node.schema().is_random(node.arguments());
}

}  // namespace

std::optional<ir::Value> SeedOfBoth(const ir::Pipeline& first,
                                    const ir::Pipeline& second) {
  const ir::Value& of_first = first.arguments()["seed"];
  const ir::Value& of_second = second.arguments()["seed"];
  if (of_first == of_second || !Draws(second)) return of_first;
  if (!Draws(first)) return of_second;
  return std::nullopt;
}

}  // namespace millrace::rewrite
