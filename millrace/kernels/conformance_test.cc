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
#include "millrace/kernels/example/messages_test.h"
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

// --- Examples: what to call each kernel with ---

enum class Kind : uint8_t {
  kNumber,
  kBool,
  kNumberOrBool,
  kText,
  kAny,
  kInteger,
  kPlace,    // An integer that is often a place on a short axis.
  kEncoded,  // The bytes of a small image, now and then spoilt.
  kImage,    // Of any type without texts, like the next of bytes.
  kByteImage,
  kColours,  // Of bytes or of float32.
  kFactor,   // A number that is often from 0 to 1.
  kBox,      // Mostly inside of small images.
  kImageSize,
  kBatch,    // Of two small images.
  kLabels,   // Of as many.
  kDraw,     // How to mix them; now and then nonsense.
  kSize,     // An integer that is mostly small and not negative.
  kWeights,  // Along one axis.
  kDate,     // A text that is mostly a date.
  kRecord,   // The bytes of a tf.train.SequenceExample, now and then spoilt.
  kEntries,  // Where its entries lie.
};

struct Example {
  std::vector<Kind> operands;
  ir::Arguments arguments = {};
  std::vector<size_t> scalars = {};  // Operands that have no axes.
};

std::vector<Example> CastExamples() {
  std::vector<Example> examples;
  for (const DType dtype : core::kAllDTypes) {
    const Kind from = core::IsVariable(dtype) ? Kind::kText : Kind::kNumberOrBool;
    examples.push_back(
        {.operands = {from},
         .arguments = {{"dtype", ir::Value(std::string(core::Name(dtype)))}}});
  }
  return examples;
}

std::vector<Example> ReduceExamples(Kind kind) {
  std::vector<Example> examples = {{.operands = {kind}},
                                   {.operands = {kind}, .arguments = {{"axis", 0}}},
                                   {.operands = {kind}, .arguments = {{"axis", -1}}}};
  for (Example example : std::vector<Example>(examples)) {
    example.arguments.Set("keep_axis", true);
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<Example> SliceExamples() {
  std::vector<Example> examples;
  for (const int axis : {0, -1}) {
    for (const int step : {1, 2, -1}) {
      examples.push_back(
          {.operands = {Kind::kAny}, .arguments = {{"axis", axis}, {"step", step}}});
    }
    examples.push_back({.operands = {Kind::kAny},
                        .arguments = {{"axis", axis}, {"start", 1}, {"stop", -1}}});
  }
  return examples;
}

std::vector<Example> DrawExamples(Kind kind) {
  std::vector<Example> examples = {{.operands = {kind, kind}, .scalars = {0, 1}}};
  examples.push_back({.operands = {kind, kind},
                      .arguments = {{"shape", ir::List{2, 3}}},
                      .scalars = {0, 1}});
  return examples;
}

std::map<std::string, std::vector<Example>, std::less<>> ImageExamples() {
  const ir::Arguments size = {{"height", 3}, {"width", 4}};
  ir::Arguments smooth = size;
  smooth.Set("method", "bicubic");
  smooth.Set("antialias", true);
  const ir::Arguments moments = {{"mean", ir::List{0.5, 0.25, 0.0}},
                                 {"deviation", ir::List{2.0, 0.5, 1.0}}};
  ir::Arguments planes = moments;
  planes.Set("layout", "chw");
  return {
      {"decode_image",
       {{.operands = {Kind::kEncoded}},
        {.operands = {Kind::kEncoded}, .arguments = {{"scale", 2}}}}},
      {"decode_region", {{.operands = {Kind::kEncoded, Kind::kBox}}}},
      {"image_size", {{.operands = {Kind::kEncoded}}}},
      {"crop", {{.operands = {Kind::kImage, Kind::kBox}}}},
      {"random_crop_box", {{.operands = {Kind::kImageSize}}}},
      {"resize",
       {{.operands = {Kind::kByteImage}, .arguments = size},
        {.operands = {Kind::kByteImage}, .arguments = smooth}}},
      {"random_resized_crop", {{.operands = {Kind::kByteImage}, .arguments = size}}},
      {"flip_horizontal", {{.operands = {Kind::kImage, Kind::kBool}, .scalars = {1}}}},
      {"normalize",
       {{.operands = {Kind::kByteImage}, .arguments = moments},
        {.operands = {Kind::kByteImage}, .arguments = planes}}},
      {"to_chw", {{.operands = {Kind::kImage}}}},
      {"to_hwc", {{.operands = {Kind::kImage}}}},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> ChangedImageExamples() {
  const std::vector<Example> adjust = {
      {.operands = {Kind::kColours, Kind::kFactor}, .scalars = {1}}};
  const std::vector<Example> bytes = {{.operands = {Kind::kByteImage}}};
  const std::vector<Example> tone = {
      {.operands = {Kind::kByteImage, Kind::kInteger}, .scalars = {1}}};
  const ir::Arguments jitter = {
      {"brightness", 0.8}, {"contrast", 0.8}, {"saturation", 0.8}, {"hue", 0.2}};
  return {
      {"flip_vertical", {{.operands = {Kind::kImage, Kind::kBool}, .scalars = {1}}}},
      {"random_flip",
       {{.operands = {Kind::kImage}},
        {.operands = {Kind::kImage}, .arguments = {{"direction", "vertical"}}}}},
      {"grayscale",
       {{.operands = {Kind::kColours}},
        {.operands = {Kind::kColours}, .arguments = {{"channels", 1}}}}},
      {"adjust_brightness", adjust},
      {"adjust_contrast", adjust},
      {"adjust_saturation", adjust},
      {"adjust_hue", adjust},
      {"color_jitter", {{.operands = {Kind::kColours}, .arguments = jitter}}},
      {"random_grayscale", {{.operands = {Kind::kColours}, .arguments = {{"p", 0.5}}}}},
      {"gaussian_blur",
       {{.operands = {Kind::kByteImage, Kind::kFactor},
         .arguments = {{"kernel_size", 5}},
         .scalars = {1}}}},
      {"random_gaussian_blur",
       {{.operands = {Kind::kByteImage}, .arguments = {{"kernel_size", 5}}}}},
      {"invert", bytes},
      {"autocontrast", bytes},
      {"equalize", bytes},
      {"posterize", tone},
      {"solarize", tone},
      {"adjust_sharpness", tone},
      {"rand_augment", bytes},
      {"trivial_augment_wide", bytes},
      {"auto_augment", bytes},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> MixedImageExamples() {
  std::vector<Example> formats;
  for (const char* format : {"jpeg", "png", "webp"}) {
    formats.push_back(
        {.operands = {Kind::kByteImage}, .arguments = {{"format", format}}});
  }
  return {
      {"encode_image", formats},
      {"draw_mixup", {{.operands = {Kind::kBatch}}}},
      {"draw_cutmix", {{.operands = {Kind::kBatch}}}},
      {"mix_images", {{.operands = {Kind::kBatch, Kind::kDraw}}}},
      {"mix_labels",
       {{.operands = {Kind::kLabels, Kind::kDraw}, .arguments = {{"num_classes", 4}}}}},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> MovedImageExamples() {
  const ir::Arguments around = {{"top", 1}, {"left", 2}, {"mode", "reflect"}};
  const ir::Arguments size = {{"height", 3}, {"width", 4}};
  ir::Arguments padded = size;
  padded.Set("padding", 2);
  return {
      {"pad",
       {{.operands = {Kind::kImage}, .arguments = {{"bottom", 2}, {"fill", 1}}},
        {.operands = {Kind::kImage}, .arguments = around}}},
      {"center_crop", {{.operands = {Kind::kImage}, .arguments = size}}},
      {"random_crop", {{.operands = {Kind::kImage}, .arguments = padded}}},
      {"rotate",
       {{.operands = {Kind::kByteImage, Kind::kNumber}, .scalars = {1}},
        {.operands = {Kind::kByteImage, Kind::kNumber},
         .arguments = {{"expand", true}, {"method", "bilinear"}},
         .scalars = {1}}}},
      {"affine",
       {{.operands = {Kind::kByteImage, Kind::kNumber, Kind::kNumber, Kind::kNumber,
                      Kind::kFactor, Kind::kFactor, Kind::kFactor},
         .scalars = {1, 2, 3, 4, 5, 6}}}},
      {"random_rotation",
       {{.operands = {Kind::kByteImage}, .arguments = {{"degrees", 90}}}}},
      {"random_affine",
       {{.operands = {Kind::kByteImage},
         .arguments = {{"degrees", 90}, {"translate_x", 0.5}, {"scale_low", 0.5}}}}},
  };
}

// Readers of the feature that RandomRecord has at this place.
std::vector<Example> ReaderExamples(int index, const ir::Value& missing = {}) {
  const std::vector<Kind> operands = {Kind::kRecord, Kind::kEntries};
  ir::Arguments arguments = {{"index", index}, {"name", "x"}};
  if (!missing.is_none()) {
    arguments.Set(missing.If<bool>() == nullptr ? "default" : "optional", missing);
  }
  ir::Arguments fixed = arguments;
  fixed.Set("shape", ir::List{});
  return {{.operands = operands, .arguments = arguments},
          {.operands = operands, .arguments = fixed}};
}

std::map<std::string, std::vector<Example>, std::less<>> RecordExamples() {
  const std::vector<Example> find = {
      {.operands = {Kind::kRecord}, .arguments = {{"names", ir::List{"x", "y"}}}}};
  return {{"example_features", find},
          {"sequence_features", find},
          {"example_ints", ReaderExamples(0, ir::List{3})},
          {"example_floats", ReaderExamples(1)},
          {"example_texts", ReaderExamples(2, ir::List{"none"})},
          {"sequence_ints", ReaderExamples(3, true)},
          {"sequence_floats", ReaderExamples(4)},
          {"sequence_texts", ReaderExamples(5)}};
}

std::map<std::string, std::vector<Example>, std::less<>> TextExamples() {
  const std::vector<Example> text = {{.operands = {Kind::kText}}};
  const std::vector<Example> texts = {{.operands = {Kind::kText, Kind::kText}}};
  const auto pattern = [](const ir::Arguments& arguments) {
    return std::vector<Example>{{.operands = {Kind::kText}, .arguments = arguments}};
  };
  return {
      {"byte_length", text},
      {"text_join", {texts[0], {.operands = {Kind::kText, Kind::kText, Kind::kText}}}},
      {"text_slice",
       {{.operands = {Kind::kText}, .arguments = {{"start", 1}}},
        {.operands = {Kind::kText}, .arguments = {{"stop", -1}}}}},
      {"starts_with", texts},
      {"ends_with", texts},
      {"contains", texts},
      {"lower", text},
      {"to_text", {{.operands = {Kind::kNumberOrBool}}}},
      {"upper", text},
      {"strip",
       {text[0], {.operands = {Kind::kText}, .arguments = {{"characters", "abc"}}}}},
      {"replace", pattern({{"old", "a"}, {"new", "xyz"}})},
      {"split", {text[0], pattern({{"separator", "a"}})[0]}},
      {"join", {text[0], pattern({{"separator", ", "}})[0]}},
      {"is_utf8", text},
      {"check_utf8", text},
      {"character_length", text},
      {"to_number",
       {{.operands = {Kind::kDate}, .arguments = {{"dtype", "int8"}}},
        {.operands = {Kind::kDate}}}},
      {"parse_date", {{.operands = {Kind::kDate}}}},
      {"date_part",
       {{.operands = {Kind::kInteger}, .arguments = {{"part", "year"}}},
        {.operands = {Kind::kInteger}, .arguments = {{"part", "weekday"}}}}},
      {"regex_match", pattern({{"pattern", "^.b|c"}})},
      {"regex_replace", pattern({{"pattern", "(.)a?"}, {"new", "<\\1>"}})},
      {"regex_extract", pattern({{"pattern", "a(.)"}, {"group", 1}})},
      {"regex_split", pattern({{"pattern", "a|\\b"}})},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> NumberExamples() {
  const std::vector<Example> number = {{.operands = {Kind::kNumber}}};
  return {
      {"exp", number},
      {"log", number},
      {"log1p", number},
      {"sigmoid", number},
      {"tanh", number},
      {"power", {{.operands = {Kind::kNumber, Kind::kNumber}}}},
      {"floor", number},
      {"ceil", number},
      {"round", number},
      {"clip", {{.operands = {Kind::kNumber, Kind::kNumber, Kind::kNumber}}}},
      {"is_nan", number},
      {"is_finite", number},
      {"hash_bucket",
       {{.operands = {Kind::kText}, .arguments = {{"buckets", 7}}},
        {.operands = {Kind::kInteger}, .arguments = {{"buckets", 7}, {"seed", 1}}}}},
      {"bucketize",
       {{.operands = {Kind::kNumber},
         .arguments = {{"boundaries", ir::List{0.0, 1.5, 3.0}}}}}},
      {"one_hot",
       {{.operands = {Kind::kPlace}, .arguments = {{"depth", 2}}},
        {.operands = {Kind::kInteger},
         .arguments = {{"depth", 4}, {"dtype", "bool"}}}}},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> ShapeExamples() {
  const std::vector<Example> any = {{.operands = {Kind::kAny}}};
  const auto along = [](Kind kind) {
    return std::vector<Example>{{.operands = {kind}},
                                {.operands = {kind}, .arguments = {{"axis", 0}}}};
  };
  std::vector<Example> sorted = along(Kind::kNumberOrBool);
  sorted.push_back(
      {.operands = {Kind::kNumberOrBool}, .arguments = {{"descending", true}}});
  const std::vector<Example> joined = {
      {.operands = {Kind::kNumberOrBool, Kind::kNumberOrBool}},
      {.operands = {Kind::kText, Kind::kText, Kind::kText},
       .arguments = {{"axis", -1}}}};
  return {
      {"transpose",
       {any[0], {.operands = {Kind::kAny}, .arguments = {{"axes", ir::List{1, 0}}}}}},
      {"expand_dims",
       {{.operands = {Kind::kAny}, .arguments = {{"axis", 0}}},
        {.operands = {Kind::kAny}, .arguments = {{"axis", -1}}}}},
      {"squeeze", {{.operands = {Kind::kAny}, .arguments = {{"axis", 0}}}}},
      {"concat", joined},
      {"stack", joined},
      {"pad_to",
       {{.operands = {Kind::kAny}, .arguments = {{"length", 2}}},
        {.operands = {Kind::kAny}, .arguments = {{"length", 2}, {"truncate", true}}}}},
      {"fill",
       {{.operands = {Kind::kAny},
         .arguments = {{"shape", ir::List{2, 3}}},
         .scalars = {0}}}},
      {"range", {{.operands = {Kind::kSize}, .scalars = {0}}}},
      {"sort", sorted},
      {"argsort", sorted},
      {"argmax", along(Kind::kNumberOrBool)},
      {"cumsum", along(Kind::kNumberOrBool)},
      {"take", {{.operands = {Kind::kAny, Kind::kPlace}}}},
      {"bernoulli", {{.operands = {Kind::kPlace}, .scalars = {0}}}},
      {"truncated_normal", DrawExamples(Kind::kNumber)},
      {"choice",
       {{.operands = {Kind::kWeights}},
        {.operands = {Kind::kWeights}, .arguments = {{"shape", ir::List{3}}}}}},
      {"permutation", {{.operands = {Kind::kSize}, .scalars = {0}}}},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> ValueExamples() {
  const std::vector<Example> arithmetic = {{.operands = {Kind::kNumber, Kind::kNumber}},
                                           {.operands = {Kind::kBool, Kind::kNumber}}};
  const std::vector<Example> compare = {
      {.operands = {Kind::kNumberOrBool, Kind::kNumberOrBool}},
      {.operands = {Kind::kText, Kind::kText}}};
  const std::vector<Example> number = {{.operands = {Kind::kNumber}}};
  const std::vector<Example> any = {{.operands = {Kind::kAny}}};
  const std::vector<Example> bools = {{.operands = {Kind::kBool, Kind::kBool}}};
  return {
      {"add", arithmetic},
      {"subtract", arithmetic},
      {"multiply", arithmetic},
      {"divide", arithmetic},
      {"floor_divide", arithmetic},
      {"modulo", arithmetic},
      {"minimum", arithmetic},
      {"maximum", arithmetic},
      {"negate", number},
      {"absolute", number},
      {"sqrt", number},
      {"equal", compare},
      {"not_equal", compare},
      {"less", compare},
      {"less_equal", compare},
      {"greater", compare},
      {"greater_equal", compare},
      {"and", bools},
      {"or", bools},
      {"not", {{.operands = {Kind::kBool}}}},
      {"cast", CastExamples()},
      {"at",
       {{.operands = {Kind::kAny, Kind::kPlace}, .scalars = {1}},
        {.operands = {Kind::kAny, Kind::kPlace},
         .arguments = {{"axis", -1}},
         .scalars = {1}}}},
      {"slice", SliceExamples()},
      {"shape", any},
      {"length", any},
      {"reshape",
       {{.operands = {Kind::kAny}, .arguments = {{"shape", ir::List{-1}}}},
        {.operands = {Kind::kAny}, .arguments = {{"shape", ir::List{2, -1}}}}}},
      {"sum", ReduceExamples(Kind::kNumberOrBool)},
      {"mean", ReduceExamples(Kind::kNumberOrBool)},
      {"min", ReduceExamples(Kind::kNumberOrBool)},
      {"max", ReduceExamples(Kind::kNumberOrBool)},
      {"any", ReduceExamples(Kind::kBool)},
      {"all", ReduceExamples(Kind::kBool)},
      {"where",
       {{.operands = {Kind::kBool, Kind::kNumberOrBool, Kind::kNumberOrBool}},
        {.operands = {Kind::kBool, Kind::kText, Kind::kText}}}},
      {"uniform", DrawExamples(Kind::kNumber)},
      {"integers", DrawExamples(Kind::kInteger)},
      {"normal", DrawExamples(Kind::kNumber)},
  };
}

std::map<std::string, std::vector<Example>, std::less<>> Examples() {
  auto examples = ValueExamples();
  examples.merge(ImageExamples());
  examples.merge(ChangedImageExamples());
  examples.merge(MovedImageExamples());
  examples.merge(MixedImageExamples());
  examples.merge(RecordExamples());
  examples.merge(TextExamples());
  examples.merge(NumberExamples());
  examples.merge(ShapeExamples());
  return examples;
}

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
    const std::vector<std::string> some =
        kind == Kind::kDate
            ? std::vector<std::string>{"2024-02-29", "1969-12-31 23:59", "12", "-7",
                                       " 3 "}
            : std::vector<std::string>{"", "a", "ab", "B\xC3\xBC", "cab"};
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
