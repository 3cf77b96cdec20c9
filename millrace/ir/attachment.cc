#include "millrace/ir/attachment.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"

namespace millrace::ir {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(base::StrCat("attachment is not an array: ", what));
}

// "float32 2 3": the type, then the sizes.
struct Header {
  DType dtype = DType::kBool;
  Shape shape;
};

std::string PrintHeader(const Header& header) {
  std::string line(core::Name(header.dtype));
  for (const int64_t size : header.shape.sizes()) line += base::StrCat(" ", size);
  return line;
}

absl::StatusOr<std::string_view> HeaderLine(std::string_view content) {
  const size_t end = content.substr(0, 1025).find('\n');
  if (end == std::string_view::npos) return Malformed("it has no header");
  return content.substr(0, end);
}

absl::StatusOr<Header> ParseHeader(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(base::ToAbsl(line), ' ');
  const std::optional<DType> dtype = core::ParseDType(words[0]);
  if (!dtype) return Malformed("it begins with no type");
  if (words.size() > kRankMax + 1) return Malformed("too many axes");
  absl::InlinedVector<int64_t, 4> sizes;
  for (size_t i = 1; i < words.size(); ++i) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(words[i], &size) || size < 0) return Malformed("bad size");
    sizes.push_back(size);
  }
  Header header = {*dtype, Shape(sizes)};
  // Only as it is written, so that one array has one name.
  if (PrintHeader(header) != line) return Malformed("its header is not as written");
  const absl::StatusOr<int64_t> count = header.shape.CountChecked();
  if (!count.ok()) return Malformed(base::ToStd(count.status().message()));
  return header;
}

// Texts are written as their lengths, then all their bytes.
absl::StatusOr<Tensor> DecodeTexts(const Header& header, std::string_view body) {
  const int64_t count = header.shape.Count();
  const auto size = static_cast<int64_t>(body.size());
  if (count > size / int64_t{sizeof(int64_t)}) return Malformed("lengths are missing");
  std::string_view data = body.substr(count * sizeof(int64_t));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    std::memcpy(&length, body.data() + i * sizeof(length), sizeof(length));
    if (length > data.size()) return Malformed("texts are cut off");
    texts.emplace_back(data.substr(0, length));
    data.remove_prefix(length);
  }
  if (!data.empty()) return Malformed("bytes are left over");
  return Tensor::FromTexts(texts, header.shape, header.dtype);
}

absl::StatusOr<Tensor> DecodeFixed(const Header& header, std::string_view body) {
  const int64_t bytes = header.shape.Count() * core::SizeOf(header.dtype);
  if (bytes != static_cast<int64_t>(body.size())) {
    return Malformed(base::StrCat(body.size(), " bytes of values, not ", bytes));
  }
  if (header.dtype == DType::kBool &&
      body.find_first_not_of(std::string_view("\0\1", 2)) != std::string_view::npos) {
    return Malformed("a bool is neither 0 nor 1");
  }
  return Tensor::Fixed(header.dtype, header.shape,
                       TRY(core::CopyBytes(body.data(), bytes, core::HeapPool())));
}

}  // namespace

Attachment::Attachment(std::string content)
    : hash_(base::Sha256Of(content)),
      content_(std::make_shared<const std::string>(std::move(content))) {}

void Attachments::Add(const Attachment& attachment) {
  by_hash_.emplace(attachment.hash(), attachment);
}

absl::StatusOr<Attachment> Attachments::Find(const base::Sha256& hash) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) {
    return absl::NotFoundError(
        base::StrCat("attachment is missing: @", base::ToHex(hash)));
  }
  return found->second;
}

Attachment EncodeTensor(const Tensor& tensor) {
  std::string content = PrintHeader({tensor.dtype(), tensor.shape()});
  content += '\n';
  if (!core::IsVariable(tensor.dtype())) {
    content += tensor.values().text();
    return Attachment(std::move(content));
  }
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t length = tensor.TextAt(i).size();
    content.append(reinterpret_cast<const char*>(&length), sizeof(length));
  }
  for (int64_t i = 0; i < tensor.count(); ++i) content += tensor.TextAt(i);
  return Attachment(std::move(content));
}

absl::StatusOr<ValueType> DecodeTensorType(const Attachment& attachment) {
  const Header header = TRY(ParseHeader(TRY(HeaderLine(attachment.content()))));
  return ValueType{header.dtype, header.shape};
}

absl::StatusOr<Tensor> DecodeTensor(const Attachment& attachment) {
  const std::string_view content = attachment.content();
  const std::string_view line = TRY(HeaderLine(content));
  const Header header = TRY(ParseHeader(line));
  const std::string_view body = content.substr(line.size() + 1);
  return core::IsVariable(header.dtype) ? DecodeTexts(header, body)
                                        : DecodeFixed(header, body);
}

}  // namespace millrace::ir
