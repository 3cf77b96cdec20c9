#include "millrace/rewrite/failing_results.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "millrace/ir/expression.h"

namespace millrace::rewrite {

std::vector<std::string> FailingResults(const ir::Expression& function) {
  std::vector<bool> fails;  // By term: itself or anything it needs.
  for (const ir::Term& term : function.terms()) {
    fails.push_back(function.CanFail(term) ||
                    std::ranges::any_of(term.operands, [&](ir::TermId operand) {
                      return fails[static_cast<size_t>(operand)];
                    }));
  }
  std::vector<std::string> names;
  for (const ir::Result& result : function.results()) {
    if (fails[static_cast<size_t>(result.term)]) names.push_back(result.name);
  }
  return names;
}

bool CanFail(const ir::Expression& function) {
  return !FailingResults(function).empty();
}

}  // namespace millrace::rewrite
