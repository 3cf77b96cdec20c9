// What every format of the library promises.

#include "millrace/ops/save_format.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Rows that every format can hold.
const core::Spec& Spec() {
  static const auto& spec = *new core::Spec({{"txt", core::DType::kString, {}}});
  return spec;
}

core::Block Rows(const std::vector<std::string>& texts) {
  const auto rows = static_cast<int64_t>(texts.size());
  const core::Tensor all = core::Tensor::FromTexts(texts, {rows}, core::DType::kString);
  return {
      rows,
      {"txt"},
      {core::Column::Texts(core::DType::kString, rows, all.offsets(), all.values())}};
}

TEST(SaveFormatTest, EveryFormatIsReadByItsEnding) {
  const storage::TemporaryFolder folder;
  for (const auto& [name, format] : DefaultLibrary().formats()) {
    EXPECT_EQ(name, format.name);
    EXPECT_FALSE(format.doc.empty()) << name;
    ASSERT_TRUE(format.ending.starts_with(".")) << name;
    ASSERT_THAT(format.check(Spec()), IsOk()) << name;
    const std::string path = folder / base::StrCat("rows", format.ending);
    const std::unique_ptr<RowsFile> file =
        format
            .begin(storage::ProcessFiles().Create(path).value(),
                   {.spec = Spec(), .pool = core::HeapPool()})
            .value();
    ASSERT_THAT(file->Append(Rows({"one", ""})), IsOk());
    ASSERT_THAT(file->Append(Rows({"three"})), IsOk());
    ASSERT_THAT(file->Publish(), IsOk());
    EXPECT_THAT(ReadField(Call("read", path), "txt"),
                IsOkAndHolds(ElementsAre("one", "", "three")))
        << name;
    EXPECT_THAT(SpecOf(Call("read", path)),
                IsOkAndHolds(format.read_as(Spec()).ToString()))
        << name;
  }
}

TEST(SaveFormatTest, AFormatThatIsNotThereIsNamedWithThoseThatAre) {
  EXPECT_THAT(DefaultLibrary().FindFormat("xml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("xml"), HasSubstr("frames"), HasSubstr("tar"))));
  EXPECT_THAT(DefaultLibrary().FindFormat(""),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SaveFormatTest, AdaptersAddTheirs) {
  Library library = Library::BuiltIn();
  SaveFormat format = **library.FindFormat("frames");
  format.name = "mine";
  format.doc = "Of a test";
  library.AddFormat(std::move(format));
  const absl::StatusOr<const SaveFormat*> found = library.FindFormat("mine");
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ((*found)->doc, "Of a test");
  EXPECT_THAT(DefaultLibrary().FindFormat("mine"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace::ops
