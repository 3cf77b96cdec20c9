#include "millrace/storage/frame_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::Not;

class FrameFileTest : public testing::Test {
 protected:
  // Writes a file of blocks of so many rows each.
  std::string Written(const std::vector<int64_t>& rows) {
    const std::string path = folder_ / "a.frames";
    FrameFileWriter writer(ProcessFiles().Create(path).value());
    for (const int64_t count : rows) {
      EXPECT_THAT(writer.Append(FrameOf(count)), IsOk());
    }
    EXPECT_THAT(writer.Publish(Sync::kNow), IsOk());
    return path;
  }

  static absl::StatusOr<std::unique_ptr<FrameFile>> Open(const std::string& path) {
    return FrameFile::Open(
        ProcessFiles().Open(ProcessFiles().Find(path).value()).value());
  }

  static std::string Content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
};

TEST_F(FrameFileTest, GivesTheFramesThatWereWritten) {
  const std::unique_ptr<FrameFile> file = Open(Written({3, 0, 5})).value();
  ASSERT_EQ(file->frames().size(), 3);
  EXPECT_EQ(file->rows(), 8);
  for (const int64_t i : {2, 0, 1}) {
    core::Buffer bytes = core::HeapPool().Allocate(file->frames()[i].bytes).value();
    ASSERT_THAT(file->Read(i, bytes.MutableAs<std::byte>()), IsOk());
    const core::Block block = frames::Decode(bytes).value();
    EXPECT_EQ(block.rows(), file->frames()[i].rows);
    EXPECT_TRUE(core::SameRows(block, NumbersBlock(block.rows())));
  }
}

TEST_F(FrameFileTest, AFileWithoutFramesIsOne) {
  EXPECT_EQ(Open(Written({})).value()->rows(), 0);
}

TEST_F(FrameFileTest, WhatIsCutOffIsFoundWhereverItEnds) {
  const std::string path = Written({3, 5});
  const std::string whole = Content(path);
  for (size_t size = 0; size < whole.size(); size += 7) {
    const std::string cut =
        folder_.Write("cut", std::string_view(whole).substr(0, size));
    EXPECT_THAT(Open(cut), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut")));
  }
}

TEST_F(FrameFileTest, ChangesInTableAndEndAreFound) {
  const std::string path = Written({3, 5});
  const std::string whole = Content(path);
  const int64_t frames_end = Open(path).value()->frames()[0].bytes * 2;
  for (auto i = static_cast<size_t>(frames_end); i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THAT(Open(folder_.Write("damaged", damaged)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")))
        << i;
  }
}

TEST_F(FrameFileTest, WhatIsNotPublishedIsNotThere) {
  const std::string path = folder_ / "b.frames";
  {
    FrameFileWriter writer(ProcessFiles().Create(path).value());
    EXPECT_THAT(writer.Append(FrameOf(3)), IsOk());
  }
  EXPECT_THAT(ProcessFiles().Find(path), Not(IsOk()));
}

}  // namespace
}  // namespace millrace::storage
