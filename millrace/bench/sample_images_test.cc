#include "millrace/bench/sample_images.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOkAndHolds;

std::string BytesOf(const ImagePlace& place) {
  std::string bytes(place.bytes, '\0');
  const absl::StatusOr<int64_t> got = place.blob->Read(
      place.offset,
      absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
  EXPECT_THAT(got, IsOkAndHolds(place.bytes));
  return bytes;
}

TEST(SampleImagesTest, PlacesAreThoseThatOurSourceReads) {
  const storage::TemporaryFolder folder;
  const SampleTars tars = MakeSampleTars(folder.path(), 5).value();
  std::vector<std::string> by_hand;
  by_hand.reserve(tars.images.size());
  for (const ImagePlace& place : tars.images) by_hand.push_back(BytesOf(place));
  EXPECT_EQ(by_hand.size(), 5);
  EXPECT_THAT(ops::ReadField(ops::Call("read", tars.pattern), "jpg"),
              IsOkAndHolds(by_hand));
}

TEST(SampleImagesTest, AreMadeOnceForEachNumber) {
  const storage::TemporaryFolder folder;
  const SampleTars first = MakeSampleTars(folder.path(), 4).value();
  const std::string file = folder / "jpeg-4/images-000.tar";
  const auto written = std::filesystem::last_write_time(file);
  const SampleTars again = MakeSampleTars(folder.path(), 4).value();
  EXPECT_EQ(std::filesystem::last_write_time(file), written);
  EXPECT_EQ(again.pattern, first.pattern);
  EXPECT_EQ(again.images.size(), 4);
  EXPECT_NE(MakeSampleTars(folder.path(), 0).value().pattern, first.pattern);
}

}  // namespace
}  // namespace millrace::bench
