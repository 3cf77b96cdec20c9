// What users see of the operators, made from their definitions: the C++ builder
// (`dataset.h`). The text is kept in the tree, so that readers and editors see real
// code; a test compares, and `make golden` writes it anew.
#pragma once

#include <string>

#include "millrace/ir/catalog.h"

namespace millrace::ops {

// Gives the text of `dataset.h`: options and a method for every operator.
std::string DatasetHeader(const ir::Catalog& catalog);

}  // namespace millrace::ops
