#include "millrace/ops/source/found_columns.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/utf8.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/row_builder.h"

namespace millrace::ops {
namespace {

using MaybeColumn = absl::StatusOr<std::optional<core::Column>>;

bool AllUtf8(const core::Column& texts) {
  for (int64_t row = 0; row < texts.rows(); ++row) {
    if (!base::IsUtf8(texts.TextAt(row))) return false;
  }
  return true;
}

// A column of texts, where they are what their type says.
std::optional<core::Column> Checked(core::Column texts) {
  if (texts.dtype() == core::DType::kString && !AllUtf8(texts)) return std::nullopt;
  return texts;
}

// Tells whether texts are better left where they are: they are not so short that two
// places for each weigh more than a copy, and no more is kept than twice their size.
bool FillTheirSource(const FoundRows& found, int field) {
  constexpr int64_t kShortTextBytes = 1 << 10;
  const core::Buffer* const source = found.OnlySource();
  const int64_t bytes = found.BytesOf(field);
  return source != nullptr && 2 * bytes >= source->size() &&
         bytes >= found.rows() * kShortTextBytes;
}

// Texts that stay where they were read.
MaybeColumn TextsInPlace(const FoundRows& found, int field, const RowsPlan& plan,
                         core::Pool& pool) {
  core::Buffer places = TRY(pool.AllocateFor<int64_t>(2 * found.rows()));
  int64_t* out = places.MutableAs<int64_t>().data();
  for (int64_t place = 0; place < found.rows(); ++place) {
    const FoundRows::Piece* const text = found.OnlyPiece(place, field);
    if (text == nullptr) return std::nullopt;
    const std::optional<uint32_t> crc = found.row(place).crc;
    if (crc && plan.sums && *crc != codec::Crc32c(found.TextOf(*text))) {
      return std::nullopt;
    }
    *out++ = text->begin;
    *out++ = text->begin + text->size;
  }
  return Checked(core::Column::TextsWithGaps(plan.spec.fields()[field].dtype,
                                             found.rows(), std::move(places),
                                             *found.OnlySource()));
}

MaybeColumn TextsOf(const FoundRows& found, int field, const RowsPlan& plan,
                    core::Pool& pool) {
  if (FillTheirSource(found, field)) {
    if (MaybeColumn texts = TextsInPlace(found, field, plan, pool);
        !texts.ok() || *texts) {
      return texts;
    }
  }
  core::Buffer offsets = TRY(pool.AllocateFor<int64_t>(found.rows() + 1));
  core::Buffer texts = TRY(pool.Allocate(found.BytesOf(field)));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  std::byte* const begin = texts.mutable_data();
  std::byte* room = begin;
  ends[0] = 0;
  for (int64_t place = 0; place < found.rows(); ++place) {
    const uint32_t crc = found.CopyContent(place, field, plan.sums, room);
    if (found.row(place).crc.value_or(crc) != crc) return std::nullopt;
    ends[place + 1] = room - begin;
  }
  return Checked(core::Column::Texts(plan.spec.fields()[field].dtype, found.rows(),
                                     std::move(offsets), std::move(texts)));
}

MaybeColumn KeysOf(const FoundRows& found, core::DType dtype, core::Pool& pool) {
  core::Buffer offsets = TRY(pool.AllocateFor<int64_t>(found.rows() + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  for (int64_t place = 0; place < found.rows(); ++place) {
    ends[place + 1] = found.row(place).key_end;
  }
  const std::string_view keys = found.keys();
  core::Buffer texts = TRY(core::CopyBytes(keys.data(), std::ssize(keys), pool));
  return Checked(
      core::Column::Texts(dtype, found.rows(), std::move(offsets), std::move(texts)));
}

MaybeColumn ColumnOf(const FoundRows& found, int field, const RowsPlan& plan,
                     core::Pool& pool) {
  const core::DType dtype = plan.spec.fields()[field].dtype;
  if (!core::IsVariable(dtype)) return std::nullopt;
  const bool is_key = plan.has_key && field + 1 == std::ssize(plan.spec.fields());
  return is_key ? KeysOf(found, dtype, pool) : TextsOf(found, field, plan, pool);
}

}  // namespace

absl::StatusOr<std::optional<core::Block>> MakeByField(const FoundRows& found,
                                                       const RowsPlan& plan,
                                                       const SourceContext& context) {
  if (found.rows() == 0 || found.any_wrong() || found.longest() >= kLongTextBytes) {
    return std::nullopt;
  }
  std::vector<core::Column> columns;
  core::FieldNames names;
  for (int field = 0; field < std::ssize(plan.spec.fields()); ++field) {
    std::optional<core::Column> column =
        TRY(ColumnOf(found, field, plan, context.pool));
    if (!column) return std::nullopt;
    columns.push_back(*std::move(column));
    names.push_back(plan.spec.fields()[field].name);
  }
  std::vector<int64_t> numbers;
  numbers.reserve(found.rows());
  for (int64_t place = 0; place < found.rows(); ++place) {
    numbers.push_back(found.row(place).number);
  }
  const core::Block block(found.rows(),
                          std::make_shared<const core::FieldNames>(std::move(names)),
                          std::move(columns));
  return TRY(WithSourceIds(block, plan.split, numbers, context));
}

}  // namespace millrace::ops
