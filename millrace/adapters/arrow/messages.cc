#include "millrace/adapters/arrow/messages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr int64_t kFileBegin = 8;         // The magic and its padding.
constexpr int64_t kTrailer = 10;          // The footer's length and the magic.
constexpr uint32_t kMarker = 0xFFFFFFFF;  // Before a message's length.
constexpr int64_t kReadAtOnce = 4 << 10;
constexpr int64_t kDescriptionMax = int64_t{64} << 20;
constexpr int64_t kMessagesMax = int64_t{1} << 24;

// What a message's header can be.
constexpr uint8_t kSchemaHeader = 1;
constexpr uint8_t kDictionaryHeader = 2;
constexpr uint8_t kBatchHeader = 3;

// A table of a flatbuffer: members are found by their slots. Nothing outside of the
// text is read, whatever it says.
class Table {
 public:
  // The root of a flatbuffer.
  static std::optional<Table> Root(std::string_view text) {
    const std::optional<uint32_t> place = Load<uint32_t>(text, 0);
    if (!place) return std::nullopt;
    return At(text, *place);
  }

  // A number; `missing` where it was left out.
  template <typename T>
  std::optional<T> Number(int slot, T missing) const {
    const std::optional<int64_t> place = PlaceOf(slot);
    if (!place) return std::nullopt;
    if (*place == 0) return missing;
    return Load<T>(text_, *place);
  }

  // A table that this one refers to.
  std::optional<Table> Below(int slot) const {
    const std::optional<int64_t> place = PlaceOf(slot);
    if (!place || *place == 0) return std::nullopt;
    const std::optional<uint32_t> offset = Load<uint32_t>(text_, *place);
    if (!offset) return std::nullopt;
    return At(text_, *place + *offset);
  }

 private:
  Table(std::string_view text, int64_t place, int64_t slots)
      : text_(text), place_(place), slots_(slots) {}

  template <typename T>
  static std::optional<T> Load(std::string_view text, int64_t place) {
    T value = 0;
    const auto size = static_cast<int64_t>(sizeof(T));
    if (place < 0 || place > std::ssize(text) - size) return std::nullopt;
    std::memcpy(&value, text.data() + place, sizeof(T));
    return value;
  }

  static std::optional<Table> At(std::string_view text, int64_t place) {
    const std::optional<int32_t> back = Load<int32_t>(text, place);
    if (!back) return std::nullopt;
    return Table(text, place, place - *back);
  }

  // Where a member lies; 0 where it was left out.
  std::optional<int64_t> PlaceOf(int slot) const {
    const std::optional<uint16_t> size = Load<uint16_t>(text_, slots_);
    if (!size) return std::nullopt;
    const int64_t place = 4 + 2 * slot;
    if (place + 2 > *size) return 0;
    const std::optional<uint16_t> offset = Load<uint16_t>(text_, slots_ + place);
    if (!offset) return std::nullopt;
    return *offset == 0 ? 0 : place_ + *offset;
  }

  std::string_view text_;
  int64_t place_;
  int64_t slots_;  // Where the list of its members' places is.
};

// What the description of a message says.
struct Description {
  uint8_t header = 0;
  int64_t body = 0;
  int64_t rows = 0;
};

std::optional<Description> Describe(std::string_view text) {
  const std::optional<Table> message = Table::Root(text);
  if (!message) return std::nullopt;
  const std::optional<uint8_t> header = message->Number<uint8_t>(1, 0);
  const std::optional<int64_t> body = message->Number<int64_t>(3, 0);
  if (!header || !body || *body < 0) return std::nullopt;
  Description found = {.header = *header, .body = *body};
  if (*header != kBatchHeader) return found;
  const std::optional<Table> batch = message->Below(2);
  if (!batch) return std::nullopt;
  const std::optional<int64_t> rows = batch->Number<int64_t>(0, 0);
  if (!rows || *rows < 0) return std::nullopt;
  found.rows = *rows;
  return found;
}

class Finder {
 public:
  explicit Finder(const storage::Blob& blob) : blob_(blob), end_(blob.info().bytes) {}

  absl::StatusOr<Messages> Find() {
    TRY(FindBorders());
    while (TRY(FindNext())) {
    }
    if (found_.schema.size == 0) return Broken("it has no schema");
    for (BatchMessage& batch : found_.batches) {
      // The file format lets dictionaries stand anywhere.
      if (is_file_) batch.dictionaries = std::ssize(found_.dictionaries);
    }
    return std::move(found_);
  }

 private:
  absl::Status Broken(std::string_view what) const {
    return absl::DataLossError(base::StrCat("it is no Arrow file, or broken: ", what,
                                            "; file ", blob_.info().path));
  }

  absl::StatusOr<std::string> Read(int64_t offset, int64_t size) const {
    std::string text(std::min(size, blob_.info().bytes - offset), '\0');
    const int64_t got = TRY(blob_.Read(
        offset,
        absl::Span<std::byte>(reinterpret_cast<std::byte*>(text.data()), text.size())));
    text.resize(got);
    return text;
  }

  // Where messages begin and end.
  absl::Status FindBorders() {
    const std::string begin = TRY(Read(0, kFileBegin));
    is_file_ = begin.starts_with(kMagic);
    if (!is_file_) return absl::OkStatus();
    if (end_ < kFileBegin + kTrailer) return Broken("it is cut off");
    const std::string trailer = TRY(Read(end_ - kTrailer, kTrailer));
    int32_t footer = 0;
    if (std::ssize(trailer) < kTrailer || !trailer.ends_with(kMagic)) {
      return Broken("it is cut off");
    }
    std::memcpy(&footer, trailer.data(), sizeof(footer));
    if (footer < 0 || footer > end_ - kFileBegin - kTrailer) {
      return Broken("its footer is longer than the file");
    }
    end_ -= kTrailer + footer;
    at_ = kFileBegin;
    return absl::OkStatus();
  }

  // Gives whether there was one more.
  absl::StatusOr<bool> FindNext() {
    if (at_ >= end_) return false;
    std::string text = TRY(Read(at_, std::min(kReadAtOnce, end_ - at_)));
    if (text.size() < 4) return Broken("it is cut off");
    uint32_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    int64_t before = sizeof(word);  // Old files have no marker.
    if (word == kMarker) {
      before += sizeof(word);
      if (text.size() < 8) return Broken("it is cut off");
      std::memcpy(&word, text.data() + 4, sizeof(word));
    }
    if (word == 0) return false;
    const int64_t size = before + word;
    if (word > kDescriptionMax || size > end_ - at_) {
      return Broken(base::StrCat("a message at byte ", at_, " is cut off"));
    }
    if (std::ssize(text) < size) text = TRY(Read(at_, size));
    if (std::ssize(text) < size) return Broken("it is cut off");
    return Add(std::string_view(text).substr(before, word), size);
  }

  absl::StatusOr<bool> Add(std::string_view text, int64_t size) {
    const std::optional<Description> found = Describe(text);
    if (!found) return Broken(base::StrCat("a message at byte ", at_, " is broken"));
    if (found->body > end_ - at_ - size) {
      return Broken(base::StrCat("a message at byte ", at_, " is cut off"));
    }
    if (std::ssize(found_.batches) + std::ssize(found_.dictionaries) > kMessagesMax) {
      return Broken("it has too many messages");
    }
    const Message message = {at_, size + found->body};
    at_ += message.size;
    const bool has_schema = found_.schema.size > 0;
    if (has_schema == (found->header == kSchemaHeader)) {
      return Broken(base::StrCat(
          "a message at byte ", message.offset,
          has_schema ? " is a second schema" : " comes before the schema"));
    }
    if (found->header == kSchemaHeader) {
      found_.schema = message;
    } else if (found->header == kDictionaryHeader) {
      found_.dictionaries.push_back(message);
    } else if (found->header == kBatchHeader) {
      found_.batches.push_back({message, found->rows, std::ssize(found_.dictionaries)});
    } else {
      return Broken(base::StrCat("a message at byte ", message.offset,
                                 " is neither a batch nor a dictionary"));
    }
    return true;
  }

  const storage::Blob& blob_;
  int64_t end_;
  int64_t at_ = 0;
  bool is_file_ = false;
  Messages found_;
};

}  // namespace

absl::StatusOr<Messages> FindMessages(const storage::Blob& blob) {
  return Finder(blob).Find();
}

}  // namespace millrace::arrow
