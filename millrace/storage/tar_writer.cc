#include "millrace/storage/tar_writer.h"

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::storage {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kNameMax = 100;

// A member's header: fields of fixed width, numbers in octal.
std::string Header(std::string_view name, size_t size) {
  std::string header(kBlock, '\0');
  const auto put = [&](size_t at, std::string_view text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, absl::StrFormat("%011o", size));
  put(136, "00000000000");
  put(148, "        ");  // The sum is taken with spaces in its own place.
  put(156, "0");
  put(257, std::string_view("ustar\00000", 8));
  const int sum = std::accumulate(
      header.begin(), header.end(), 0,
      [](int so_far, char c) { return so_far + static_cast<unsigned char>(c); });
  put(148, absl::StrFormat("%06o", sum) + std::string("\0 ", 2));
  return header;
}

}  // namespace

absl::Status TarWriter::Add(std::string_view name, std::string_view content) {
  if (name.empty() || name.size() > kNameMax) {
    return absl::InvalidArgumentError(
        base::StrCat("tar: a name must have 1 to ", kNameMax, " bytes: ", name));
  }
  TRY(file_->Append(Header(name, content.size())));
  TRY(file_->Append(content));
  const size_t over = content.size() % kBlock;
  return over == 0 ? absl::OkStatus() : file_->Append(std::string(kBlock - over, '\0'));
}

absl::Status TarWriter::Publish() {
  TRY(file_->Append(std::string(2 * kBlock, '\0')));
  return file_->Publish(Sync::kNow);
}

}  // namespace millrace::storage
