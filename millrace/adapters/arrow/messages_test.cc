#include "millrace/adapters/arrow/messages.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/memory_blob_test.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

int64_t RowsOf(const Messages& messages) {
  int64_t rows = 0;
  for (const BatchMessage& batch : messages.batches) rows += batch.rows;
  return rows;
}

TEST(MessagesTest, AreFoundInFilesAndStreamsAlike) {
  for (const std::string_view name : {"types.arrow", "types.arrows"}) {
    const auto found = FindMessages(MemoryBlob(storage::ReadFile(Sample(name))));
    ASSERT_THAT(found, base::IsOk());
    EXPECT_EQ(found->batches.size(), 5U) << name;
    EXPECT_EQ(found->dictionaries.size(), 1U) << name;
    EXPECT_EQ(RowsOf(*found), 300) << name;
    EXPECT_EQ(found->schema.offset, name == "types.arrow" ? 8 : 0);
    for (const BatchMessage& batch : found->batches) EXPECT_EQ(batch.dictionaries, 1);
  }
}

TEST(MessagesTest, AFileWithoutRowsHasASchema) {
  const auto found = FindMessages(MemoryBlob(storage::ReadFile(Sample("empty.arrow"))));
  ASSERT_THAT(found, base::IsOk());
  EXPECT_EQ(RowsOf(*found), 0);
}

TEST(MessagesTest, WhatIsNoArrowFileIsNamed) {
  for (const std::string_view content : {"", "abc", "ARROW1", "ARROW1\0\0 and more",
                                         "some text that is longer than a header"}) {
    EXPECT_THAT(FindMessages(MemoryBlob(std::string(content), "a/b.arrow")),
                StatusIs(kDataLoss, AllOf(HasSubstr("it is no Arrow file, or broken"),
                                          HasSubstr("; file a/b.arrow"))))
        << content;
  }
}

TEST(MessagesTest, AFileThatIsCutOffIsBroken) {
  const std::string whole = storage::ReadFile(Sample("types.arrow"));
  for (size_t size = 0; size < whole.size(); size += 997) {
    EXPECT_THAT(FindMessages(MemoryBlob(whole.substr(0, size))), StatusIs(kDataLoss));
  }
}

// A stream may end anywhere between two messages.
TEST(MessagesTest, AStreamThatIsCutOffIsBrokenOrShorter) {
  const std::string whole = storage::ReadFile(Sample("types.arrows"));
  for (size_t size = 0; size < whole.size(); size += 97) {
    const auto found = FindMessages(MemoryBlob(whole.substr(0, size)));
    EXPECT_LT(found.ok() ? RowsOf(*found) : 0, 300);
  }
}

TEST(MessagesTest, NothingThatIsFoundLeadsOutside) {
  const std::string whole = storage::ReadFile(Sample("types.arrows"));
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::string changed = whole;
    const std::string noise = storage::Noise(6, seed);
    for (size_t i = 0; i < 3; ++i) {
      const auto place = static_cast<uint8_t>(noise[2 * i]) * 31 + seed % 997;
      changed[place % changed.size()] = noise[2 * i + 1];
    }
    const auto found = FindMessages(MemoryBlob(changed));
    if (!found.ok()) {
      EXPECT_THAT(found, StatusIs(kDataLoss));
      continue;
    }
    for (const BatchMessage& batch : found->batches) {
      EXPECT_GE(batch.rows, 0);
      EXPECT_LE(batch.message.offset + batch.message.size, std::ssize(changed));
    }
  }
}

}  // namespace
}  // namespace millrace::arrow
