#include "millrace/plugin/given_rows.h"

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

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/spec.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"
#include "millrace/plugin/c_values.h"
#include "millrace/plugin/millrace_plugin.h"
#include "millrace/plugin/rows_writer.h"

namespace millrace::plugin {
namespace {

std::shared_ptr<const core::FieldNames> NamesOf(const core::Spec& spec) {
  core::FieldNames names;
  for (const core::FieldSpec& field : spec.fields()) names.push_back(field.name);
  return std::make_shared<const core::FieldNames>(std::move(names));
}

}  // namespace

GivenRows::GivenRows(Promises promises, const ops::LaneContext& lane)
    : promises_(std::move(promises)),
      lane_(lane),
      names_(NamesOf(promises_.spec)),
      reach_(promises_.rows_held, lane.pool) {}

void GivenRows::BeginPush(core::Block block, ops::Emitter& out) {
  first_ = reach_.end();
  block_ = block;
  reach_.Push(std::move(block));
  out_ = &out;
}

void GivenRows::BeginFinish(ops::Emitter& out) {
  first_ = reach_.end();
  out_ = &out;
}

int32_t GivenRows::Note(const absl::Status& status) {
  if (status_.ok()) status_ = status;
  return status_.ok() ? kMillraceOk : kMillraceError;
}

MillraceEmitter GivenRows::Callbacks() {
  return {
      .host = this,
      .begin =
          [](void* host, int64_t rows, const int64_t* from) {
            auto& to = *static_cast<GivenRows*>(host);
            return to.Note(to.status_.ok() ? to.Begin(rows, from) : to.status_);
          },
      .allocate =
          [](void* host, int64_t field, MillraceRoom* room) {
            auto& to = *static_cast<GivenRows*>(host);
            return to.Note(to.status_.ok() ? to.Allocate(field, *room) : to.status_);
          },
      .bad_row =
          [](void* host, int64_t row, const char* why) {
            auto& to = *static_cast<GivenRows*>(host);
            return to.Note(to.status_.ok() ? to.BadRow(row, why) : to.status_);
          }};
}

absl::Status GivenRows::Begin(int64_t rows, const int64_t* from) {
  TRY(PassOn());
  const bool too_many =
      !promises_.has(kMillraceMoreRows) && rows > reach_.end() - reach_.begin();
  if (rows < 0 || too_many || (rows > 0 && from == nullptr)) {
    return Breach(base::StrCat("begins to give ", rows, " rows from ",
                               reach_.end() - reach_.begin(), " in reach"));
  }
  for (int64_t i = 0; i < rows; ++i) {
    TRY(CheckFrom(from[i]));
    from_.push_back(from[i]);
    ordinal_.push_back(static_cast<uint64_t>(reach_.uses(from[i])++));
  }
  writers_.resize(names_->size());
  return absl::OkStatus();
}

absl::Status GivenRows::CheckFrom(int64_t number) {
  if (number < reach_.begin() || number >= reach_.end()) {
    return Breach(base::StrCat("gives a row from number ", number, ", but only ",
                               reach_.begin(), " up to ", reach_.end(),
                               " are in reach; rows_held says how many before a call"));
  }
  if (reach_.uses(number) > 0 && !promises_.has(kMillraceMoreRows)) {
    return Breach(base::StrCat("gives two rows from number ", number,
                               ", although it is not kMillraceMoreRows"));
  }
  if (promises_.has(kMillraceRowWise) && number < last_from_) {
    return Breach("changes the order of rows, although it is kMillraceRowWise");
  }
  last_from_ = number;
  return absl::OkStatus();
}

absl::Status GivenRows::Allocate(int64_t field, MillraceRoom& room) {
  if (field < 0 || field >= std::ssize(writers_)) {
    return Breach(base::StrCat("asks for room for field ", field, " of ",
                               writers_.size(), from_.empty() ? "; begin first" : ""));
  }
  std::optional<RowsWriter>& writer = writers_[field];
  if (!writer) {
    const core::FieldSpec& spec = promises_.spec.fields()[field];
    writer = TRY(RowsWriter::Open({.dtype = spec.dtype, .shape = spec.shape},
                                  std::ssize(from_), lane_.pool));
  }
  return writer->Allocate(room);
}

absl::Status GivenRows::BadRow(int64_t number, const char* why) {
  TRY(PassOn());
  std::string_view but;
  if (!promises_.has(kMillraceCanFail)) {
    but = "is not kMillraceCanFail";
  } else if (number < first_ || number >= reach_.end()) {
    but = "that is no row of the call";
  } else if (reach_.uses(number) > 0) {
    but = "gave a row from it before";
  } else if (why == nullptr) {
    but = "does not say why";
  }
  if (!but.empty()) {
    return Breach(base::StrCat("says that row ", number, " is wrong, but ", but));
  }
  ++reach_.uses(number);
  ++given_;
  return lane_.bad_rows.LeaveOut(
      ops::BadRowOf(block_.Slice(number - first_, 1), absl::DataLossError(why)));
}

absl::StatusOr<core::Block> GivenRows::WithIds(const core::Block& rows) {
  if (!reach_.has_ids()) return rows;
  if (!promises_.has(kMillraceMoreRows)) {
    return rows.WithIds(TRY(reach_.Gather(std::nullopt, from_)));
  }
  std::vector<core::RowId> ids;
  ids.reserve(from_.size());
  ops::MadeRows made;
  for (size_t i = 0; i < from_.size(); ++i) {
    ids.push_back(base::Combine(reach_.IdAt(from_[i]), ordinal_[i]));
    if (lane_.origins != nullptr) made.Add(ids.back(), reach_.IdsIn(from_[i]));
  }
  if (lane_.origins != nullptr) lane_.origins->Note(std::move(made));
  return rows.WithIds(TRY(core::IdColumn(ids, lane_.pool)));
}

absl::StatusOr<core::Block> GivenRows::ToBlock() {
  std::vector<core::Column> columns;
  for (size_t i = 0; i < names_->size(); ++i) {
    const std::string& name = (*names_)[i];
    if (writers_[i]) {
      absl::StatusOr<core::Column> column = (*std::move(writers_[i])).ToColumn();
      if (!column.ok()) {
        return base::Annotate(column.status(), base::StrCat("field ", name));
      }
      columns.push_back(*std::move(column));
    } else if (lane_.input->Find(name) != nullptr) {
      columns.push_back(TRY(reach_.Gather(name, from_)));
    } else {
      return Breach(base::StrCat("gives no values for field ", name));
    }
  }
  return WithIds(core::Block(std::ssize(from_), names_, std::move(columns)));
}

absl::Status GivenRows::PassOn() {
  if (from_.empty()) return absl::OkStatus();
  core::Block block = TRY(ToBlock());
  const absl::Status admits = core::CheckAdmits(promises_.spec, block);
  if (!admits.ok()) return Breach(base::ToStd(admits.message()));
  given_ += block.rows();
  from_.clear();
  ordinal_.clear();
  writers_.clear();
  return out_->Emit(std::move(block));
}

absl::Status GivenRows::End() {
  TRY(PassOn());
  block_ = {};  // What is not held is not kept.
  reach_.EndCall();
  return promises_.has(kMillraceRowWise) ? CheckCount() : absl::OkStatus();
}

absl::Status GivenRows::CheckCount() const {
  if (promises_.has(kMillraceFewerRows) || given_ >= reach_.end()) {
    return absl::OkStatus();
  }
  return Breach(base::StrCat("gives ", given_, " rows of ", reach_.end(),
                             ", although it is not kMillraceFewerRows"));
}

}  // namespace millrace::plugin
