#include "millrace/ops/source/tar_fields.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/compress_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TarEnd;
using storage::TarMember;
using storage::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TarFieldsTest, AreThoseOfTheFirstRow) {
  const TemporaryFolder folder;
  const std::string bytes = TarMember("readme", "no row") +
                            TarMember("d/a.seg.PNG", storage::Noise(900'000)) +
                            TarMember("d/a.cls", "1") + TarMember("d/a.cls", "2") +
                            TarMember("d/b.txt", "x") + TarEnd();
  folder.Write("a.tar", TarEnd());  // Has no rows.
  folder.Write("b.tar", bytes);
  EXPECT_THAT(ReadTarFields({folder / "*.tar"}),
              IsOkAndHolds(ElementsAre("cls", "seg.png")));
  EXPECT_THAT(ReadTarFields({folder.Write("c.tgz", codec::Gzipped(bytes))}),
              IsOkAndHolds(ElementsAre("cls", "seg.png")));
}

TEST(TarFieldsTest, TheOnlyRowMayEndWithTheFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadTarFields({folder.Write("a.tar", TarMember("a.txt", "x"))}),
              IsOkAndHolds(ElementsAre("txt")));
}

TEST(TarFieldsTest, WithoutRowsTheUserMustSay) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadTarFields({folder.Write("a.tar", TarEnd())}),
              StatusIs(kInvalidArgument, HasSubstr("give argument fields")));
}

TEST(TarFieldsTest, ABrokenFileIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadTarFields({folder.Write("a.tar", std::string(2000, 'x'))}),
              StatusIs(kDataLoss, HasSubstr("a.tar")));
  const std::string cut = TarMember("a.txt", storage::Noise(5000)).substr(0, 3000);
  EXPECT_THAT(ReadTarFields({folder.Write("b.tar", cut)}),
              StatusIs(kDataLoss, HasSubstr("b.tar")));
}

}  // namespace
}  // namespace millrace::ops
