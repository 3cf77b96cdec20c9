// Which results of a row function can fail on a row. A rewrite may stop computing a
// result that nobody reads only when it cannot fail: else a row that is an error today
// would be data tomorrow.
#pragma once

#include <string>
#include <vector>

#include "millrace/ir/expression.h"

namespace millrace::rewrite {

// Gives the names of the results of which any term can fail.
std::vector<std::string> FailingResults(const ir::Expression& function);

// Whether any of its results can.
bool CanFail(const ir::Expression& function);

}  // namespace millrace::rewrite
