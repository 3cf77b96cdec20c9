#include "millrace/ir/content_hash.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using core::DType;
using core::Tensor;

base::Sha256 HashOf(const std::function<void(base::Sha256Hasher&)>& feed) {
  base::Sha256Hasher hasher;
  feed(hasher);
  return hasher.Finish();
}

base::Sha256 HashOf(const Value& value) {
  return HashOf([&](base::Sha256Hasher& hasher) { HashValue(value, hasher); });
}

base::Sha256 HashOf(const Tensor& tensor) {
  return HashOf([&](base::Sha256Hasher& hasher) { HashTensor(tensor, hasher); });
}

base::Sha256 HashOf(const Arguments& arguments) {
  return HashOf([&](base::Sha256Hasher& hasher) { HashArguments(arguments, hasher); });
}

// No two of them may look alike.
template <typename T>
void ExpectAllDifferent(const std::vector<T>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t j = 0; j < items.size(); ++j) {
      EXPECT_EQ(HashOf(items[i]) == HashOf(items[j]), i == j) << i << " and " << j;
    }
  }
}

Value Parsed(std::string_view text) {
  auto expression = ParseExpression(text, TestRow(), TestCatalog());
  CHECK(expression.ok()) << expression.status();
  return Value(std::make_shared<const Expression>(*std::move(expression)));
}

TEST(ContentHashTest, WhereATextEndsCounts) {
  const auto two = [](std::string_view a, std::string_view b) {
    return HashOf([&](base::Sha256Hasher& hasher) {
      HashText(a, hasher);
      HashText(b, hasher);
    });
  };
  EXPECT_EQ(two("ab", "c"), two("ab", "c"));
  EXPECT_NE(two("ab", "c"), two("a", "bc"));
  EXPECT_NE(two("abc", ""), two("", "abc"));
}

TEST(ContentHashTest, ValuesOfAllKindsAreApart) {
  ExpectAllDifferent<Value>({Value(),
                             false,
                             true,
                             0,
                             1,
                             -1,
                             0.0,
                             -0.0,
                             1.0,
                             "",
                             "1",
                             "true",
                             List{},
                             List{1},
                             List{1, 1},
                             List{1.0},
                             List{"1"},
                             List{List{}, 1},
                             List{1, List{}},
                             Attachment(""),
                             Attachment("1"),
                             Parsed("{.a}"),
                             Parsed("{x: .a}")});
}

TEST(ContentHashTest, HowListsNestCounts) {
  ExpectAllDifferent<Value>({List{1, 2, 3}, List{List{1, 2}, 3}, List{1, List{2, 3}},
                             List{1, List{2}, 3}, List{List{1}, 2, 3}});
}

TEST(ContentHashTest, TensorsDifferByTypeShapeAndValues) {
  ExpectAllDifferent<Tensor>(
      {Tensor::Scalar(int64_t{0}), Tensor::Scalar(uint64_t{0}), Tensor::Scalar(0.0),
       Tensor::Scalar(-0.0), Tensor::Scalar(int32_t{0}),
       Tensor::FromValues<int32_t>({0}, {1}), Tensor::FromValues<int32_t>({0}, {1, 1}),
       Tensor::FromValues<int32_t>({0, 0}, {2}), Tensor::FromValues<int32_t>({}, {0}),
       Tensor::FromValues<int32_t>({}, {0, 2}), Tensor::Text(""),
       Tensor::Text("", DType::kBytes), Tensor::FromTexts({"a", "bc"}, {2}),
       Tensor::FromTexts({"ab", "c"}, {2}), Tensor::FromTexts({"ab", "c"}, {1, 2})});
}

TEST(ContentHashTest, APartHashesAsACopyOfItWould) {
  const Tensor texts = Tensor::FromTexts({"a", "bb", "ccc", "d"}, {2, 2});
  EXPECT_EQ(HashOf(texts.Part(1)), HashOf(Tensor::FromTexts({"ccc", "d"}, {2})));
  const Tensor numbers = Tensor::FromValues<int16_t>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(HashOf(numbers.Part(1)), HashOf(Tensor::FromValues<int16_t>({3, 4}, {2})));
}

TEST(ContentHashTest, NamesAndOrderOfArgumentsCount) {
  ExpectAllDifferent<Arguments>({{},
                                 {{"a", 1}},
                                 {{"b", 1}},
                                 {{"a", 2}},
                                 {{"a", 1}, {"b", 1}},
                                 {{"b", 1}, {"a", 1}},
                                 {{"ab", 1}},
                                 {{"a", "b"}}});
}

TEST(ContentHashTest, TheWeaknessOfAConstantCounts) {
  Term weak = {.kind = Term::Kind::kLiteral,
               .type = {.dtype = DType::kInt64, .shape = {}, .weak = true},
               .literal = Tensor::Scalar(int64_t{1})};
  Term strong = weak;
  strong.type.weak = false;
  const auto hash = [](const Term& term) {
    return HashOf([&](base::Sha256Hasher& hasher) { HashTerm(term, hasher); });
  };
  EXPECT_NE(hash(weak), hash(strong));
  EXPECT_EQ(hash(weak), hash(weak));
}

TEST(ContentHashTest, AFieldAndAKernelOfOneNameAreApart) {
  KernelSchema kernel = {.name = "x", .doc = ""};
  const Term field = {.kind = Term::Kind::kField, .type = {}, .name = "x"};
  Term call = {.kind = Term::Kind::kCall, .type = {}, .name = "x", .kernel = &kernel};
  const auto hash = [](const Term& term) {
    return HashOf([&](base::Sha256Hasher& hasher) { HashTerm(term, hasher); });
  };
  EXPECT_NE(hash(field), hash(call));
  const base::Sha256 plain = hash(call);
  call.operands = {TermId{0}};
  EXPECT_NE(hash(call), plain);
  call.operands = {};
  call.call_number = 0;
  EXPECT_NE(hash(call), plain);
  call.call_number = kNoCallNumber;
  kernel.version = 2;
  EXPECT_NE(hash(call), plain);
  kernel.version = 1;
  EXPECT_EQ(hash(call), plain);
}

}  // namespace
}  // namespace millrace::ir
