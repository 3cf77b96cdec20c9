// Bytes that travel beside a pipeline's text, named by their content: large arrays,
// serialised functions. The text refers to them as @<sha-256 in hex>. A set of them is
// a plain value; the bytes are shared, never copied.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/base/sha256.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"

namespace millrace::ir {

class Attachment {
 public:
  explicit Attachment(std::string content);

  const base::Sha256& hash() const { return hash_; }

  std::string_view content() const { return *content_; }

  friend bool operator==(const Attachment& a, const Attachment& b) {
    return a.hash_ == b.hash_;
  }

 private:
  base::Sha256 hash_;
  std::shared_ptr<const std::string> content_;
};

class Attachments {
 public:
  void Add(const Attachment& attachment);

  // Finds one by hash; NotFound names it.
  absl::StatusOr<Attachment> Find(const base::Sha256& hash) const;

  const std::map<base::Sha256, Attachment>& all() const { return by_hash_; }

 private:
  std::map<base::Sha256, Attachment> by_hash_;
};

// Writes a tensor as an attachment: its type and shape in text, a line feed, its bytes.
Attachment EncodeTensor(const core::Tensor& tensor);

// Reads the type and shape of what EncodeTensor wrote; the values are not looked at.
absl::StatusOr<ValueType> DecodeTensorType(const Attachment& attachment);

// Reads what EncodeTensor wrote; anything else is an error.
absl::StatusOr<core::Tensor> DecodeTensor(const Attachment& attachment);

}  // namespace millrace::ir
