// The examples in the documents are what they say they are.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"

namespace millrace {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(base::StrCat(MILLRACE_SOURCE_DIR, "/", path));
  CHECK(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The first block of code that begins with these characters.
std::string Block(const std::string& document, std::string_view begins) {
  const size_t begin = document.find(base::StrCat("```\n", begins));
  const size_t cpp = document.find(base::StrCat("```cpp\n", begins));
  const size_t fence = std::min(begin, cpp);
  CHECK_NE(fence, std::string::npos);
  const size_t text = document.find('\n', fence) + 1;
  return document.substr(text, document.find("```", text) - text);
}

std::string WithoutSpaces(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(std::ranges::remove_if(text, is_space).begin(), text.end());
  return text;
}

absl::StatusOr<ir::Pipeline> Parsed(const std::string& text) {
  return ir::Parse(text, {}, ops::DefaultLibrary().catalog());
}

TEST(DocsTest, TheReadmesTwoPipelinesAreOne) {
  auto pipeline = millrace::Range({.stop = 100'000})
                      .Map([](Row row, Rng rng) {
                        return Fields{{"label", row["value"] % 10},
                                      {"noise", rng.Normal(0.0, 1.0)}};
                      })
                      .Filter([](Row row, Rng) { return row["label"] != 3; })
                      .Shuffle({.window = 1000, .seed = 7})
                      .Batch({.size = 32});
  const std::string readme = ReadAll("README.md");
  const std::string here = WithoutSpaces(ReadAll("millrace/cli/docs_test.cc"));
  EXPECT_NE(here.find(WithoutSpaces(Block(readme, "auto pipeline"))), std::string::npos)
      << "the README shows other C++ than this test runs";
  const absl::StatusOr<ir::Pipeline> text = Parsed(Block(readme, "%0 = "));
  const absl::StatusOr<ir::Pipeline>& built = pipeline.pipeline();
  ASSERT_THAT(text, base::IsOk());
  ASSERT_THAT(built, base::IsOk());
  EXPECT_EQ(ir::Print(*text).text, ir::Print(*built).text);
}

TEST(DocsTest, TheTextFormOfThePageIsCanonical) {
  const std::string text =
      Block(ReadAll("docs/formats/pipeline_text.md"), "millrace 1\n");
  const absl::StatusOr<ir::Pipeline> pipeline = Parsed(text);
  ASSERT_THAT(pipeline, base::IsOk());
  EXPECT_EQ(ir::Print(*pipeline).text, text);
}

}  // namespace
}  // namespace millrace
