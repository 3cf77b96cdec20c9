// Numbers and texts as bytes, little end first, and taking them off again. What is
// taken may come from anywhere: every step is checked. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::codec {

// Appends a number in so many bytes.
void PutNumber(uint64_t number, size_t bytes, std::string& out);

// Appends a number by seven bits a byte; the highest bit says that more follow.
void PutVarint(uint64_t number, std::string& out);

// Appends the length of a text, and the text.
void PutText(std::string_view text, std::string& out);

// Takes numbers and texts off the front of bytes. Errors are DataLoss, and say what is
// damaged.
class Taker {
 public:
  // `what` names the bytes in errors, as in "index"; it is not copied.
  Taker(std::string_view bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  absl::StatusOr<std::string_view> Bytes(size_t size);
  absl::StatusOr<uint64_t> Number(size_t size);
  absl::StatusOr<uint64_t> Varint();

  // A varint that is no more than that.
  absl::StatusOr<int64_t> Count(int64_t most);

  // What PutText wrote.
  absl::StatusOr<std::string_view> Text();

  // Says how the bytes are damaged.
  absl::Status Damaged(std::string_view how) const;

  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::string_view what_;
};

}  // namespace millrace::codec
