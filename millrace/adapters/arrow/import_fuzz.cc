// Feeds the import of Arrow arrays any numbers: lengths, offsets, counts of buffers and
// children, nulls, what stands in offsets and dictionaries. The interface of arrays in
// memory does not say how long a buffer is, so that nobody can check it: here buffers
// are exactly as long as an array's own numbers ask for, and missing now and then.
// Whatever is imported can be read to its end.

#include "millrace/adapters/arrow/import.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"

namespace millrace::arrow {
namespace {

constexpr int64_t kTextsMax = 1 << 16;  // Longer ones would need buffers as long.

// Takes numbers off the input; zeros when there are no more.
class Numbers {
 public:
  Numbers(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  uint8_t Byte() { return data_ == end_ ? 0 : *data_++; }

  // Mostly small, now and then absurd: then nothing may be read by it.
  int64_t Length() {
    constexpr std::array<int64_t, 5> kAbsurd = {-1, std::numeric_limits<int64_t>::min(),
                                                std::numeric_limits<int64_t>::max(),
                                                (int64_t{1} << 48) + 1, -40};
    const uint8_t byte = Byte();
    return byte < 251 ? byte % 40 : kAbsurd[byte - 251U];
  }

  // Fills a buffer of its own, which begins at any address.
  void Fill(std::byte* to, size_t size) {
    const auto some = std::min(size, static_cast<size_t>(end_ - data_));
    std::memcpy(to, data_, some);
    data_ += some;
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// An array and all that it points to.
struct Made {
  ArrowArray array = {};
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<const void*> buffers;
  std::unique_ptr<Made> below;
  std::vector<ArrowArray*> children;
};

class Maker {
 public:
  explicit Maker(Numbers& numbers) : numbers_(numbers) {}

  // Makes the array of a step and all below it; null where a text would be too long.
  std::unique_ptr<Made> Make(const std::vector<Step>& steps, size_t at) {
    auto made = std::make_unique<Made>();
    made->array.length = numbers_.Length();
    made->array.offset = numbers_.Length();
    made->array.null_count = numbers_.Byte() % 2 == 0 ? 0 : -1;
    made->array.release = [](ArrowArray* released) { released->release = nullptr; };
    AddBuffers(*made, steps[at]);
    if (too_long_) return nullptr;
    if (at + 1 < steps.size()) {
      made->below = Make(steps, at + 1);
      if (made->below == nullptr) return nullptr;
      AddChild(*made, steps[at]);
    }
    made->array.buffers = made->buffers.data();
    made->array.children = made->children.data();
    return made;
  }

 private:
  void AddBuffers(Made& made, const Step& step) {
    const auto sane = [](int64_t number) { return number >= 0 && number < 40; };
    const bool both = sane(made.array.length) && sane(made.array.offset);
    const int64_t values = both ? made.array.offset + made.array.length : 0;
    AddBuffer(made, (values + 7) / 8);
    switch (step.layout) {
      case Layout::kFixed:
      case Layout::kFixedTexts:
      case Layout::kDictionary:
        AddBuffer(made, values * step.width);
        break;
      case Layout::kBits:
        AddBuffer(made, (values + 7) / 8);
        break;
      case Layout::kTexts:
      case Layout::kList:
        AddBuffer(made, (values + 1) * 4);
        break;
      case Layout::kLargeTexts:
      case Layout::kLargeList:
        AddBuffer(made, (values + 1) * 8);
        break;
      default:
        break;
    }
    if (step.layout == Layout::kTexts) AddTexts<int32_t>(made, values);
    if (step.layout == Layout::kLargeTexts) AddTexts<int64_t>(made, values);
    made.array.n_buffers = std::ssize(made.buffers) - (numbers_.Byte() == 9 ? 1 : 0);
  }

  void AddBuffer(Made& made, int64_t size) {
    const size_t shift = numbers_.Byte() % 2;
    auto memory = std::make_unique<std::byte[]>(size + shift);
    std::byte* const data = memory.get() + shift;
    numbers_.Fill(data, size);
    made.memory.push_back(std::move(memory));
    made.buffers.push_back(numbers_.Byte() == 7 ? nullptr : data);
  }

  // Bytes up to the last offset, where offsets rise at all.
  template <typename Offset>
  void AddTexts(Made& made, int64_t values) {
    Offset last = 0;
    for (int64_t i = 0; i <= values && made.buffers[1] != nullptr; ++i) {
      Offset offset = 0;
      const auto* from = static_cast<const std::byte*>(made.buffers[1]);
      std::memcpy(&offset, from + i * static_cast<int64_t>(sizeof(Offset)),
                  sizeof(Offset));
      last = std::max(last, offset);
    }
    too_long_ = last > kTextsMax;
    if (!too_long_) AddBuffer(made, last);
  }

  void AddChild(Made& made, const Step& step) {
    if (step.layout == Layout::kDictionary) {
      if (numbers_.Byte() != 3) made.array.dictionary = &made.below->array;
      return;
    }
    const uint8_t choice = numbers_.Byte();
    made.children.push_back(choice == 5 ? nullptr : &made.below->array);
    made.array.n_children = choice == 6 ? 0 : 1;
  }

  Numbers& numbers_;
  bool too_long_ = false;
};

// Any leaf: nested a few deep, or a dictionary of scalars.
Leaf AnyLeaf(Numbers& numbers) {
  constexpr std::array kOuter = {Layout::kList, Layout::kLargeList, Layout::kFixedList,
                                 Layout::kStruct};
  Leaf leaf;
  for (int64_t depth = numbers.Byte() % 4; depth > 0; --depth) {
    const Layout layout = kOuter[numbers.Byte() % kOuter.size()];
    leaf.steps.push_back({.layout = layout, .width = numbers.Byte() % 3 + 1});
  }
  if (numbers.Byte() % 3 == 0) {
    leaf.steps.push_back({.layout = Layout::kDictionary,
                          .width = int64_t{1} << numbers.Byte() % 4,
                          .is_signed = numbers.Byte() % 2 == 0});
  }
  constexpr std::array<std::pair<Step, core::DType>, 8> kValues = {{
      {{.layout = Layout::kFixed, .width = 1}, core::DType::kUint8},
      {{.layout = Layout::kFixed, .width = 4}, core::DType::kFloat32},
      {{.layout = Layout::kFixed, .width = 4}, core::DType::kInt64},
      {{.layout = Layout::kFixed, .width = 8}, core::DType::kInt64},
      {{.layout = Layout::kBits}, core::DType::kBool},
      {{.layout = Layout::kTexts}, core::DType::kBytes},
      {{.layout = Layout::kLargeTexts}, core::DType::kBytes},
      {{.layout = Layout::kFixedTexts, .width = 3}, core::DType::kBytes},
  }};
  const auto& [step, dtype] = kValues[numbers.Byte() % kValues.size()];
  leaf.steps.push_back(step);
  leaf.spec = {"x", dtype, {}};
  return leaf;
}

void CheckImport(const ArrowArray& array, const Leaf& leaf) {
  const absl::StatusOr<Imported> imported =
      Import(Share(array), leaf, core::HeapPool());
  if (!imported.ok()) {
    CHECK(absl::IsDataLoss(imported.status())) << imported.status();
    return;
  }
  const core::Column& column = imported->column;
  CHECK_EQ(column.rows(), array.length);
  const auto flags = static_cast<int64_t>(imported->nulls.size());
  CHECK(flags == 0 || flags == column.rows()) << flags;
  for (int64_t row = 0; row < column.rows(); ++row) {
    const absl::StatusOr<core::Tensor> tensor = column.Row(row);
    if (tensor.ok()) CHECK(!tensor->ToString().empty());
  }
}

}  // namespace
}  // namespace millrace::arrow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::arrow::Numbers numbers(data, size);
  const millrace::arrow::Leaf leaf = millrace::arrow::AnyLeaf(numbers);
  const auto made = millrace::arrow::Maker(numbers).Make(leaf.steps, 0);
  if (made != nullptr) millrace::arrow::CheckImport(made->array, leaf);
  return 0;
}
