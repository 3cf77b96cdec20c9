#include "millrace/ops/source/found_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/found_columns.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/ops/source/stretch.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

void FoundRows::AddPiece(int field, const core::Buffer& source, int64_t begin,
                         int64_t size) {
  if (sources_.empty() || sources_.back().buffer.data() != source.data()) {
    sources_.push_back({.buffer = source});
  }
  pieces_.push_back({.field = field,
                     .source = static_cast<int32_t>(sources_.size() - 1),
                     .begin = begin,
                     .size = size});
}

void FoundRows::AddApart(int field, const SetApart& content, int64_t size) {
  sources_.push_back({.buffer = content.room, .rest = content.rest});
  AddPiece(field, content.room, content.begin, size);
}

std::vector<std::shared_ptr<Stretch>> FoundRows::Wanted() const {
  std::vector<std::shared_ptr<Stretch>> wanted;
  for (const Piece& piece : pieces_) {
    const std::shared_ptr<Stretch>& rest = sources_[piece.source].rest;
    if (rest != nullptr) wanted.push_back(rest);
  }
  return wanted;
}

void FoundRows::EndRow(const storage::FoundRow& row, int64_t number) {
  for (int64_t i = complete_pieces(); i < std::ssize(pieces_); ++i) {
    bytes_ += pieces_[i].size;
    longest_ = std::max(longest_, pieces_[i].size);
  }
  int32_t why = -1;
  if (!row.why.ok()) {
    why = static_cast<int32_t>(whys_.size());
    whys_.push_back(row.why);
  }
  keys_ += row.key;
  rows_.push_back({.number = number,
                   .begin = row.begin,
                   .crc = row.crc,
                   .pieces_end = static_cast<int32_t>(pieces_.size()),
                   .why = why,
                   .key_end = std::ssize(keys_)});
}

FoundRows FoundRows::TakeComplete() {
  FoundRows open;
  open.rows_.reserve(rows_.size());  // As many will probably come again.
  open.pieces_.reserve(pieces_.size());
  for (int64_t i = complete_pieces(); i < std::ssize(pieces_); ++i) {
    const Piece& piece = pieces_[i];
    const Source& source = sources_[piece.source];
    if (source.rest != nullptr) open.sources_.push_back(source);
    open.AddPiece(piece.field, source.buffer, piece.begin, piece.size);
  }
  DropRow();
  return std::exchange(*this, std::move(open));
}

absl::Span<const FoundRows::Piece> FoundRows::PiecesOf(int64_t place) const {
  const int64_t begin = place == 0 ? 0 : rows_[place - 1].pieces_end;
  return absl::MakeConstSpan(pieces_).subspan(begin, rows_[place].pieces_end - begin);
}

std::string_view FoundRows::KeyOf(int64_t place) const {
  const int64_t begin = place == 0 ? 0 : rows_[place - 1].key_end;
  return std::string_view(keys_).substr(begin, rows_[place].key_end - begin);
}

absl::Status FoundRows::WhyOf(int64_t place) const {
  const int32_t why = rows_[place].why;
  return why < 0 ? absl::OkStatus() : whys_[why];
}

int64_t FoundRows::BytesOf(int field) const {
  int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.field == field ? piece.size : 0;
  return bytes;
}

namespace {

// The pieces of the first field, of those that are left of a row: one, or more where
// the content lies in several buffers.
absl::Span<const FoundRows::Piece> FirstField(
    absl::Span<const FoundRows::Piece> pieces) {
  size_t size = 1;
  while (size < pieces.size() && pieces[size].field == pieces[0].field) ++size;
  return pieces.first(size);
}

// Copies the content of one field, and sums it up where wanted.
absl::StatusOr<uint32_t> CopyField(const FoundRows& found,
                                   absl::Span<const FoundRows::Piece> pieces, bool sums,
                                   RowBuilder& builder) {
  int64_t size = 0;
  for (const FoundRows::Piece& piece : pieces) size += piece.size;
  // Long content that lies in one piece stays where it is.
  if (pieces.size() == 1 && size >= kLongTextBytes) {
    const core::Buffer text = found.BytesOf(pieces[0]);
    if (builder.Adopt(pieces[0].field, text)) {
      return sums ? codec::Crc32c(text.text()) : 0;
    }
  }
  std::byte* room = TRY(builder.RoomFor(pieces[0].field, size));
  uint32_t crc = 0;
  if (room == nullptr) return crc;
  for (const FoundRows::Piece& piece : pieces) {
    const std::string_view text = found.TextOf(piece);
    if (sums) {
      crc = codec::CopyWithCrc32c(room, text, crc);
    } else if (!text.empty()) {
      std::memcpy(room, text.data(), text.size());
    }
    room += piece.size;
  }
  return crc;
}

absl::Status CopyRow(const FoundRows& found, int64_t place, bool sums,
                     RowBuilder& builder) {
  uint32_t crc = 0;
  for (absl::Span<const FoundRows::Piece> left = found.PiecesOf(place);
       !left.empty();) {
    const absl::Span<const FoundRows::Piece> field = FirstField(left);
    crc = TRY(CopyField(found, field, sums, builder));
    left.remove_prefix(field.size());
  }
  const std::optional<uint32_t> wanted = found.row(place).crc;
  if (!wanted || *wanted == crc) return absl::OkStatus();
  return absl::DataLossError("content does not fit its checksum");
}

absl::Status AddRow(const FoundRows& found, int64_t place, const RowsPlan& plan,
                    RowBuilder& builder) {
  absl::Status row = found.WhyOf(place);
  if (row.ok()) row = CopyRow(found, place, plan.sums, builder);
  if (row.ok() && plan.has_key) {
    row = builder.Put(static_cast<int>(plan.spec.fields().size()) - 1,
                      found.KeyOf(place));
  }
  if (!row.ok()) {
    builder.DropRow();
    return row;
  }
  return builder.EndRow(found.row(place).number);
}

absl::Status GiveBlock(RowBuilder& builder, int64_t split, RowsSink& sink) {
  if (builder.rows() == 0) return absl::OkStatus();
  return sink.Give(TRY(builder.TakeBlock(split)));
}

}  // namespace

absl::Status GiveRows(const FoundRows& found, const RowsPlan& plan,
                      const SourceContext& context, RowsSink& sink) {
  for (const std::shared_ptr<Stretch>& content : found.Wanted()) {
    TRY(content->status());
  }
  if (std::optional<core::Block> block = TRY(CopyColumns(found, plan, context))) {
    return sink.Give(*std::move(block));
  }
  RowBuilder builder(plan.spec, context);
  builder.Expect(found.rows());
  for (int field = 0; field < std::ssize(plan.spec.fields()); ++field) {
    builder.ExpectBytes(field, found.BytesOf(field));
  }
  for (int64_t place = 0; place < found.rows(); ++place) {
    absl::Status row = AddRow(found, place, plan, builder);
    if (row.ok()) continue;
    if (!absl::IsDataLoss(row)) return row;  // There is no memory.
    TRY(GiveBlock(builder, plan.split, sink));
    TRY(sink.LeaveOut(
        {.why = absl::Status(
             row.code(), base::StrCat(row.message(), ", in the row at byte ",
                                      found.row(place).begin, "; file ", plan.path))}));
  }
  TRY(GiveBlock(builder, plan.split, sink));
  return found.lost().ok() ? absl::OkStatus() : sink.LeaveOut({.why = found.lost()});
}

}  // namespace millrace::ops
