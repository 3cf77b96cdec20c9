// Rows that were found in a file and are still where they were read: what to copy into
// a block, and what to check. Finding goes through the file in order; making blocks of
// what was found is the larger part of the work, and any thread can do it.
//
//   AddPiece, AddPiece, EndRow, ... ──► TakeComplete ──► GiveRows
//   └────────── one thread, in order ──────────────┘      └─ any thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/ops/source/row_parser.h"
#include "millrace/ops/source/stretch.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

class FoundRows {
 public:
  // Some content of the row that is being found: bytes [begin, begin + size) of a
  // buffer, for a field; the next ones of the same field go on with it.
  struct Piece {
    int32_t field = 0;
    int32_t source = 0;
    int64_t begin = 0;
    int64_t size = 0;
  };

  struct Row {
    int64_t number = 0;  // In its split.
    int64_t begin = 0;   // Where it begins in the file.
    std::optional<uint32_t> crc = {};
    int32_t pieces_end = 0;
    int32_t why = -1;  // What is wrong with it already: the number of a status.
    int64_t key_end = 0;
  };

  void AddPiece(int field, const core::Buffer& source, int64_t begin, int64_t size);

  // Content that is yet to be fetched.
  void AddApart(int field, const SetApart& content, int64_t size);

  void EndRow(const storage::FoundRow& row, int64_t number);

  void DropRow() { pieces_.resize(complete_pieces()); }

  // Nothing more can be found.
  void Lose(absl::Status why) {
    DropRow();
    lost_ = std::move(why);
  }

  // Why; OK when nothing was lost.
  const absl::Status& lost() const { return lost_; }

  int64_t rows() const { return std::ssize(rows_); }

  bool empty() const { return rows_.empty() && lost_.ok(); }

  bool is_full() const { return rows() >= kBlockRows || bytes_ >= kBlockBytes; }

  // Takes the rows that are complete; what is there of an open one stays.
  FoundRows TakeComplete();

  // What was found of a row, in order.
  const Row& row(int64_t place) const { return rows_[place]; }

  absl::Span<const Piece> PiecesOf(int64_t place) const;
  std::string_view KeyOf(int64_t place) const;

  // Those of all rows, one after another.
  std::string_view keys() const { return keys_; }

  // What is wrong with a row, as far as finding it told.
  absl::Status WhyOf(int64_t place) const;

  std::string_view TextOf(const Piece& piece) const {
    return sources_[piece.source].buffer.text().substr(piece.begin, piece.size);
  }

  // A field's content in a row: how long it is, ...
  int64_t ContentBytes(int64_t place, int field) const;

  // ... the one piece it lies in, if it is one, ...
  const Piece* OnlyPiece(int64_t place, int field) const;

  // ... all of it where it is long and lies in one piece, ...
  std::optional<core::Buffer> LongContent(int64_t place, int field) const;

  // ... the sum of such, which may have been taken as it was fetched, ...
  uint32_t SumOfLong(int64_t place, int field) const;

  // ... and a copy of it, at `room`, which is moved behind it. Gives its sum, where
  // wanted.
  uint32_t CopyContent(int64_t place, int field, bool sums, std::byte*& room) const;

  // The one buffer that all rows lie in; null where they lie in several.
  const core::Buffer* OnlySource() const {
    return sources_.size() == 1 ? &sources_[0].buffer : nullptr;
  }

  // Of each source, where the last piece found in it ends.
  std::vector<int64_t> EndsOfSources() const;

  // Whether finding told anything wrong.
  bool any_wrong() const { return !whys_.empty() || !lost_.ok(); }

  // The longest piece of the rows.
  int64_t longest() const { return longest_; }

  // What is to be fetched of the rows, or was.
  std::vector<std::shared_ptr<Stretch>> Wanted() const;

  // The bytes found for a field.
  int64_t BytesOf(int field) const;

 private:
  int64_t complete_pieces() const {
    return rows_.empty() ? 0 : rows_.back().pieces_end;
  }

  struct Source {
    core::Buffer buffer;
    std::shared_ptr<Stretch> rest = nullptr;  // Where it is not all there yet.
  };

  std::vector<Source> sources_;
  std::vector<Piece> pieces_;
  std::vector<Row> rows_;
  std::vector<absl::Status> whys_;
  absl::Status lost_;
  std::string keys_;
  int64_t bytes_ = 0;
  int64_t longest_ = 0;
};

// What a file's rows become.
struct RowsPlan {
  std::string path;
  int64_t split = 0;
  core::Spec spec;       // The scanner's fields, in its order, then the key.
  bool has_key = false;  // The last field is the row's key.
  bool sums = false;     // Rows come with checksums of their content.
  // Set where the scanner's one field is a text that these fields are parsed from.
  MakeRowParser make_parser = {};
};

// What is wrong with a row, and where it stands.
absl::Status WrongRow(const absl::Status& why, const FoundRows::Row& row,
                      const RowsPlan& plan);

// Copies rows into blocks, and checks them. Those that are wrong are told where they
// stand between the others.
absl::Status GiveRows(const FoundRows& found, const RowsPlan& plan,
                      const SourceContext& context, RowsSink& sink);

}  // namespace millrace::ops
