#include "millrace/adapters/arrow/import.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"

namespace millrace::arrow {
namespace {

constexpr int64_t kRowsMax = int64_t{1} << 48;

absl::Status Broken(std::string_view what) {
  return absl::DataLossError(base::StrCat("an Arrow array is broken: ", what));
}

// The default of a type, as bytes: zeros, or what is not a number.
template <typename T>
T DefaultOf() {
  if constexpr (std::is_floating_point_v<T>) {
    return std::numeric_limits<T>::quiet_NaN();
  } else if constexpr (std::is_same_v<T, core::Float16>) {
    return core::Float16(std::numeric_limits<float>::quiet_NaN());
  } else {
    return T{};
  }
}

bool IsAligned(const void* data, int64_t width) {
  return std::bit_cast<uintptr_t>(data) % static_cast<uintptr_t>(width) == 0;
}

// Ors flags into others, which may be none.
void Merge(const Flags& more, Flags& flags) {
  if (flags.empty()) {
    flags = more;
    return;
  }
  for (size_t i = 0; i < more.size(); ++i) flags[i] |= more[i];
}

// A run of an array's values, as its parent numbers them.
struct Run {
  const ArrowArray& array;
  int64_t begin = 0;
  int64_t count = 0;

  // Of the first value, in the buffers.
  int64_t place() const { return array.offset + begin; }
};

// Imports a run of one array after another, on the way to a leaf. `missing` are values
// that have no content, because what they are in is null.
class Importer {
 public:
  Importer(const Leaf& leaf, const SharedArray& owner, core::Pool& pool)
      : leaf_(leaf), owner_(owner), pool_(pool) {}

  absl::StatusOr<Imported> Import(const Run& run, size_t step, Flags missing) {
    TRY(Check(run, leaf_.steps[step]));
    AddNulls(run, missing);
    switch (leaf_.steps[step].layout) {
      case Layout::kList:
        return List<int32_t>(run, step, std::move(missing));
      case Layout::kLargeList:
        return List<int64_t>(run, step, std::move(missing));
      case Layout::kFixedList:
        return FixedList(run, step, std::move(missing));
      case Layout::kStruct:
        return Import({ChildOf(run, step), run.place(), run.count}, step + 1,
                      std::move(missing));
      case Layout::kDictionary:
        return Dictionary(run, step, std::move(missing));
      default:
        break;
    }
    core::Column values = TRY(Values(run, step, missing));
    return WithNulls(std::move(values), std::move(missing));
  }

 private:
  // The values of a leaf.
  absl::StatusOr<core::Column> Values(const Run& run, size_t step,
                                      const Flags& missing) {
    switch (leaf_.steps[step].layout) {
      case Layout::kFixed:
        return Numbers(run, step, missing);
      case Layout::kBits:
        return Bits(run, missing);
      case Layout::kTexts:
        return Texts<int32_t>(run, missing);
      case Layout::kLargeTexts:
        return Texts<int64_t>(run, missing);
      case Layout::kFixedTexts:
        return FixedTexts(run, step, missing);
      default:
        return Broken("it has a layout that is not known");
    }
  }

  static Imported WithNulls(core::Column column, Flags nulls) {
    return {.column = std::move(column), .nulls = std::move(nulls)};
  }

  // Checks what the numbers say before anything is read by them.
  static absl::Status Check(const Run& run, const Step& step) {
    TRY(CheckPlace(run));
    const ArrowArray& array = run.array;
    const int64_t width = std::max<int64_t>(1, step.width);
    if (array.offset + array.length > kRowsMax / width) {
      return Broken("it has more values than there can be");
    }
    TRY(CheckBuffers(run, step));
    return CheckBelow(array, step);
  }

  static absl::Status CheckPlace(const Run& run) {
    const ArrowArray& array = run.array;
    if (array.length < 0 || array.length > kRowsMax || array.offset < 0 ||
        array.offset > kRowsMax || run.begin < 0 || run.count < 0 ||
        run.begin > array.length || run.count > array.length - run.begin) {
      return Broken("it has fewer values than its parent says");
    }
    return absl::OkStatus();
  }

  static absl::Status CheckBuffers(const Run& run, const Step& step) {
    const bool texts =
        step.layout == Layout::kTexts || step.layout == Layout::kLargeTexts;
    const bool lists =
        step.layout == Layout::kList || step.layout == Layout::kLargeList;
    const bool bare =
        step.layout == Layout::kStruct || step.layout == Layout::kFixedList;
    if (run.array.n_buffers < (texts ? 3 : bare ? 1 : 2)) {
      return Broken("it has too few buffers");
    }
    if (bare || run.count == 0 || run.array.buffers[1] != nullptr) {
      return absl::OkStatus();
    }
    return Broken(texts || lists ? "it has no offsets" : "it has no values");
  }

  static absl::Status CheckBelow(const ArrowArray& array, const Step& step) {
    switch (step.layout) {
      case Layout::kList:
      case Layout::kLargeList:
      case Layout::kFixedList:
      case Layout::kStruct:
        return array.n_children > step.child && array.children[step.child] != nullptr
                   ? absl::OkStatus()
                   : Broken("it has too few children");
      case Layout::kDictionary:
        return array.dictionary != nullptr ? absl::OkStatus()
                                           : Broken("it has no dictionary");
      default:
        return absl::OkStatus();
    }
  }

  static void AddNulls(const Run& run, Flags& missing) {
    const auto* bits = static_cast<const uint8_t*>(run.array.buffers[0]);
    if (bits == nullptr || run.array.null_count == 0) return;
    Flags nulls(run.count);
    bool any = false;
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t place = run.place() + i;
      nulls[i] = (bits[place / 8] >> (place % 8) & 1) == 0 ? 1 : 0;
      any |= nulls[i] != 0;
    }
    if (any) Merge(nulls, missing);
  }

  const ArrowArray& ChildOf(const Run& run, size_t step) const {
    return *run.array.children[leaf_.steps[step].child];
  }

  core::Buffer Wrap(const void* data, int64_t size) const {
    return size == 0 ? core::Buffer() : core::Buffer::Wrap(data, size, owner_);
  }

  // Numbers of one width as those of a type, which may be wider.
  absl::StatusOr<core::Column> Numbers(const Run& run, size_t step,
                                       const Flags& missing) {
    const core::DType dtype = leaf_.spec.dtype;
    const int64_t width = leaf_.steps[step].width;
    const auto* data = static_cast<const std::byte*>(run.array.buffers[1]);
    if (run.count > 0) data += run.place() * width;
    if (width < core::SizeOf(dtype)) return Widened(data, run.count, missing);
    const int64_t bytes = run.count * width;
    if (missing.empty() && IsAligned(data, width)) {
      return core::Column::Dense(dtype, run.count, {}, Wrap(data, bytes));
    }
    core::Buffer copy = TRY(pool_.Allocate(bytes));
    if (bytes > 0) std::memcpy(copy.mutable_data(), data, bytes);
    FillMissing(missing, copy);
    return core::Column::Dense(dtype, run.count, {}, std::move(copy));
  }

  // Days and times of 32 bits.
  absl::StatusOr<core::Column> Widened(const std::byte* data, int64_t count,
                                       const Flags& missing) {
    core::Buffer wide = TRY(pool_.AllocateFor<int64_t>(count));
    const absl::Span<int64_t> values = wide.MutableAs<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      int32_t narrow = 0;
      std::memcpy(&narrow, data + i * static_cast<int64_t>(sizeof(narrow)),
                  sizeof(narrow));
      values[i] = narrow;
    }
    FillMissing(missing, wide);
    return core::Column::Dense(core::DType::kInt64, count, {}, std::move(wide));
  }

  void FillMissing(const Flags& missing, core::Buffer& values) const {
    if (missing.empty()) return;
    core::VisitDType(leaf_.spec.dtype, [&]<typename T>() {
      const absl::Span<T> all = values.MutableAs<T>();
      for (size_t i = 0; i < all.size(); ++i) {
        if (missing[i] != 0) all[i] = DefaultOf<T>();
      }
    });
  }

  absl::StatusOr<core::Column> Bits(const Run& run, const Flags& missing) {
    const auto* bits = static_cast<const uint8_t*>(run.array.buffers[1]);
    core::Buffer values = TRY(pool_.AllocateFor<bool>(run.count));
    const absl::Span<uint8_t> all = values.MutableAs<uint8_t>();
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t place = run.place() + i;
      all[i] = bits[place / 8] >> (place % 8) & 1;
    }
    FillMissing(missing, values);
    return core::Column::Dense(core::DType::kBool, run.count, {}, std::move(values));
  }

  // The offsets of a run, one more than values: rising, and ending at `end_max`.
  template <typename Offset>
  absl::StatusOr<core::Buffer> Offsets(const Run& run, int64_t end_max) {
    core::Buffer offsets = TRY(pool_.AllocateFor<int64_t>(run.count + 1));
    const absl::Span<int64_t> all = offsets.MutableAs<int64_t>();
    all[0] = 0;
    const auto* from = static_cast<const std::byte*>(run.array.buffers[1]);
    if (run.count == 0) return offsets;
    from += run.place() * static_cast<int64_t>(sizeof(Offset));
    int64_t last = 0;
    for (int64_t i = 0; i <= run.count; ++i) {
      Offset offset = 0;
      std::memcpy(&offset, from + i * static_cast<int64_t>(sizeof(Offset)),
                  sizeof(Offset));
      if (offset < last) return Broken("its offsets do not rise");
      last = offset;
      all[i] = offset;
    }
    if (last > end_max) return Broken("its offsets lead outside");
    return offsets;
  }

  template <typename Offset>
  absl::StatusOr<core::Column> Texts(const Run& run, const Flags& missing) {
    const core::Buffer offsets =
        TRY(Offsets<Offset>(run, std::numeric_limits<int64_t>::max()));
    const int64_t end = offsets.As<int64_t>().back();
    if (end > 0 && run.array.buffers[2] == nullptr) return Broken("it has no bytes");
    return WithoutMissing(core::Column::Texts(leaf_.spec.dtype, run.count, offsets,
                                              Wrap(run.array.buffers[2], end)),
                          missing);
  }

  absl::StatusOr<core::Column> FixedTexts(const Run& run, size_t step,
                                          const Flags& missing) {
    const int64_t width = leaf_.steps[step].width;
    const auto* data = static_cast<const std::byte*>(run.array.buffers[1]);
    if (run.count > 0) data += run.place() * width;
    core::Buffer offsets = TRY(pool_.AllocateFor<int64_t>(run.count + 1));
    const absl::Span<int64_t> all = offsets.MutableAs<int64_t>();
    for (int64_t i = 0; i <= run.count; ++i) all[i] = i * width;
    return WithoutMissing(
        core::Column::Texts(leaf_.spec.dtype, run.count, std::move(offsets),
                            Wrap(data, run.count * width)),
        missing);
  }

  // A null may stand where there are bytes: such texts are made empty.
  absl::StatusOr<core::Column> WithoutMissing(const core::Column& texts,
                                              const Flags& missing) {
    const absl::Span<const int64_t> from = texts.levels().back().offsets.As<int64_t>();
    int64_t kept = 0;
    int64_t dropped = 0;
    for (size_t i = 0; i < missing.size(); ++i) {
      (missing[i] != 0 ? dropped : kept) += from[i + 1] - from[i];
    }
    if (dropped == 0) return texts;
    core::Buffer offsets = TRY(pool_.AllocateFor<int64_t>(texts.rows() + 1));
    core::Buffer bytes = TRY(pool_.Allocate(kept));
    const absl::Span<int64_t> to = offsets.MutableAs<int64_t>();
    to[0] = 0;
    for (size_t i = 0; i < missing.size(); ++i) {
      const int64_t size = missing[i] != 0 ? 0 : from[i + 1] - from[i];
      if (size > 0) {
        std::memcpy(bytes.mutable_data() + to[i], texts.values().data() + from[i],
                    size);
      }
      to[i + 1] = to[i] + size;
    }
    return core::Column::Texts(texts.dtype(), texts.rows(), std::move(offsets),
                               std::move(bytes));
  }

  template <typename Offset>
  absl::StatusOr<Imported> List(const Run& run, size_t step, Flags missing) {
    const ArrowArray& child = ChildOf(run, step);
    core::Buffer offsets = TRY(Offsets<Offset>(run, child.length));
    const absl::Span<int64_t> places = offsets.MutableAs<int64_t>();
    const int64_t first = places.front();
    for (int64_t& place : places) place -= first;
    Imported below = TRY(Import({child, first, places.back()}, step + 1, {}));
    if (!missing.empty()) TRY(EmptyMissing(missing, offsets, below));
    for (int64_t i = 0; i < run.count && !below.nulls.empty(); ++i) {
      const auto begin = below.nulls.begin();
      if (std::any_of(begin + places[i], begin + places[i + 1],
                      [](uint8_t flag) { return flag != 0; })) {
        missing.resize(run.count);
        missing[i] = 1;
      }
    }
    core::Column lists = below.column.Nest(run.count, {core::Level::Variable(offsets)});
    return WithNulls(std::move(lists), std::move(missing));
  }

  // Lists that are null may have content all the same: it is taken out.
  absl::Status EmptyMissing(const Flags& missing, core::Buffer& offsets,
                            Imported& below) {
    const absl::Span<int64_t> places = offsets.MutableAs<int64_t>();
    std::vector<int64_t> kept;
    int64_t end = 0;
    for (size_t i = 0; i < missing.size(); ++i) {
      const int64_t begin = std::exchange(end, places[i + 1]);
      places[i] = std::ssize(kept);
      for (int64_t j = begin; j < end && missing[i] == 0; ++j) kept.push_back(j);
    }
    places[missing.size()] = std::ssize(kept);
    if (std::ssize(kept) == end) return absl::OkStatus();
    below.column = TRY(core::Gather(below.column, kept, pool_));
    Flags nulls;
    for (const int64_t j : kept) {
      if (!below.nulls.empty()) nulls.push_back(below.nulls[j]);
    }
    below.nulls = std::move(nulls);
    return absl::OkStatus();
  }

  absl::StatusOr<Imported> FixedList(const Run& run, size_t step, Flags missing) {
    const int64_t width = leaf_.steps[step].width;
    const Run values = {ChildOf(run, step), run.place() * width, run.count * width};
    TRY(CheckPlace(values));  // Before there is room made for as many.
    Flags inner;
    if (!missing.empty()) inner.resize(values.count);
    for (size_t i = 0; i < inner.size(); ++i) inner[i] = missing[i / width];
    const Imported below = TRY(Import(values, step + 1, std::move(inner)));
    if (!below.nulls.empty()) missing.resize(run.count);
    for (size_t i = 0; i < below.nulls.size(); ++i) {
      missing[i / width] |= below.nulls[i];
    }
    return WithNulls(below.column.Stack(width), std::move(missing));
  }

  // Gives each row the dictionary's value of its number; a last row of defaults stands
  // in for the nulls.
  absl::StatusOr<Imported> Dictionary(const Run& run, size_t step, Flags missing) {
    const ArrowArray& dictionary = *run.array.dictionary;
    const Imported values =
        TRY(Import({dictionary, 0, dictionary.length}, step + 1, {}));
    const core::Column nothing = TRY(Default());
    std::vector<core::RowRef> rows(run.count);
    for (int64_t i = 0; i < run.count; ++i) {
      rows[i] = {.source = 1, .row = 0};
      if (!missing.empty() && missing[i] != 0) continue;
      const int64_t number = NumberAt(run, leaf_.steps[step], i);
      if (number < 0 || number >= dictionary.length) {
        return Broken("it has a value that its dictionary has not");
      }
      rows[i] = {.source = 0, .row = number};
      if (values.nulls.empty() || values.nulls[number] == 0) continue;
      missing.resize(run.count);
      missing[i] = 1;
    }
    const std::vector<core::Column> sources = {values.column, nothing};
    core::Column found = TRY(core::Gather(sources, rows, pool_));
    return WithNulls(std::move(found), std::move(missing));
  }

  absl::StatusOr<core::Column> Default() {
    if (core::IsVariable(leaf_.spec.dtype)) {
      core::Buffer offsets = TRY(pool_.AllocateFor<int64_t>(2));
      std::ranges::fill(offsets.MutableAs<int64_t>(), 0);
      return core::Column::Texts(leaf_.spec.dtype, 1, std::move(offsets), {});
    }
    core::Buffer value = TRY(pool_.Allocate(core::SizeOf(leaf_.spec.dtype)));
    FillMissing({1}, value);
    return core::Column::Dense(leaf_.spec.dtype, 1, {}, std::move(value));
  }

  // A number into a dictionary; absurd ones are negative.
  static int64_t NumberAt(const Run& run, const Step& step, int64_t i) {
    const auto* data = static_cast<const std::byte*>(run.array.buffers[1]);
    uint64_t number = 0;
    std::memcpy(&number, data + (run.place() + i) * step.width, step.width);
    const int64_t shift = 64 - 8 * step.width;
    const auto high = static_cast<int64_t>(number << shift);
    return step.is_signed ? high >> shift : static_cast<int64_t>(number);
  }

  const Leaf& leaf_;
  const SharedArray& owner_;
  core::Pool& pool_;
};

}  // namespace

SharedArray Share(const ArrowArray& array) {
  CHECK(array.release != nullptr) << "the array was released";
  return SharedArray(new ArrowArray(array), [](ArrowArray* shared) {
    shared->release(shared);
    delete shared;
  });
}

absl::StatusOr<Imported> Import(const SharedArray& array, const Leaf& leaf,
                                core::Pool& pool) {
  CHECK(!leaf.steps.empty());
  Importer importer(leaf, array, pool);
  return importer.Import({*array, 0, array->length}, 0, {});
}

}  // namespace millrace::arrow
