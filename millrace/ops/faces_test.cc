#include "millrace/ops/faces.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FacesTest, TheHeaderInTheTreeIsWhatTheDefinitionsGive) {
  const std::string path = base::SourcePath("millrace/ops/dataset.h");
  const std::string wanted = DatasetHeader(DefaultLibrary().catalog());
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("MILLRACE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  std::ifstream in(path);
  const std::string found(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(found, wanted) << "run: make golden";
}

// A catalog of one operator, for what the built-in ones do not show.
std::string HeaderOf(ir::OperatorSchema schema) {
  schema.infer = [](const ir::OperatorTypes&) { return core::Spec(); };
  schema.cardinality = [](const ir::Arguments&, absl::Span<const ir::Cardinality>) {
    return ir::Cardinality::Unknown();
  };
  ir::Catalog catalog;
  catalog.Add(std::move(schema));
  return DatasetHeader(catalog);
}

TEST(FacesTest, NamesAreInPascalCase) {
  EXPECT_THAT(HeaderOf({.name = "padded_batch", .doc = "Pads."}),
              HasSubstr("Dataset PaddedBatch() const {"));
}

TEST(FacesTest, DefaultsOfEveryKindAreWritten) {
  const std::string header = HeaderOf(
      {.name = "odd",
       .doc = "Odd.",
       .arguments = {{.name = "flag",
                      .type = ir::ArgumentType::kBool,
                      .doc = "A.",
                      .default_value = true},
                     {.name = "ratio",
                      .type = ir::ArgumentType::kFloat,
                      .doc = "B.",
                      .default_value = 0.5},
                     {.name = "text",
                      .type = ir::ArgumentType::kText,
                      .doc = "C.",
                      .default_value = "a\"b"},
                     {.name = "sizes",
                      .type = ir::ArgumentType::kInts,
                      .doc = "D.",
                      .default_value = ir::List{1, 2}},
                     {.name = "words", .type = ir::ArgumentType::kTexts, .doc = "E."},
                     {.name = "most",
                      .type = ir::ArgumentType::kInt,
                      .doc = "F.",
                      .default_value = ir::Value(),
                      .none_allowed = true}}});
  EXPECT_THAT(header, HasSubstr("bool flag = true;"));
  EXPECT_THAT(header, HasSubstr("double ratio = 0.5;"));
  EXPECT_THAT(header, HasSubstr("std::string text = \"a\\\"b\";"));
  EXPECT_THAT(header, HasSubstr("std::vector<int64_t> sizes = {1, 2};"));
  EXPECT_THAT(header, HasSubstr("// E. Must be given."));
  EXPECT_THAT(header, HasSubstr("std::optional<int64_t> most = {};"));
  EXPECT_THAT(header, HasSubstr("Dataset Odd(const OddOptions& options) const"));
}

TEST(FacesTest, LongDocsAreBrokenIntoLines) {
  std::string doc = "A sentence";
  for (int i = 0; i < 40; ++i) doc += " that goes on";
  const std::string header = HeaderOf({.name = "long", .doc = doc});
  for (size_t at = 0; at < header.size();) {
    const size_t end = header.find('\n', at);
    EXPECT_LE(end - at, 88U);
    at = end + 1;
  }
}

TEST(FacesTest, ListsOfAttachmentsAreOptionsToo) {
  EXPECT_THAT(HeaderOf({.name = "odd",
                        .doc = "Odd.",
                        .arguments = {{.name = "arrays",
                                       .type = ir::ArgumentType::kAttachments,
                                       .doc = "A."}}}),
              HasSubstr("std::vector<ir::Attachment> arrays = {};"));
}

TEST(FacesTest, OperatorsWithSeveralInputsTakeTheOthers) {
  const std::string header =
      HeaderOf({.name = "zip", .doc = "Zips.", .inputs = 2, .more_inputs = true});
  EXPECT_THAT(header,
              HasSubstr("Dataset Zip(const std::vector<Dataset>& others) const {"));
  EXPECT_THAT(header, HasSubstr("ThenWith(\"zip\""));
}

}  // namespace
}  // namespace millrace::ops
