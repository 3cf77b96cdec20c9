#include <cstddef>
#include <cstdint>
#include <filesystem>
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
#include "millrace/ops/save_format.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using core::DType;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Texts = std::vector<std::string>;

core::Column TextColumn(const Texts& texts, DType dtype = DType::kString) {
  const auto rows = static_cast<int64_t>(texts.size());
  const core::Tensor all = core::Tensor::FromTexts(texts, {rows}, dtype);
  return core::Column::Texts(dtype, rows, all.offsets(), all.values());
}

// Rows of the one field `txt`; with keys where some are given.
core::Block TextRows(const Texts& texts, const Texts& keys = {}) {
  core::FieldNames names = {"txt"};
  std::vector<core::Column> columns = {TextColumn(texts)};
  if (!keys.empty()) {
    names.insert(names.begin(), "__key__");
    columns.insert(columns.begin(), TextColumn(keys));
  }
  return {static_cast<int64_t>(texts.size()), std::move(names), std::move(columns)};
}

class TarTest : public testing::Test {
 protected:
  static const SaveFormat& Format() { return **DefaultLibrary().FindFormat("tar"); }

  std::unique_ptr<RowsFile> Begin(int64_t first_row = 0) const {
    return Format()
        .begin(storage::ProcessFiles().Create(Path()).value(),
               {.spec = {}, .first_row = first_row, .pool = core::HeapPool()})
        .value();
  }

  std::string Path() const { return folder_ / "rows.tar"; }

  absl::StatusOr<Texts> Read(const std::string& field) const {
    return ReadField(Call("read", Path()), field);
  }

  static absl::Status Check(std::vector<core::FieldSpec> fields) {
    return Format().check(core::Spec(std::move(fields)));
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(TarTest, RowsAreNumberedOnFromTheFirstOfTheFile) {
  const std::unique_ptr<RowsFile> file = Begin(998);
  ASSERT_THAT(file->Append(TextRows({"a", "b"})), IsOk());
  ASSERT_THAT(file->Append(TextRows({"c"})), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_THAT(Read("txt"), IsOkAndHolds(ElementsAre("a", "b", "c")));
  EXPECT_THAT(Read("__key__"),
              IsOkAndHolds(ElementsAre("000000998", "000000999", "000001000")));
}

TEST_F(TarTest, KeysAreKeptWithTheirFolders) {
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(TextRows({"a", "b"}, {"train/1", "v1.2/2"})), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_THAT(Read("__key__"), IsOkAndHolds(ElementsAre("train/1", "v1.2/2")));
  EXPECT_THAT(Read("txt"), IsOkAndHolds(ElementsAre("a", "b")));
}

TEST_F(TarTest, KeysThatWouldNotComeBackAreNamedWithTheirRow) {
  for (const std::string key : {"a.b", ".a", "a.", "", "folder/", "folder/x.y"}) {
    const std::unique_ptr<RowsFile> file = Begin(7);
    EXPECT_THAT(file->Append(TextRows({"one", "two"}, {"fine", key})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("row 8"), HasSubstr("__key__"))))
        << key;
  }
}

TEST_F(TarTest, NeighboursOfOneKeyWouldBecomeOneRow) {
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(TextRows({"a", "b", "c"}, {"x", "y", "x"})), IsOk());
  EXPECT_THAT(file->Append(TextRows({"d"}, {"x"})),  // Also over two blocks.
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 3")));
}

TEST_F(TarTest, ANameThatIsTooLongIsAnError) {
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(TextRows({"a"}, {std::string(96, 'k')})), IsOk());
  EXPECT_THAT(file->Append(TextRows({"a"}, {std::string(97, 'k')})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("100 bytes")));
}

TEST_F(TarTest, ContentOfEverySizeComesBack) {
  Texts texts;
  for (const size_t size : {0, 1, 511, 512, 513, 1024, 100'000}) {
    texts.emplace_back(size, 'x');
  }
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(TextRows(texts)), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_THAT(Read("txt"), IsOkAndHolds(texts));
}

TEST_F(TarTest, NumbersAreWrittenAsTheyAreRead) {
  const std::vector<int64_t> numbers = {0, -1, INT64_MAX, INT64_MIN};
  const std::string bytes("\0\xff.\n", 4);
  const core::Block rows(
      4, {"cls", "bin"},
      {core::Column::Dense(
           DType::kInt64, 4, {},
           core::CopyBytes(numbers.data(), 32, core::HeapPool()).value()),
       TextColumn(Texts(4, bytes), DType::kBytes)});
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(rows), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_THAT(Read("cls"), IsOkAndHolds(ElementsAre("0", "-1", "9223372036854775807",
                                                    "-9223372036854775808")));
  EXPECT_THAT(Read("bin"), IsOkAndHolds(Texts(4, bytes)));
}

TEST_F(TarTest, TellsAboutHowLongItIs) {
  const std::unique_ptr<RowsFile> file = Begin();
  EXPECT_EQ(file->bytes(), 0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(file->Append(TextRows({std::string(100 * i, 'x')})), IsOk());
  }
  const int64_t told = file->bytes();
  ASSERT_THAT(file->Publish(), IsOk());
  const auto size = static_cast<int64_t>(std::filesystem::file_size(Path()));
  EXPECT_NEAR(static_cast<double>(told), static_cast<double>(size), 0.2 * size);
}

TEST_F(TarTest, IsNotThereBeforeItIsComplete) {
  {
    const std::unique_ptr<RowsFile> file = Begin();
    ASSERT_THAT(file->Append(TextRows({"a"})), IsOk());
  }
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(TarTest, HoldsOnlyWhatComesBackAsItWas) {
  EXPECT_THAT(Check({{"jpg", DType::kBytes, {}}, {"cls", DType::kInt64, {}}}), IsOk());
  EXPECT_THAT(Check({{"seg.cls", DType::kInt64, {}}, {"index", DType::kInt64, {}}}),
              IsOk());
  EXPECT_THAT(Check({{"txt", DType::kString, {}}, {"__key__", DType::kString, {}}}),
              IsOk());
  const std::vector<core::FieldSpec> wrong = {
      {"txt", DType::kBytes, {}},    {"cls", DType::kInt32, {}},
      {"cls", DType::kInt64, {2}},   {"jpg", DType::kString, {}},
      {"x", DType::kFloat32, {}},    {"my.index", DType::kInt64, {}},
      {"__key__", DType::kInt64, {}}};
  for (const core::FieldSpec& field : wrong) {
    EXPECT_THAT(Check({field}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(base::StrCat("`", field.name, "`")),
                               HasSubstr("another format"))));
  }
}

TEST_F(TarTest, AKeyAloneIsNoRow) {
  EXPECT_THAT(Check({{"__key__", DType::kString, {}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("besides")));
  EXPECT_THAT(Check({}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TarTest, TheKeyIsReadLastWhereverItStood) {
  const core::FieldSpec key = {"__key__", DType::kString, {}};
  const core::FieldSpec text = {"txt", DType::kString, {}};
  const core::Spec wanted({text, key});
  EXPECT_EQ(Format().read_as(core::Spec({key, text})), wanted);
  EXPECT_EQ(Format().read_as(core::Spec({text, key})), wanted);
  EXPECT_EQ(Format().read_as(core::Spec({text})), wanted);
  const std::unique_ptr<RowsFile> file = Begin();
  ASSERT_THAT(file->Append(TextRows({"a"}, {"k"})), IsOk());
  ASSERT_THAT(file->Publish(), IsOk());
  EXPECT_THAT(SpecOf(Call("read", Path())), IsOkAndHolds(wanted.ToString()));
}

}  // namespace
}  // namespace millrace::ops
