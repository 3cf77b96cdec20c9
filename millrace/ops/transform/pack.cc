// Pack: puts sequences into rows of one length, so that little is padded. Each stays
// whole in the row with the least room that suffices (best_fit) or in the first that
// has room (first_fit); or all are joined and cut at every `size` (split).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"
#include "millrace/ops/transform/held_rows.h"
#include "millrace/ops/transform/padding.h"

namespace millrace::ops {
namespace {

struct PackArgs {
  int64_t size = 1;
  std::string method = "best_fit";
  int64_t open = 256;
  double pad_value = 0;
  std::string segments = "segment_ids";
  std::string positions = "positions";
  bool drop_remainder = false;
  bool per_lane = false;
};

// Items [begin, begin + size) of a sequence.
struct Piece {
  core::RowRef row;
  int64_t begin = 0;
  int64_t size = 0;
};

// What goes into one row.
struct Bin {
  int64_t used = 0;
  std::vector<Piece> pieces;
};

class Pack final : public Operator {
 public:
  Pack(PackArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane), held_(lane.pool) {
    core::FieldNames names;
    for (const core::FieldSpec& field : lane.input->fields())
      names.push_back(field.name);
    names.push_back(args_.segments);
    names.push_back(args_.positions);
    names_ = std::make_shared<const core::FieldNames>(std::move(names));
  }

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto lengths_of = [this](const core::Block& rows) { return LengthsOf(rows); };
    const auto add = [&](const core::Block& rows, const Lengths& lengths) {
      return Add(rows, lengths, out);
    };
    return UseGoodRows<Lengths>(block, lengths_of, add, lane_.bad_rows);
  }

  absl::StatusOr<Held> Finish(Emitter& out) override {
    for (Bin& bin : std::exchange(open_, {})) {
      if (!args_.drop_remainder || bin.used == args_.size)
        full_.push_back(std::move(bin));
    }
    TRY(EmitFull(out));
    return Held::kNothing;
  }

 private:
  using Lengths = std::vector<int64_t>;

  // The length of each row's sequences.
  absl::StatusOr<Lengths> LengthsOf(const core::Block& rows) const {
    Lengths lengths(rows.rows());
    for (int64_t row = 0; row < rows.rows(); ++row) {
      for (size_t i = 0; i < rows.columns().size(); ++i) {
        const core::Column& column = rows.columns()[i];
        const int64_t length = column.LeadingSize(row);
        if (i == 0) lengths[row] = length;
        if (length == lengths[row]) continue;
        return absl::DataLossError(base::StrCat(
            "the fields ", rows.names()[0], " and ", rows.names()[i], " have ",
            lengths[row], " and ", length, " items; all must be of one length"));
      }
      if (lengths[row] <= args_.size || args_.method == "split") continue;
      return absl::DataLossError(base::StrCat(
          "a sequence of ", lengths[row], " items is longer than ", args_.size,
          "; cut it in a map before, or use method=\"split\""));
    }
    return lengths;
  }

  absl::Status Add(const core::Block& rows, const Lengths& lengths, Emitter& out) {
    const int32_t source = held_.Keep(rows);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const core::RowRef place = {.source = source, .row = row};
      if (args_.method == "split") {
        Split(place, lengths[row]);
      } else if (lengths[row] > 0) {
        Place(BinFor(lengths[row]), {.row = place, .size = lengths[row]});
      }
    }
    TRY(EmitFull(out));
    int64_t waiting = 0;
    for (const Bin& bin : open_) waiting += std::ssize(bin.pieces);
    return held_.Compact(waiting, [this](HeldRows::Visit visit) {
      for (Bin& bin : open_) {
        for (Piece& piece : bin.pieces) visit(piece.row);
      }
    });
  }

  void Split(const core::RowRef& row, int64_t length) {
    for (int64_t begin = 0; begin < length;) {
      if (open_.empty()) open_.emplace_back();
      const int64_t size = std::min(length - begin, args_.size - open_[0].used);
      Place(0, {.row = row, .begin = begin, .size = size});
      begin += size;
    }
  }

  // The open bin that a sequence goes into. Where there are many, the fullest makes
  // room for a new one.
  size_t BinFor(int64_t length) {
    const bool first_will_do = args_.method == "first_fit";
    size_t best = open_.size();
    size_t fullest = 0;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].used > open_[fullest].used) fullest = i;
      if (open_[i].used + length > args_.size) continue;
      if (best < open_.size() && open_[i].used <= open_[best].used) continue;
      best = i;
      if (first_will_do) break;
    }
    if (best < open_.size()) return best;
    if (std::ssize(open_) == args_.open) Close(fullest);
    open_.emplace_back();
    return open_.size() - 1;
  }

  void Place(size_t bin, const Piece& piece) {
    open_[bin].used += piece.size;
    open_[bin].pieces.push_back(piece);
    if (open_[bin].used == args_.size) Close(bin);
  }

  void Close(size_t bin) {
    full_.push_back(std::move(open_[bin]));
    open_.erase(open_.begin() + static_cast<int64_t>(bin));
  }

  absl::Status EmitFull(Emitter& out) {
    if (full_.empty()) return absl::OkStatus();
    const std::vector<Bin> bins = std::exchange(full_, {});
    const core::Block rows = TRY(Gathered(bins));
    std::vector<core::Column> columns;
    for (size_t i = 0; i < rows.columns().size(); ++i) {
      columns.push_back(TRY(Packed(rows.columns()[i], lane_.input->fields()[i], bins)));
    }
    columns.push_back(TRY(Numbered(bins, NumberOf::kSegment)));
    columns.push_back(TRY(Numbered(bins, NumberOf::kPosition)));
    const core::Block packed(std::ssize(bins), names_, std::move(columns));
    return out.Emit(rows.has_ids() ? TRY(WithIdsOf(packed, rows, bins)) : packed);
  }

  // The rows that the pieces are of, in the order of the pieces.
  absl::StatusOr<core::Block> Gathered(const std::vector<Bin>& bins) const {
    std::vector<core::RowRef> rows;
    for (const Bin& bin : bins) {
      for (const Piece& piece : bin.pieces) rows.push_back(piece.row);
    }
    return held_.Gather(rows);
  }

  absl::StatusOr<core::Column> Packed(const core::Column& sequences,
                                      const core::FieldSpec& field,
                                      const std::vector<Bin>& bins) const {
    const core::Shape item = field.shape.WithoutLeading();
    const int64_t item_bytes = TRY(item.CountChecked()) * core::SizeOf(field.dtype);
    const core::Shape row = item.WithLeading(args_.size);
    core::Buffer values = TRY(Filled(field.dtype, row.WithLeading(std::ssize(bins)),
                                     args_.pad_value, lane_.pool));
    std::byte* begin = values.mutable_data();
    int64_t next = 0;
    for (const Bin& bin : bins) {
      std::byte* to = begin;
      for (const Piece& piece : bin.pieces) {
        const core::Tensor sequence = TRY(sequences.Row(next++));
        const std::byte* from = sequence.values().data() + piece.begin * item_bytes;
        std::memcpy(to, from, piece.size * item_bytes);
        to += piece.size * item_bytes;
      }
      begin += args_.size * item_bytes;
    }
    return core::Column::Dense(field.dtype, std::ssize(bins), row, std::move(values));
  }

  enum class NumberOf { kSegment, kPosition };

  // For every item the number of its sequence in the row, from 1 on, or its place in
  // that; 0 where padded.
  absl::StatusOr<core::Column> Numbered(const std::vector<Bin>& bins,
                                        NumberOf of) const {
    const int64_t count = std::ssize(bins) * args_.size;
    core::Buffer values = TRY(lane_.pool.AllocateFor<int32_t>(count));
    int32_t* to = values.MutableAs<int32_t>().data();
    for (const Bin& bin : bins) {
      int32_t segment = 0;
      for (const Piece& piece : bin.pieces) {
        ++segment;
        for (int32_t i = 0; i < piece.size; ++i) {
          *to++ = of == NumberOf::kSegment ? segment : i;
        }
      }
      to = std::fill_n(to, args_.size - bin.used, 0);
    }
    return core::Column::Dense(core::DType::kInt32, std::ssize(bins), {args_.size},
                               std::move(values));
  }

  static std::vector<core::RowId> IdsOf(const core::Block& rows, int64_t begin,
                                        int64_t end) {
    std::vector<core::RowId> ids;
    for (int64_t row = begin; row < end; ++row) ids.push_back(rows.IdAt(row));
    return ids;
  }

  // Made of the first sequence in the row, and their number; of a part of one, also
  // where that begins.
  absl::StatusOr<core::Block> WithIdsOf(const core::Block& packed,
                                        const core::Block& rows,
                                        const std::vector<Bin>& bins) const {
    std::vector<core::RowId> ids;
    MadeRows made;
    int64_t next = 0;
    for (const Bin& bin : bins) {
      core::RowId id = rows.IdAt(next);
      const auto begin = static_cast<uint64_t>(bin.pieces[0].begin);
      if (begin > 0) id = base::Combine(id, begin);
      ids.push_back(base::Combine(id, bin.pieces.size()));
      next += std::ssize(bin.pieces);
      if (lane_.origins != nullptr) {
        made.Add(ids.back(), IdsOf(rows, next - std::ssize(bin.pieces), next));
      }
    }
    if (lane_.origins != nullptr) lane_.origins->Note(std::move(made));
    return packed.WithIds(TRY(core::IdColumn(ids, lane_.pool)));
  }

  const PackArgs args_;
  const LaneContext lane_;
  std::shared_ptr<const core::FieldNames> names_;
  HeldRows held_;
  std::vector<Bin> open_;  // In the order in which they were opened.
  std::vector<Bin> full_;  // To be given.
};

absl::Status CheckSequence(const core::FieldSpec& field, double pad_value) {
  const bool is_list = field.shape.ranked() && !field.shape.is_scalar();
  if (core::IsVariable(field.dtype) || !is_list ||
      !field.shape.WithoutLeading().IsKnown()) {
    return absl::InvalidArgumentError(
        base::StrCat("pack needs fields that are lists of numbers, not ",
                     core::Spec({field}).ToString(), "; use select or drop before"));
  }
  if (CanHold(field.dtype, pad_value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument pad_value is ", pad_value, ", which field ", field.name,
                   " of ", core::Name(field.dtype), " cannot hold"));
}

absl::StatusOr<core::Spec> InferPack(const PackArgs& args, const core::Spec& in) {
  std::vector<core::FieldSpec> fields;
  for (const core::FieldSpec& field : in.fields()) {
    TRY(CheckSequence(field, args.pad_value));
    fields.push_back(
        {field.name, field.dtype, field.shape.WithoutLeading().WithLeading(args.size)});
  }
  if (fields.empty()) return absl::InvalidArgumentError("there is no field to pack");
  for (const std::string& name : {args.segments, args.positions}) {
    TRY(core::CheckFieldName(name));
    if (core::Spec(fields).Find(name) != nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat("there is a field ", name, " already; give another name"));
    }
    fields.push_back({name, core::DType::kInt32, {args.size}});
  }
  return core::Spec(std::move(fields));
}

}  // namespace

OperatorDef PackDef() {
  return Define<Pack, PackArgs>("pack")
      .Doc(
          "Packs sequences into rows of one length, so that little is padded, with two "
          "more fields: which sequence of its row an item is of, from 1 on, and its "
          "place in that. Both are 0 where padded.")
      .Arg("size", &PackArgs::size, "Items in a row.", AtLeast(1), AtMost(1 << 30),
           Required())
      .Arg("method", &PackArgs::method,
           "best_fit and first_fit keep sequences whole: each goes into the open row "
           "with the least room that suffices, or into the first with room. split "
           "joins all of them and cuts at every `size` items.",
           [](ir::ArgumentSchema& schema) {
             schema.choices = {"best_fit", "first_fit", "split"};
           })
      .Arg("open", &PackArgs::open,
           "Rows that are open at once; more of them leave less room unused.",
           AtLeast(1), AtMost(1 << 20))
      .Arg("pad_value", &PackArgs::pad_value, "What to fill up with.")
      .Arg("segments", &PackArgs::segments, "The field of the sequences' numbers.")
      .Arg("positions", &PackArgs::positions, "The field of the items' places.")
      .Arg("drop_remainder", &PackArgs::drop_remainder,
           "Leave out rows at the end that are not full.")
      .Arg("per_lane", &PackArgs::per_lane,
           "Begin anew with every lane, so that there can be many.")
      .Traits({.order_sensitive = true, .changes_cardinality = true})
      .AcrossLanes([](const PackArgs& args) { return !args.per_lane; })
      .CanFail([](const PackArgs&) { return true; })
      .Infer(InferPack)
      .Count([](const PackArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
