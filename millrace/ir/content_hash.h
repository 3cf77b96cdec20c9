// Feeds the parts of a pipeline into a hash, each with its length or kind before it, so
// that two different pipelines never look alike. Fingerprints are made of this.
#pragma once

#include <string_view>

#include "millrace/base/sha256.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

void HashText(std::string_view text, base::Sha256Hasher& hasher);
void HashTensor(const core::Tensor& tensor, base::Sha256Hasher& hasher);
void HashValue(const Value& value, base::Sha256Hasher& hasher);
void HashArguments(const Arguments& arguments, base::Sha256Hasher& hasher);
void HashTerm(const Term& term, base::Sha256Hasher& hasher);

}  // namespace millrace::ir
