#include "millrace/ir/content_hash.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/sha256.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

void HashDigest(const base::Sha256& digest, base::Sha256Hasher& hasher) {
  HashText(base::ToHex(digest), hasher);
}

}  // namespace

void HashText(std::string_view text, base::Sha256Hasher& hasher) {
  hasher.UpdateNumber(text.size());
  hasher.Update(text);
}

void HashTensor(const core::Tensor& tensor, base::Sha256Hasher& hasher) {
  hasher.UpdateNumber(static_cast<uint64_t>(tensor.dtype()));
  hasher.UpdateNumber(tensor.shape().rank());
  for (const int64_t size : tensor.shape().sizes()) hasher.UpdateNumber(size);
  if (!core::IsVariable(tensor.dtype())) {
    HashText(tensor.values().text(), hasher);
    return;
  }
  for (int64_t i = 0; i < tensor.count(); ++i) HashText(tensor.TextAt(i), hasher);
}

void HashValue(const Value& value, base::Sha256Hasher& hasher) {
  HashText(value.KindName(), hasher);
  if (const bool* flag = value.If<bool>(); flag != nullptr) {
    hasher.UpdateNumber(*flag ? 1 : 0);
  } else if (const auto* integer = value.If<int64_t>(); integer != nullptr) {
    hasher.UpdateNumber(static_cast<uint64_t>(*integer));
  } else if (const auto* number = value.If<double>(); number != nullptr) {
    hasher.UpdateNumber(std::bit_cast<uint64_t>(*number));
  } else if (const auto* text = value.If<std::string>(); text != nullptr) {
    HashText(*text, hasher);
  } else if (const auto* bytes = value.If<Attachment>(); bytes != nullptr) {
    HashDigest(bytes->hash(), hasher);
  } else if (const auto* function = value.If<Function>(); function != nullptr) {
    HashDigest((*function)->Fingerprint(), hasher);
  } else if (const List* items = value.If<List>(); items != nullptr) {
    hasher.UpdateNumber(items->size());
    for (const Value& item : *items) HashValue(item, hasher);
  }
}

void HashArguments(const Arguments& arguments, base::Sha256Hasher& hasher) {
  hasher.UpdateNumber(arguments.all().size());
  for (const Argument& argument : arguments.all()) {
    HashText(argument.name, hasher);
    HashValue(argument.value, hasher);
  }
}

void HashTerm(const Term& term, base::Sha256Hasher& hasher) {
  hasher.UpdateNumber(static_cast<uint64_t>(term.kind));
  HashText(term.name, hasher);
  if (term.kind == Term::Kind::kLiteral) {
    hasher.UpdateNumber(term.type.weak ? 1 : 0);
    HashTensor(term.literal, hasher);
  }
  if (term.kind != Term::Kind::kCall) return;
  hasher.UpdateNumber(term.kernel->version);
  hasher.UpdateNumber(static_cast<uint64_t>(term.call_number));
  hasher.UpdateNumber(term.operands.size());
  for (const TermId operand : term.operands) {
    hasher.UpdateNumber(static_cast<uint64_t>(operand));
  }
  HashArguments(term.arguments, hasher);
}

}  // namespace millrace::ir
