// What every kernel in the catalog must hold to, on random operands of every type it
// takes, of shapes known and unknown, in every layout:
//   - the inferred type admits the result (CallKernel checks it);
//   - a row's result depends on that row alone: whole blocks and single rows agree;
//   - it does not depend on the layout, on how much was known of the shapes, or on
//     whether an operand was constant;
//   - an error is about the first row that fails, and comes only where `fails` says so.
// A kernel without a line in Examples() fails, so that a new one is not forgotten.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/example/messages.h"
#include "millrace/kernels/examples_test.h"
#include "millrace/kernels/image/encode_webp.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using base::Generator;
using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using core::Tensors;

// Rounds per kernel, shared between its examples and types; of each at least five.
constexpr int64_t kRounds = 400;
constexpr int64_t kRoundsLeast = 5;

// --- What examples take ---

std::vector<DType> TypesOf(Kind kind) {
  std::vector<DType> types;
  std::ranges::copy_if(core::kAllDTypes, std::back_inserter(types), [&](DType dtype) {
    switch (kind) {
      case Kind::kNumber:
        return core::IsNumeric(dtype);
      case Kind::kBool:
        return dtype == DType::kBool;
      case Kind::kNumberOrBool:
        return !core::IsVariable(dtype);
      case Kind::kText:
        return core::IsVariable(dtype);
      case Kind::kAny:
        return true;
      case Kind::kInteger:
      case Kind::kPlace:
        return core::IsInteger(dtype);
      case Kind::kSize:
        return core::IsInteger(dtype) && dtype != DType::kUint64;
      case Kind::kWeights:
        return core::IsNumeric(dtype);
      case Kind::kDate:
      case Kind::kJson:
        return core::IsVariable(dtype);
      case Kind::kEncoded:
      case Kind::kRecord:
        return dtype == DType::kBytes;
      case Kind::kImage:
        return !core::IsVariable(dtype);
      case Kind::kByteImage:
        return dtype == DType::kUint8;
      case Kind::kColours:
        return dtype == DType::kUint8 || dtype == DType::kFloat32;
      case Kind::kFactor:
        return dtype == DType::kFloat32 || dtype == DType::kFloat64;
      case Kind::kBatch:
        return dtype == DType::kUint8 || dtype == DType::kFloat32;
      case Kind::kDraw:
        return dtype == DType::kFloat64;
      case Kind::kBox:
      case Kind::kImageSize:
      case Kind::kLabels:
      case Kind::kEntries:
        return dtype == DType::kInt64;
    }
    return false;
  });
  return types;
}

// --- Random operands ---

template <typename T>
T RandomNumber(Generator& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return random.Integer(0, 2) == 0;
  } else if constexpr (std::is_integral_v<T>) {
    const int64_t choice = random.Integer(0, 12);
    if (choice == 10) return std::numeric_limits<T>::max();
    if (choice == 11) return std::numeric_limits<T>::min();
    return static_cast<T>(choice > 6 ? -(choice - 6) : choice);
  } else {
    const int64_t choice = random.Integer(0, 12);
    if (choice == 10) return static_cast<T>(std::numeric_limits<float>::infinity());
    if (choice == 11) return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    return static_cast<T>(static_cast<float>(random.Uniform(-4, 8)));
  }
}

// Images and what goes with them have shapes of their own.
std::optional<Shape> OwnShape(Kind kind, Generator& random) {
  switch (kind) {
    case Kind::kEncoded:
    case Kind::kRecord:
      return Shape();
    case Kind::kEntries:
      return Shape({6, 2});
    case Kind::kWeights:
      return Shape({random.Integer(1, 4)});
    case Kind::kImage:
    case Kind::kByteImage:
    case Kind::kColours:
      return random.Integer(0, 30) == 0
                 ? Shape({0, 3, 3})
                 : Shape({random.Integer(1, 8), random.Integer(1, 8), 3});
    case Kind::kBox:
      return Shape({4});
    case Kind::kImageSize:
    case Kind::kLabels:
      return Shape({2});
    case Kind::kBatch:
      return Shape({2, random.Integer(1, 4), random.Integer(1, 4), 3});
    case Kind::kDraw:
      return Shape({7});
    default:
      return std::nullopt;
  }
}

Tensor RandomEncoded(Generator& random) {
  const Picture picture = Draw({random.Integer(1, 12), random.Integer(1, 12)});
  const int64_t format = random.Integer(0, 5);
  std::string bytes = EncodeJpeg(picture);
  if (format == 0) bytes = EncodePng(picture);
  if (format == 1) bytes = *EncodeWebp(picture.view(), 80);
  if (random.Integer(0, 20) == 0) bytes.resize(bytes.size() / 2);
  return Tensor::Text(bytes, DType::kBytes);
}

// Six entries of the name x, each in a map of its own and at the same place in every
// record, however its feature is written.
Tensor RandomRecord(Generator& random) {
  constexpr size_t kFeatureBytes = 16;
  const int64_t number = random.Integer(0, 100);
  const auto real = static_cast<float>(number);
  const bool twice = random.Integer(0, 4) == 0;
  std::vector<std::string> features = {Ints({number}), Floats({real}), Texts({"text"})};
  if (twice) features = {Ints({1, number}), Floats({1, real}), Texts({"a", "b"})};
  std::string record;
  for (const uint32_t map : {1U, 2U}) {
    for (const std::string& feature : features) {
      std::string value = map == 1 ? feature : StepsOf({feature});
      const size_t padding = kFeatureBytes - value.size() - 2;
      value += Field(9, std::string(padding, '?'));  // A field that nobody knows.
      record += Field(map, MapOf({{"x", value}}));
    }
  }
  if (random.Integer(0, 12) == 0)
    record[random.Integer(0, std::ssize(record))] = '\xFF';
  return Tensor::Text(record, DType::kBytes);
}

Tensor RandomEntries(Generator& random) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 6; ++i) {
    const bool missing = random.Integer(0, 8) == 0;
    const int64_t begin = i * 25 + 4;  // A map has 25 bytes, an entry 21.
    places.push_back(missing ? -1 : begin);
    places.push_back(missing ? -1 : begin + 21 + random.Integer(0, 40) / 39);
  }
  return Tensor::FromValues<int64_t>(places, {6, 2});
}

// Five texts to draw from.
std::vector<std::string> TextsOf(Kind kind) {
  if (kind == Kind::kDate) return {"2024-02-29", "1969-12-31 23:59", "12", "-7", " 3 "};
  if (kind == Kind::kJson) {
    return {R"({"a": 1, "d": [1, 2, 3]})", R"({"b": {"c": [1, true]}, "a": 2})",
            R"( {"d": [], "a": 7, "b": null} )", R"({"a":5,"d":[4]})",
            R"({"a": 6, "b": {}, "d": [0]})"};
  }
  return {"", "a", "ab", "B\xC3\xBC", "cab"};
}

Tensor RandomTensor(Kind kind, DType dtype, const Shape& shape, Generator& random) {
  if (kind == Kind::kEncoded) return RandomEncoded(random);
  if (kind == Kind::kRecord) return RandomRecord(random);
  if (kind == Kind::kEntries) return RandomEntries(random);
  if (kind == Kind::kDraw) {
    const std::vector<double> draw = {random.Uniform(-0.1, 1), 0, 0, 1, 1, 1, 0};
    return Tensor::FromValues<double>(draw, shape);
  }
  if (kind == Kind::kBox || kind == Kind::kImageSize || kind == Kind::kLabels) {
    std::vector<int64_t> values(shape.Count());
    for (int64_t& value : values) value = random.Integer(0, 4);
    return Tensor::FromValues<int64_t>(values, shape);
  }
  const int64_t count = shape.Count();
  if (core::IsVariable(dtype)) {
    const std::vector<std::string> some = TextsOf(kind);
    std::vector<std::string> texts;
    texts.reserve(count);
    for (int64_t i = 0; i < count; ++i) texts.push_back(some[random.Integer(0, 5)]);
    const bool spoilt = dtype == DType::kBytes && random.Integer(0, 20) == 0;
    if (spoilt && count > 0) texts.back() = "\xFF";
    return Tensor::FromTexts(texts, shape, dtype);
  }
  return core::VisitDType(dtype, [&]<typename T>() {
    const auto values = std::make_unique<T[]>(count);
    for (int64_t i = 0; i < count; ++i) {
      const auto place = std::floor(static_cast<float>(random.Integer(0, 9)) / 4);
      const bool small = kind == Kind::kPlace || kind == Kind::kWeights ||
                         (kind == Kind::kSize && random.Integer(0, 20) > 0);
      const auto negative = static_cast<T>(static_cast<float>(-2));
      values[i] = small                 ? static_cast<T>(place)
                  : kind == Kind::kSize ? negative
                                        : RandomNumber<T>(random);
      if (kind == Kind::kFactor && random.Integer(0, 12) > 0) {
        values[i] = static_cast<T>(static_cast<float>(random.Uniform(0.01, 0.5)));
      }
    }
    return Tensor::FromValues<T>(absl::MakeConstSpan(values.get(), count), shape);
  });
}

// A shape that can be broadcast to `shape`: leading axes dropped, others made 1.
Shape Narrowed(const Shape& shape, Generator& random) {
  std::vector<int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  if (random.Integer(0, 3) == 0) {
    sizes.erase(sizes.begin(),
                sizes.begin() + random.Integer(0, std::ssize(sizes) + 1));
  }
  for (int64_t& size : sizes) size = random.Integer(0, 4) == 0 ? 1 : size;
  return Shape(sizes);
}

// Shapes of the rows: all the same, of one rank, or anything.
std::vector<Shape> RandomShapes(int64_t rows, Generator& random) {
  const int64_t alike = random.Integer(0, 3);
  std::vector<Shape> shapes;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> sizes(row > 0 && alike > 0 ? shapes[0].rank()
                                                    : random.Integer(0, 4));
    for (int64_t& size : sizes)
      size = random.Integer(0, 12) == 0 ? 0 : random.Integer(1, 4);
    shapes.push_back(row > 0 && alike == 2 ? shapes[0] : Shape(sizes));
  }
  return shapes;
}

// Forgets part of what is known of a shape.
Shape Loosened(const Shape& shape, Generator& random) {
  const int64_t how = random.Integer(0, 4);
  if (how == 0 || !shape.ranked()) return Shape::Unranked();
  std::vector<int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  for (int64_t& size : sizes) {
    if (how == 1 && random.Integer(0, 2) == 0) size = core::kUnknownSize;
  }
  return Shape(sizes);
}

// Operands as tensors, before they get a layout.
struct Operands {
  int64_t rows = 1;
  std::vector<Tensors> tensors = {};  // Of constants, one.
  std::vector<bool> constant = {};
};

Operands RandomOperands(const Example& example, DType first, Generator& random) {
  Operands operands = {.rows = random.Integer(1, 5)};
  const std::vector<Shape> shapes = RandomShapes(operands.rows, random);
  for (size_t i = 0; i < example.operands.size(); ++i) {
    const std::vector<DType> types = TypesOf(example.operands[i]);
    const DType dtype =
        i == 0 ? first : types[random.Integer(0, static_cast<int64_t>(types.size()))];
    const Kind kind = example.operands[i];
    const bool scalar = std::ranges::count(example.scalars, i) > 0;
    const bool constant = random.Integer(0, 4) == 0;
    Tensors tensors;
    for (int64_t row = 0; row < (constant ? 1 : operands.rows); ++row) {
      const Shape shape = scalar ? Shape() : Narrowed(shapes[row], random);
      tensors.push_back(RandomTensor(
          kind, dtype,
          OwnShape(kind, random).value_or(constant && i > 0 ? Shape() : shape),
          random));
    }
    operands.tensors.push_back(std::move(tensors));
    operands.constant.push_back(constant);
  }
  return operands;
}

// --- Calling ---

class Caller {
 public:
  Caller(std::string kernel, ir::Arguments arguments, Operands operands)
      : kernel_(std::move(kernel)),
        arguments_(std::move(arguments)),
        operands_(std::move(operands)),
        block_(BlockOf(operands_.rows)) {}

  // All rows, each operand in one of its layouts, of the types given.
  absl::StatusOr<Column> Whole(const std::vector<ir::ValueType>& types,
                               Generator& random) const {
    return Call(InputsOf(types, random), block_);
  }

  // The same with every constant written out for each row.
  absl::StatusOr<Column> WithoutConstants(const std::vector<ir::ValueType>& types,
                                          Generator& random) const {
    std::vector<Input> inputs = InputsOf(types, random);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!operands_.constant[i]) continue;
      inputs[i].operand = {.column = *Column::Repeat(operands_.tensors[i][0],
                                                     operands_.rows, core::HeapPool())};
    }
    return Call(inputs, block_);
  }

  absl::StatusOr<Column> OneRow(const std::vector<ir::ValueType>& types, int64_t row,
                                Generator& random) const {
    std::vector<Input> inputs = InputsOf(types, random);
    for (Input& input : inputs) {
      if (!input.operand.constant) {
        input.operand.column = input.operand.column.Slice(row, 1);
      }
    }
    return Call(inputs, block_.Slice(row, 1));
  }

  // The closest types that admit the operands.
  std::vector<ir::ValueType> Types() const {
    std::vector<ir::ValueType> types;
    types.reserve(operands_.tensors.size());
    for (const Tensors& tensors : operands_.tensors) {
      types.push_back(TypeOf(Column::OfTensors(tensors[0].dtype(), tensors)));
    }
    return types;
  }

  bool all_constant() const {
    return std::ranges::all_of(operands_.constant,
                               [](bool constant) { return constant; });
  }

 private:
  static core::Block BlockOf(int64_t rows) {
    std::vector<core::RowId> ids;
    ids.reserve(rows);
    for (int64_t row = 0; row < rows; ++row) {
      ids.push_back({3, static_cast<uint64_t>(row)});
    }
    const core::Block block(rows, core::FieldNames{}, {});
    return block.WithIds(*core::IdColumn(ids, core::HeapPool()));
  }

  std::vector<Input> InputsOf(const std::vector<ir::ValueType>& types,
                              Generator& random) const {
    std::vector<Input> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      std::vector<Column> layouts = Layouts(operands_.tensors[i]);
      const auto choice = random.Integer(0, static_cast<int64_t>(layouts.size()));
      inputs.push_back({.operand = {.column = std::move(layouts[choice]),
                                    .constant = operands_.constant[i]},
                        .type = types[i]});
    }
    return inputs;
  }

  absl::StatusOr<Column> Call(const std::vector<Input>& inputs,
                              const core::Block& block) const {
    const ir::Draws draws = {.key = base::RandomKey(1, 2, 3), .rows = &block};
    const bool random = (*AllKernels().FindKernel(kernel_))->random;
    return CallKernel(kernel_, inputs, arguments_, random ? &draws : nullptr);
  }

  const std::string kernel_;
  const ir::Arguments arguments_;
  const Operands operands_;
  const core::Block block_;
};

// --- The checks ---

class ConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  const ir::KernelSchema& kernel() const {
    return **AllKernels().FindKernel(GetParam());
  }

  // Whether it may fail on rows of these types.
  bool MayFail(const std::vector<ir::ValueType>& types) const {
    const ir::Fails fails = kernel().fails;
    if (fails == ir::Fails::kNever) return false;
    if (fails == ir::Fails::kOnData || fails == ir::Fails::kOnZero) return true;
    return !std::ranges::all_of(
        types, [](const ir::ValueType& type) { return type.shape.IsKnown(); });
  }

  void CheckResult(const Caller& caller, const std::vector<ir::ValueType>& types,
                   const Column& whole, Generator& random) const {
    const absl::StatusOr<Column> again = caller.Whole(types, random);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(core::SameRows(*again, whole)) << Shown(*again) << "\n" << Shown(whole);
    for (int64_t row = 0; row < whole.rows(); ++row) {
      const absl::StatusOr<Column> alone = caller.OneRow(types, row, random);
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_TRUE(core::SameRows(*alone, whole.Slice(row, 1)))
          << "row " << row << " alone: " << Shown(*alone) << "\n"
          << Shown(whole);
    }
    if (caller.all_constant() && !kernel().random) return;
    const absl::StatusOr<Column> repeated = caller.WithoutConstants(types, random);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    EXPECT_TRUE(core::SameRows(*repeated, whole)) << Shown(*repeated);
  }

  void CheckFailure(const Caller& caller, const std::vector<ir::ValueType>& types,
                    const absl::Status& error, int64_t rows, Generator& random) const {
    EXPECT_EQ(error.code(), absl::StatusCode::kDataLoss) << error;
    EXPECT_TRUE(MayFail(types)) << "`fails` does not say so: " << error;
    for (int64_t row = 0; row < rows; ++row) {
      const absl::StatusOr<Column> alone = caller.OneRow(types, row, random);
      if (alone.ok()) continue;
      const std::string message(alone.status().message());
      ASSERT_THAT(message, testing::StartsWith("row 0: "));
      EXPECT_EQ(std::string(error.message()),
                base::StrCat("row ", row, message.substr(5)));
      return;
    }
    ADD_FAILURE() << "no row fails alone, but together: " << error;
  }

  // Tells whether the kernel accepted the types and computed something.
  bool CheckRound(const Example& example, DType dtype, Generator& random) const {
    Operands operands = RandomOperands(example, dtype, random);
    const Caller caller(GetParam(), example.arguments, operands);
    std::vector<ir::ValueType> types = caller.Types();
    for (ir::ValueType& type : types) type.shape = Loosened(type.shape, random);
    const absl::StatusOr<Column> whole = caller.Whole(types, random);
    if (whole.ok()) {
      CheckResult(caller, types, *whole, random);
      return true;
    }
    if (whole.status().code() == absl::StatusCode::kInvalidArgument) return false;
    const int64_t rows = caller.all_constant() ? 1 : operands.rows;
    CheckFailure(caller, types, whole.status(), rows, random);
    return false;
  }
};

TEST_P(ConformanceTest, HoldsToTheContractOfKernels) {
  const auto examples = Examples();
  const auto found = examples.find(GetParam());
  ASSERT_TRUE(found != examples.end())
      << "The kernel " << GetParam()
      << " has no example: add a line to Examples() in conformance_test.cc.";
  Generator random(base::RandomKey(2024, 11, 15), {});
  for (const Example& example : found->second) {
    int computed = 0;
    const std::vector<DType> types = TypesOf(example.operands[0]);
    const auto shares = static_cast<int64_t>(types.size() * found->second.size());
    for (const DType dtype : types) {
      for (int64_t round = 0; round < std::max(kRounds / shares, kRoundsLeast);
           ++round) {
        SCOPED_TRACE(testing::Message()
                     << GetParam() << " of " << dtype << ", round " << round);
        computed += CheckRound(example, dtype, random) ? 1 : 0;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(computed, 0) << "no round of this example was well typed";
  }
}

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : AllKernels().kernels()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryKernel, ConformanceTest, testing::ValuesIn(KernelNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace millrace::kernels
