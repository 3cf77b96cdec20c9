#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

class ReadImagesTest : public testing::Test {
 protected:
  ReadImagesTest() {
    folder_.Write("train/dog/2.JPG", "d2");
    folder_.Write("train/cat/1.png", "c1");
    folder_.Write("train/dog/1.jpeg", "d1");
    folder_.Write("train/dog/notes.txt", "not an image");
    folder_.Write("train/readme.jpg", "in no class");
    folder_.Write("val/zebra/9.jpg", "z9");
  }

  const TemporaryFolder folder_;
};

TEST_F(ReadImagesTest, NumbersTheFoldersByTheirSortedNames) {
  const auto rows = ReadPlain(Call("read_images", folder_ / "train"));
  ASSERT_THAT(rows, IsOk());
  const std::vector<PlainRow> wanted = {
      {{"image", "c1"}, {"label", "0"}, {"path", folder_ / "train/cat/1.png"}},
      {{"image", "d1"}, {"label", "1"}, {"path", folder_ / "train/dog/1.jpeg"}},
      {{"image", "d2"}, {"label", "1"}, {"path", folder_ / "train/dog/2.JPG"}}};
  EXPECT_EQ(rows->rows, wanted);
}

TEST_F(ReadImagesTest, TakesPatternsAsTheyAre) {
  EXPECT_THAT(ReadField(Call("read_images", folder_ / "*/*/[12]*"), "image"),
              IsOkAndHolds(ElementsAre("c1", "d1", "d2")));
  EXPECT_THAT(
      ReadField(Call("read_images", folder_ / "{train,val}/{cat,zebra}/*"), "label"),
      IsOkAndHolds(ElementsAre("0", "1")));
}

TEST_F(ReadImagesTest, SaysWhereItFoundNone) {
  EXPECT_THAT(ReadPlain(Call("read_images", folder_ / "train/dog")),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadPlain(Call("read_images", folder_ / "none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no file matches")));
  folder_.Write("texts/a/1.txt", "");
  EXPECT_THAT(
      ReadPlain(Call("read_images", folder_ / "texts")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("folder for each class")));
}

}  // namespace
}  // namespace millrace::ops
