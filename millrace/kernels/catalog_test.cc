
#include "millrace/ir/catalog.h"

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/ir/argument_schema.h"
#include "millrace/ir/infix.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

bool IsSentence(const std::string& text) {
  return !text.empty() && std::isupper(static_cast<unsigned char>(text[0])) != 0 &&
         text.back() == '.';
}

TEST(CatalogTest, HoldsEveryKernelOfTheList) {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : AllKernels().kernels()) names.push_back(name);
  EXPECT_THAT(
      names,
      testing::ElementsAre(
          "absolute", "add", "adjust_brightness", "adjust_contrast", "adjust_hue",
          "adjust_saturation", "adjust_sharpness", "affine", "all", "and", "any",
          "argmax", "argsort", "at", "auto_augment", "autocontrast", "bernoulli",
          "bucketize", "byte_length", "cast", "ceil", "center_crop", "character_length",
          "check_utf8", "choice", "clip", "color_jitter", "concat", "contains", "crop",
          "cumsum", "date_part", "decode_image", "decode_region", "decode_resized",
          "divide", "draw_cutmix", "draw_mixup", "encode_image", "ends_with", "equal",
          "equalize", "example_features", "example_floats", "example_ints",
          "example_texts", "exp", "expand_dims", "fill", "flip_horizontal",
          "flip_vertical", "floor", "floor_divide", "gaussian_blur", "grayscale",
          "greater", "greater_equal", "hash_bucket", "image_size", "integers", "invert",
          "is_finite", "is_nan", "is_utf8", "join", "json_bool", "json_float",
          "json_floats", "json_has", "json_int", "json_ints", "json_text", "json_texts",
          "length", "less", "less_equal", "log", "log1p", "lower", "max", "maximum",
          "mean", "min", "minimum", "mix_images", "mix_labels", "modulo", "multiply",
          "negate", "normal", "normalize", "not", "not_equal", "one_hot", "or", "pad",
          "pad_to", "parse_date", "permutation", "posterize", "power", "rand_augment",
          "random_affine", "random_crop", "random_crop_box", "random_flip",
          "random_gaussian_blur", "random_grayscale", "random_resized_crop",
          "random_rotation", "range", "regex_extract", "regex_match", "regex_replace",
          "regex_split", "replace", "reshape", "resize", "rotate", "round",
          "sequence_features", "sequence_floats", "sequence_ints", "sequence_texts",
          "shape", "sigmoid", "slice", "solarize", "sort", "split", "sqrt", "squeeze",
          "stack", "starts_with", "strip", "subtract", "sum", "take", "tanh",
          "text_join", "text_slice", "to_chw", "to_hwc", "to_number", "to_text",
          "transpose", "trivial_augment_wide", "truncated_normal", "uniform", "upper",
          "where"));
}

TEST(CatalogTest, HoldsWhatTheTextFormWritesBetweenOperands) {
  for (const ir::Infix& infix : ir::kInfix) {
    const auto found = AllKernels().FindKernel(infix.kernel);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)->operands.size(), 2U) << infix.kernel;
    EXPECT_TRUE((*found)->arguments.empty()) << infix.kernel;
  }
}

TEST(CatalogTest, DescribesEveryKernelOperandAndArgument) {
  for (const auto& [name, kernel] : AllKernels().kernels()) {
    EXPECT_EQ(name, kernel.name);
    EXPECT_TRUE(IsSentence(kernel.doc)) << name << ": " << kernel.doc;
    EXPECT_GE(kernel.version, 1) << name;
    EXPECT_FALSE(kernel.operands.empty()) << name;
    std::set<std::string> names;
    for (const ir::OperandSchema& operand : kernel.operands) {
      EXPECT_TRUE(IsSentence(operand.doc)) << name << "." << operand.name;
      EXPECT_TRUE(names.insert(operand.name).second) << name << "." << operand.name;
    }
    for (const ir::ArgumentSchema& argument : kernel.arguments) {
      EXPECT_TRUE(IsSentence(argument.doc)) << name << "." << argument.name;
      EXPECT_TRUE(names.insert(argument.name).second) << name << "." << argument.name;
    }
  }
}

TEST(CatalogTest, HasDefaultsThatItsOwnRulesAccept) {
  for (const auto& [name, kernel] : AllKernels().kernels()) {
    std::vector<ir::ArgumentSchema> optional;
    for (const ir::ArgumentSchema& argument : kernel.arguments) {
      if (argument.default_value) optional.push_back(argument);
    }
    EXPECT_TRUE(ir::CheckArguments(optional, {}).ok()) << name;
  }
}

TEST(CatalogTest, SuggestsTheKernelThatWasMeant) {
  EXPECT_THAT(AllKernels().FindKernel("multiplly").status().ToString(),
              testing::HasSubstr("did you mean multiply?"));
}

}  // namespace
}  // namespace millrace::kernels
