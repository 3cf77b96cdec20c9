// Every error of the text form, word for word, in testdata/errors.golden: what people
// read when something is wrong is reviewed like code.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

constexpr const char* kPath = "millrace/ir/testdata/errors.golden";

// What stands beside the texts, with names short enough to write: @<corrupt>.
std::string WithAttachments(std::string text, Attachments& attachments) {
  const auto add = [&](std::string_view name, std::string_view content) {
    const Attachment attachment{std::string(content)};
    attachments.Add(attachment);
    const std::string short_name = base::StrCat("@<", name, ">");
    for (size_t at = text.find(short_name); at != std::string::npos;
         at = text.find(short_name)) {
      text.replace(at, short_name.size(),
                   base::StrCat("@", base::ToHex(attachment.hash())));
    }
  };
  add("not an array", "a serialised function");
  add("unknown type", "float33 2\n12345678");
  add("cut off", "float32 2\n1234567");
  add("absurd", "float32 1000000000 1000000000\n");
  add("texts cut off", std::string_view("string 1\n\x09\0\0\0\0\0\0\0short", 22));
  add("not text", std::string_view("string 1\n\x01\0\0\0\0\0\0\0\xff", 18));
  return text;
}

// A text that begins with a brace is an expression over the test row.
std::string ErrorOf(const base::GoldenCase& given) {
  Attachments attachments;
  const std::string text = WithAttachments(given.before, attachments);
  const absl::Status status =
      text.starts_with('{') ? ParseExpression(text, TestRow(), TestCatalog()).status()
                            : Parse(text, attachments, TestCatalog()).status();
  return std::string(status.ok() ? "no error" : status.message());
}

TEST(ErrorsTest, AreWordedAsTheGoldenFileSays) {
  EXPECT_THAT(base::CheckGolden(base::SourcePath(kPath), ErrorOf), base::IsOk());
}

TEST(ErrorsTest, SayWhereTheyAreOnceAndStayShort) {
  EXPECT_THAT(
      base::CheckGolden(base::SourcePath(kPath),
                        [](const base::GoldenCase& given) {
                          const std::string error = ErrorOf(given);
                          EXPECT_TRUE(error.starts_with("line ")) << error;
                          EXPECT_EQ(error.find(", column "), error.rfind(", column "))
                              << error;
                          EXPECT_LT(error.size(), 300) << error;
                          EXPECT_EQ(error.find('\n'), std::string::npos) << error;
                          return error;
                        }),
      base::IsOk());
}

}  // namespace
}  // namespace millrace::ir
