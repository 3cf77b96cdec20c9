#include "millrace/ir/infix.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/lexer.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

int BindingOf(std::string_view mark) {
  const auto* const found = std::ranges::find(kInfix, mark, &Infix::mark);
  return found == kInfix.end() ? 0 : found->binding;
}

TEST(InfixTest, EveryMarkAndEveryKernelStandsThereOnce) {
  for (const Infix& infix : kInfix) {
    EXPECT_EQ(std::ranges::count(kInfix, infix.mark, &Infix::mark), 1) << infix.mark;
    EXPECT_EQ(std::ranges::count(kInfix, infix.kernel, &Infix::kernel), 1);
  }
}

TEST(InfixTest, EveryMarkIsOneToken) {
  for (const Infix& infix : kInfix) {
    Lexer lexer(infix.mark);
    EXPECT_EQ(lexer.Next()->text, infix.mark);
    EXPECT_EQ(lexer.Next()->kind, Token::Kind::kEnd) << infix.mark;
  }
}

TEST(InfixTest, EveryKernelTakesTwoOperandsAndNoArguments) {
  for (const Infix& infix : kInfix) {
    const auto kernel = TestCatalog().FindKernel(infix.kernel);
    ASSERT_THAT(kernel, base::IsOk());
    EXPECT_EQ((*kernel)->operands.size(), 2) << infix.kernel;
    EXPECT_TRUE((*kernel)->arguments.empty()) << infix.kernel;
    EXPECT_FALSE((*kernel)->random) << infix.kernel;
  }
}

// As in Python: or, and, not, comparisons, sums, products, signs, the rest.
TEST(InfixTest, BindsAsInPython) {
  const std::vector<int> rising = {BindingOf("or"), BindingOf("and"), kNotBinding,
                                   BindingOf("=="), BindingOf("+"),   BindingOf("*"),
                                   kNegateBinding,  kTightest};
  EXPECT_TRUE(std::ranges::is_sorted(rising));
  EXPECT_EQ(std::ranges::adjacent_find(rising), rising.end());
  EXPECT_EQ(BindingOf("+"), BindingOf("-"));
  EXPECT_EQ(BindingOf("*"), BindingOf("%"));
  EXPECT_EQ(BindingOf("//"), BindingOf("/"));
  EXPECT_EQ(BindingOf("<"), BindingOf("!="));
}

TEST(InfixTest, OnlyComparisonsDoNotChain) {
  for (const Infix& infix : kInfix) {
    EXPECT_EQ(infix.chains, infix.binding != BindingOf("==")) << infix.mark;
  }
}

}  // namespace
}  // namespace millrace::ir
