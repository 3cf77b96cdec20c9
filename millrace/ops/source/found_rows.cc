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
#include "millrace/ops/source/parsed_rows.h"
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

int64_t FoundRows::ContentBytes(int64_t place, int field) const {
  int64_t bytes = 0;
  for (const Piece& piece : PiecesOf(place)) {
    bytes += piece.field == field ? piece.size : 0;
  }
  return bytes;
}

const FoundRows::Piece* FoundRows::OnlyPiece(int64_t place, int field) const {
  const Piece* only = nullptr;
  for (const Piece& piece : PiecesOf(place)) {
    if (piece.field != field) continue;
    if (only != nullptr) return nullptr;
    only = &piece;
  }
  return only;
}

std::optional<core::Buffer> FoundRows::LongContent(int64_t place, int field) const {
  const Piece* const only = OnlyPiece(place, field);
  if (only == nullptr || only->size < kLongTextBytes) return std::nullopt;
  return sources_[only->source].buffer.Slice(only->begin, only->size);
}

uint32_t FoundRows::SumOfLong(int64_t place, int field) const {
  const Piece& only = *OnlyPiece(place, field);
  const std::shared_ptr<Stretch>& rest = sources_[only.source].rest;
  const std::optional<uint32_t> taken = rest == nullptr ? std::nullopt : rest->sum();
  return taken ? *taken : codec::Crc32c(TextOf(only));
}

uint32_t FoundRows::CopyContent(int64_t place, int field, bool sums,
                                std::byte*& room) const {
  uint32_t crc = 0;
  for (const Piece& piece : PiecesOf(place)) {
    if (piece.field != field) continue;
    const std::string_view text = TextOf(piece);
    if (sums) {
      crc = codec::CopyWithCrc32c(room, text, crc);
    } else if (!text.empty()) {
      std::memcpy(room, text.data(), text.size());
    }
    room += text.size();
  }
  return crc;
}

std::vector<int64_t> FoundRows::EndsOfSources() const {
  std::vector<int64_t> ends(sources_.size());
  for (const Piece& piece : pieces_) {
    ends[piece.source] = std::max(ends[piece.source], piece.begin + piece.size);
  }
  return ends;
}

int64_t FoundRows::BytesOf(int field) const {
  int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.field == field ? piece.size : 0;
  return bytes;
}

namespace {

// Gives a row's content of one field to the builder: a copy, but for what is long and
// lies in one piece, which stays where it is. Gives its sum where wanted.
absl::StatusOr<uint32_t> TakeContent(const FoundRows& found, int64_t place, int field,
                                     bool sums, RowBuilder& builder) {
  if (const std::optional<core::Buffer> text = found.LongContent(place, field)) {
    if (builder.Adopt(field, *text)) return sums ? found.SumOfLong(place, field) : 0;
  }
  std::byte* room = TRY(builder.RoomFor(field, found.ContentBytes(place, field)));
  return room == nullptr ? 0 : found.CopyContent(place, field, sums, room);
}

// Every field of the row was found, as nothing is wrong with it.
absl::Status CopyRow(const FoundRows& found, int64_t place, const RowsPlan& plan,
                     RowBuilder& builder) {
  const auto fields = static_cast<int>(plan.spec.fields().size());
  uint32_t crc = 0;
  for (int field = 0; field < fields - (plan.has_key ? 1 : 0); ++field) {
    crc = TRY(TakeContent(found, place, field, plan.sums, builder));
  }
  if (found.row(place).crc.value_or(crc) != crc) {
    return absl::DataLossError("content does not fit its checksum");
  }
  return plan.has_key ? builder.Put(fields - 1, found.KeyOf(place)) : absl::OkStatus();
}

absl::Status AddRow(const FoundRows& found, int64_t place, const RowsPlan& plan,
                    RowBuilder& builder) {
  absl::Status row = found.WhyOf(place);
  if (row.ok()) row = CopyRow(found, place, plan, builder);
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

absl::Status WrongRow(const absl::Status& why, const FoundRows::Row& row,
                      const RowsPlan& plan) {
  return absl::Status(why.code(), base::StrCat(why.message(), ", in the row at byte ",
                                               row.begin, "; file ", plan.path));
}

absl::Status GiveRows(const FoundRows& found, const RowsPlan& plan,
                      const SourceContext& context, RowsSink& sink) {
  for (const std::shared_ptr<Stretch>& content : found.Wanted()) {
    TRY(content->status());
  }
  if (plan.make_parser) return GiveParsed(found, plan, context, sink);
  if (std::optional<core::Block> block = TRY(MakeByField(found, plan, context))) {
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
    TRY(sink.LeaveOut({.why = WrongRow(row, found.row(place), plan)}));
  }
  TRY(GiveBlock(builder, plan.split, sink));
  return found.lost().ok() ? absl::OkStatus() : sink.LeaveOut({.why = found.lost()});
}

}  // namespace millrace::ops
