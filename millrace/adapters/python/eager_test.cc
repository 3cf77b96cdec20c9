#include "millrace/adapters/python/eager.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/python/plain.h"

namespace millrace::python {
namespace {

TEST(EagerTest, CallsAKernelOnPlainValues) {
  std::vector<int32_t> numbers = {1, 2, 3};
  const Array array = {.dtype = "int32", .shape = {3}, .data = numbers.data()};
  const FieldValue sum = Evaluate("add", {array, int64_t{10}}, {}, std::nullopt);
  const auto& result = std::get<Array>(sum);
  EXPECT_EQ(result.dtype, "int32");  // A plain number gives way.
  EXPECT_THAT(std::vector<int32_t>(static_cast<const int32_t*>(result.data),
                                   static_cast<const int32_t*>(result.data) + 3),
              testing::ElementsAre(11, 12, 13));
  const FieldValue lower = Evaluate("lower", {std::string("AbC")}, {}, std::nullopt);
  EXPECT_THAT(std::get<Texts>(lower).texts, testing::ElementsAre("abc"));
}

TEST(EagerTest, DrawsForARow) {
  const auto draw = [](uint64_t row) {
    const FieldValue value = Evaluate(
        "uniform", {0.0, 1.0}, {}, Draw{.seed = 1, .call_number = 2, .row_low = row});
    return *static_cast<const double*>(std::get<Array>(value).data);
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(EagerTest, ErrorsNameTheKernel) {
  try {
    Evaluate("add", {std::string("a"), int64_t{1}}, {}, std::nullopt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("add"));
  }
}

}  // namespace
}  // namespace millrace::python
