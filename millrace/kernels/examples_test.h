// For tests: what to call each kernel with, so that what must hold for all of them can
// be tried on each. A new kernel needs a line in Examples().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/dtype.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {

// What an operand is drawn from.
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
  kJson,     // A text that is mostly JSON.
  kRecord,   // The bytes of a tf.train.SequenceExample, now and then spoilt.
  kEntries,  // Where its entries lie.
};

struct Example {
  std::vector<Kind> operands;
  ir::Arguments arguments = {};
  std::vector<size_t> scalars = {};  // Operands that have no axes.
};

inline std::vector<Example> CastExamples() {
  std::vector<Example> examples;
  for (const core::DType dtype : core::kAllDTypes) {
    const Kind from = core::IsVariable(dtype) ? Kind::kText : Kind::kNumberOrBool;
    examples.push_back(
        {.operands = {from},
         .arguments = {{"dtype", ir::Value(std::string(core::Name(dtype)))}}});
  }
  return examples;
}

inline std::vector<Example> ReduceExamples(Kind kind) {
  std::vector<Example> examples = {{.operands = {kind}},
                                   {.operands = {kind}, .arguments = {{"axis", 0}}},
                                   {.operands = {kind}, .arguments = {{"axis", -1}}}};
  for (Example example : std::vector<Example>(examples)) {
    example.arguments.Set("keep_axis", true);
    examples.push_back(std::move(example));
  }
  return examples;
}

inline std::vector<Example> SliceExamples() {
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

inline std::vector<Example> DrawExamples(Kind kind) {
  std::vector<Example> examples = {{.operands = {kind, kind}, .scalars = {0, 1}}};
  examples.push_back({.operands = {kind, kind},
                      .arguments = {{"shape", ir::List{2, 3}}},
                      .scalars = {0, 1}});
  return examples;
}

inline std::map<std::string, std::vector<Example>, std::less<>> ImageExamples() {
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
      {"decode_resized",
       {{.operands = {Kind::kEncoded, Kind::kBox}, .arguments = size},
        {.operands = {Kind::kEncoded, Kind::kBox}, .arguments = smooth}}},
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

inline std::map<std::string, std::vector<Example>, std::less<>> ChangedImageExamples() {
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
       {{.operands = {Kind::kColours, Kind::kFactor},
         .arguments = {{"kernel_size", 5}},
         .scalars = {1}}}},
      {"random_gaussian_blur",
       {{.operands = {Kind::kColours}, .arguments = {{"kernel_size", 5}}}}},
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

inline std::map<std::string, std::vector<Example>, std::less<>> MixedImageExamples() {
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

inline std::map<std::string, std::vector<Example>, std::less<>> MovedImageExamples() {
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
       {{.operands = {Kind::kColours, Kind::kNumber}, .scalars = {1}},
        {.operands = {Kind::kColours, Kind::kNumber},
         .arguments = {{"expand", true}, {"method", "bilinear"}},
         .scalars = {1}}}},
      {"affine",
       {{.operands = {Kind::kColours, Kind::kNumber, Kind::kNumber, Kind::kNumber,
                      Kind::kFactor, Kind::kFactor, Kind::kFactor},
         .scalars = {1, 2, 3, 4, 5, 6}}}},
      {"random_rotation",
       {{.operands = {Kind::kColours}, .arguments = {{"degrees", 90}}}}},
      {"random_affine",
       {{.operands = {Kind::kColours},
         .arguments = {{"degrees", 90}, {"translate_x", 0.5}, {"scale_low", 0.5}}}}},
  };
}

// Readers of the feature that RandomRecord has at this place.
inline std::vector<Example> ReaderExamples(int index, const ir::Value& missing = {}) {
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

inline std::map<std::string, std::vector<Example>, std::less<>> RecordExamples() {
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

inline std::map<std::string, std::vector<Example>, std::less<>> TextExamples() {
  const std::vector<Example> text = {{.operands = {Kind::kText}}};
  const std::vector<Example> texts = {{.operands = {Kind::kText, Kind::kText}}};
  const auto pattern = [](const ir::Arguments& arguments) {
    return std::vector<Example>{{.operands = {Kind::kText}, .arguments = arguments}};
  };
  const auto json = [](const ir::Arguments& arguments) {
    return std::vector<Example>{{.operands = {Kind::kJson}, .arguments = arguments}};
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
      {"json_int", json({{"path", "a"}})},
      {"json_float", json({{"path", "a"}, {"missing", 0.5}})},
      {"json_bool", json({{"path", "b.c[1]"}, {"missing", false}})},
      {"json_text", json({{"path", "b"}, {"missing", "-"}})},
      {"json_ints", json({{"path", "d"}})},
      {"json_floats", json({{"path", "d"}, {"missing", ir::List{1.5, 2}}})},
      {"json_texts", json({{"path", "d"}, {"missing", ir::List{}}})},
      {"json_has", json({{"path", "b.c"}})},
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

inline std::map<std::string, std::vector<Example>, std::less<>> NumberExamples() {
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

inline std::map<std::string, std::vector<Example>, std::less<>> ShapeExamples() {
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

inline std::map<std::string, std::vector<Example>, std::less<>> ValueExamples() {
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

inline std::map<std::string, std::vector<Example>, std::less<>> Examples() {
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

}  // namespace millrace::kernels
