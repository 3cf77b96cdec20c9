// Operators and kernels as JSON: what the methods and functions of other languages, and
// their help, are made from.
#pragma once

#include <string>

#include "millrace/ir/catalog.h"

namespace millrace::api {

// {"operators": [{"name", "doc", "inputs", "more_inputs", "source", "arguments":
// [...]}],
//  "kernels": [{"name", "doc", "operands", "variadic", "random", "arguments": [...]}]}
std::string CatalogToJson(const ir::Catalog& catalog);

}  // namespace millrace::api
