// The examples in the documents are what they say they are.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"
#include "millrace/storage/samples_test.h"

namespace millrace {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(base::SourcePath(path));
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

// All blocks of code of one language, in order.
std::vector<std::string> Blocks(const std::string& document,
                                const std::string& language) {
  const std::string fence = base::StrCat("\n```", language, "\n");
  std::vector<std::string> blocks;
  size_t at = document.find(fence);
  while (at != std::string::npos) {
    const size_t begin = at + fence.size();
    const size_t end = document.find("```", begin);
    blocks.push_back(document.substr(begin, end - begin));
    at = document.find(fence, end);
  }
  return blocks;
}

TEST(DocsTest, WhatThePageAboutPluginsShowsRuns) {
  const storage::TemporaryFolder folder;
  const std::string page = ReadAll("docs/plugins.md");
  std::string script = base::StrCat("set -e; exec 2>&1; cd '", folder.path(),
                                    "'\nMILLRACE='", base::SourcePath("."), "'\nPATH='",
                                    cli::ProgramFolder(), "':$PATH\n");
  const std::vector<std::string> commands = Blocks(page, "sh");
  EXPECT_EQ(commands.size(), 3U);
  for (const std::string& block : commands) script += block;
  const std::string output =
      cli::OutputOf(base::StrCat("sh '", folder.Write("script", script), "'"));
  const std::vector<std::string> shown = Blocks(page, "text");
  EXPECT_EQ(shown.size(), 2U);
  for (const std::string& block : shown) {
    EXPECT_THAT(output, testing::HasSubstr(block)) << output;
  }
  EXPECT_THAT(output, testing::HasSubstr("run_lengths(%0, field=, into="));
  EXPECT_THAT(output, testing::Not(testing::HasSubstr("exit code")));
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
