#include "millrace/exec/known_rows.h"

#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

KnownRows Counted(std::string_view text) {
  const absl::StatusOr<KnownRows> known =
      RowsOf(MustParse(text), ops::DefaultLibrary());
  CHECK(known.ok()) << known.status();
  return *known;
}

// A text file of so many lines.
std::string TextFile(std::string_view name, int lines) {
  std::string path = base::StrCat(testing::TempDir(), "known_rows_test_", name);
  std::ofstream file(path);
  for (int i = 0; i < lines; ++i) file << "line " << i << "\n";
  return path;
}

std::string Reading(std::string_view path) {
  return base::StrCat("%0 = read_text(paths=[\"", path, "\"]) ");
}

TEST(KnownRowsTest, OperatorsAloneTell) {
  EXPECT_EQ(Counted("%0 = range(stop=10) %1 = batch(%0, size=4)").rows,
            ir::Cardinality::Known(3));
  EXPECT_EQ(Counted("%0 = range(stop=10) %1 = repeat(%0)").rows,
            ir::Cardinality::Infinite());
}

TEST(KnownRowsTest, AnIndexTells) {
  const std::string path = TextFile("indexed.txt", 10);
  ops::AddIndex(path, storage::RowFormat::kLines);
  const std::string read = Reading(path);
  EXPECT_EQ(Counted(read).rows, ir::Cardinality::Known(10));
  EXPECT_EQ(Counted(read + "%1 = batch(%0, size=4)").rows, ir::Cardinality::Known(3));
  EXPECT_EQ(Counted(read + "%1 = batch(%0, size=4, drop_remainder=true)").rows,
            ir::Cardinality::Known(2));
  EXPECT_EQ(Counted(read + "%1 = repeat(%0, count=3) %2 = skip(%1, count=7)").rows,
            ir::Cardinality::Known(23));
  EXPECT_EQ(Counted(read + "%1 = range(stop=5) %2 = take(%1, count=2) "
                           "%3 = enumerate(%0, field=\"i\") %4 = zip(%2, %3)")
                .rows,
            ir::Cardinality::Known(2));
}

TEST(KnownRowsTest, WithoutAnIndexItSaysHowToMakeOne) {
  const std::string path = TextFile("plain.txt", 10);
  const KnownRows known = Counted(Reading(path) + "%1 = batch(%0, size=4)");
  EXPECT_EQ(known.rows, ir::Cardinality::Unknown());
  EXPECT_THAT(known.why_unknown,
              AllOf(HasSubstr("read_text (%0): 1 of 1 file has no index"),
                    HasSubstr(base::StrCat("`millrace data index ", path, "`"))));
}

TEST(KnownRowsTest, CompressedFilesHaveNoIndex) {
  const std::string path = TextFile("packed.txt.gz", 10);
  EXPECT_THAT(Counted(Reading(path)).why_unknown, HasSubstr("compressed"));
}

TEST(KnownRowsTest, AnOperatorThatDoesNotTellIsNamedBeforeAnyFile) {
  EXPECT_THAT(Counted("%0 = read_text(paths=[\"/no/such/file.txt\"]) "
                      "%1 = filter(%0, predicate={true})")
                  .why_unknown,
              HasSubstr("how many rows filter (%1) gives"));
}

TEST(KnownRowsTest, MissingFilesAreAnError) {
  EXPECT_THAT(RowsOf(MustParse("%0 = read_text(paths=[\"/no/such/file.txt\"])"),
                     ops::DefaultLibrary()),
              base::StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace::exec
