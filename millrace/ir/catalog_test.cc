#include "millrace/ir/catalog.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

TEST(CatalogTest, FindsOperatorsAndKernelsByName) {
  const auto batch = TestCatalog().FindOperator("batch");
  ASSERT_THAT(batch, IsOk());
  EXPECT_EQ((*batch)->name, "batch");
  EXPECT_TRUE((*batch)->traits.batching);
  const auto uniform = TestCatalog().FindKernel("uniform");
  ASSERT_THAT(uniform, IsOk());
  EXPECT_TRUE((*uniform)->random);
}

TEST(CatalogTest, OperatorsAndKernelsAreApart) {
  EXPECT_THAT(TestCatalog().FindOperator("add"), StatusIs(kWrong));
  EXPECT_THAT(TestCatalog().FindKernel("range"), StatusIs(kWrong));
}

TEST(CatalogTest, SuggestsTheNameThatWasMeant) {
  EXPECT_THAT(TestCatalog().FindOperator("bacth"),
              StatusIs(kWrong, "there is no operator bacth (did you mean batch?)"));
  EXPECT_THAT(TestCatalog().FindKernel("unifrom"),
              StatusIs(kWrong, "there is no kernel unifrom (did you mean uniform?)"));
  EXPECT_THAT(TestCatalog().FindKernel("decode_jpeg"),
              StatusIs(kWrong, "there is no kernel decode_jpeg"));
  EXPECT_THAT(Catalog().FindKernel("add"), StatusIs(kWrong, "there is no kernel add"));
}

TEST(CatalogTest, AWrongNameIsShownInShort) {
  EXPECT_THAT(TestCatalog().FindOperator(std::string(10'000, 'x')),
              StatusIs(kWrong, testing::SizeIs(testing::Lt(120))));
  EXPECT_THAT(TestCatalog().FindOperator("a\nb\xff"),
              StatusIs(kWrong, "there is no operator a\\nb\\xff"));
}

TEST(CatalogTest, WhatIsFoundStaysInPlace) {
  Catalog catalog = MakeTestCatalog();
  const auto before = catalog.FindKernel("add");
  for (int i = 0; i < 100; ++i) {
    AddKernel(catalog, {.name = base::StrCat("extra", i)});
  }
  EXPECT_EQ(*before, *catalog.FindKernel("add"));
}

TEST(CatalogTest, NamesAreListedInOrder) {
  std::string last;
  for (const auto& [name, schema] : TestCatalog().kernels()) {
    EXPECT_EQ(name, schema.name);
    EXPECT_LT(last, name);
    last = name;
  }
  EXPECT_TRUE(TestCatalog().operators().contains("range"));
}

TEST(CatalogTest, ANameIsAddedOnce) {
  Catalog catalog = MakeTestCatalog();
  EXPECT_DEATH(catalog.Add(TestRange()), "range");
  EXPECT_DEATH(AddKernel(catalog, {.name = "add"}), "add");
}

TEST(CatalogTest, WhatIsIncompleteIsNotAdded) {
  Catalog catalog;
  EXPECT_DEATH(catalog.Add(OperatorSchema{.name = "empty", .doc = ""}), "empty");
  EXPECT_DEATH(catalog.Add(KernelSchema{.name = "empty", .doc = ""}), "empty");
  EXPECT_DEATH(AddKernel(catalog, {.name = "none", .operands = 0, .promotes = true}),
               "none");
}

}  // namespace
}  // namespace millrace::ir
