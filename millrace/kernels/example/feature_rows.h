// What the kernels read that give the values of one feature: records, the places of
// their entries (entries.h), and the arguments that say which feature is meant and what
// it must be. Also their typing rules. Errors about a row are InvalidArgument and name
// the feature. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/example/entries.h"
#include "millrace/kernels/example/feature.h"
#include "millrace/kernels/example/wire.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {

// --- Types ---

// Checks that an operand can be one record per row.
absl::Status CheckRecord(const ir::ValueType& type);

// Checks the operands and arguments of a reader: a record and places, among them the
// one that is meant.
absl::Status CheckReader(const ir::KernelTypes& types);

// The operands that all readers have, and the arguments `index` and `name`.
std::vector<ir::OperandSchema> ReaderOperands();
std::vector<ir::ArgumentSchema> ReaderArguments();

// The shape that an argument tells; nothing when it is none.
std::optional<core::Shape> ShapeArgument(const ir::Arguments& arguments);

// --- Rows ---

// One record per row, of any layout.
class RecordRows {
 public:
  // Requires: the operand outlives it, and holds texts.
  explicit RecordRows(const ir::Operand& operand);

  // The record of a row, which lives as long as the operand.
  absl::StatusOr<std::string_view> At(int64_t row) const {
    if (plain_) return values_.TextAt(row);
    return SlowlyAt(row);
  }

  // The same where it costs nothing.
  bool PlainAt(int64_t row, std::string_view& record) const {
    if (plain_) record = values_.TextAt(row);
    return plain_;
  }

  // The bytes of all records where they lie in one buffer, in their order.
  const core::Buffer* shared_bytes() const {
    return plain_ && !operand_.constant ? &operand_.column.values() : nullptr;
  }

 private:
  absl::StatusOr<std::string_view> SlowlyAt(int64_t row) const;

  const ir::Operand& operand_;
  Values values_;
  bool plain_ = false;
};

class FeatureRows {
 public:
  // Requires: the call outlives it.
  explicit FeatureRows(const ir::KernelCall& call);

  const RecordRows& records() const { return records_; }

  // What the row's entry begins with where it is plain.
  std::string_view header() const { return header_; }

  // The entry of a row; begins nowhere (null) where the record has none.
  absl::StatusOr<std::string_view> EntryAt(int64_t row) const {
    const absl::StatusOr<std::string_view> record = records_.At(row);
    if (!record.ok()) return record.status();
    const absl::StatusOr<EntryPlace> place = PlaceAt(row);
    if (!place.ok()) return place.status();
    if (place->missing()) return std::string_view();
    const auto size = static_cast<int64_t>(record->size());
    if (place->begin < 0 || place->begin > place->end || place->end > size) {
      return Beyond(*place, size);
    }
    return record->substr(place->begin, place->end - place->begin);
  }

  // What the entry of a row holds, if all of it is plain (entries.h, feature.h).
  bool PlainContentAt(int64_t row, FeatureKind kind, std::string_view& content) const {
    std::string_view record;
    if (places_ == nullptr || !records_.PlainAt(row, record)) return false;
    const int64_t begin = places_[row * row_step_];
    const int64_t end = places_[row * row_step_ + 1];
    if (begin < 0 || begin > end || end > static_cast<int64_t>(record.size())) {
      return false;
    }
    content = record.substr(begin, end - begin);
    return TakePlainValue(content, header_) && TakePlainContent(content, kind);
  }

  // Checks the name of an entry of any form.
  absl::Status CheckName(std::string_view entry, std::string_view record) const;

  // Puts the feature's name before an error.
  absl::Status Annotated(const absl::Status& error) const;

  // What is wrong with a row.
  absl::Status Missing() const;
  absl::Status WrongKind(FeatureKind is, FeatureKind wanted) const;
  absl::Status WrongCount(int64_t is, const core::Shape& wanted) const;

 private:
  absl::StatusOr<EntryPlace> PlaceAt(int64_t row) const {
    if (places_ == nullptr) return SlowPlaceAt(row);
    const int64_t* const place = places_ + row * row_step_;
    return EntryPlace{.begin = place[0], .end = place[1]};
  }

  absl::StatusOr<EntryPlace> SlowPlaceAt(int64_t row) const;
  static absl::Status Beyond(const EntryPlace& place, int64_t size);

  const ir::Operand& entries_;
  RecordRows records_;
  std::string_view name_;
  std::string header_;  // Of a plain entry.
  int64_t index_;
  const int64_t* places_ = nullptr;  // Of dense rows: the first one's.
  int64_t row_step_ = 0;
};

// Adds the values of a row's feature to those collected. False where it is missing.
template <typename T>
absl::StatusOr<bool> CollectValues(const FeatureRows& rows, int64_t row,
                                   FeatureKind kind, std::vector<T>& values) {
  const std::string_view entry = TRY(rows.EntryAt(row));
  if (entry.data() == nullptr) return false;
  const std::string_view record = TRY(rows.records().At(row));
  std::string_view list = entry;
  if (TakePlainValue(list, rows.header()) &&
      TakeOnlyField(list, LengthTag(static_cast<uint32_t>(kind)))) {
    TRY(rows.Annotated(AppendValues(list, record, values)));
    return true;
  }
  TRY(rows.CheckName(entry, record));
  const absl::StatusOr<Feature> feature = ReadFeature(entry, record);
  if (!feature.ok()) return rows.Annotated(feature.status());
  if (feature->lists.empty()) return false;
  if (feature->kind != kind) return rows.WrongKind(feature->kind, kind);
  for (const std::string_view piece : feature->lists) {
    TRY(rows.Annotated(AppendValues(piece, record, values)));
  }
  return true;
}

}  // namespace millrace::kernels
