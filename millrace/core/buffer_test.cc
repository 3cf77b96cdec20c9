#include "millrace/core/buffer.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/allocator.h"
#include "millrace/core/pool.h"

namespace millrace::core {
namespace {

using testing::ElementsAre;

// Memory of a vector that several holders share.
std::shared_ptr<std::vector<int32_t>> Numbers(int count) {
  auto numbers = std::make_shared<std::vector<int32_t>>(count);
  std::iota(numbers->begin(), numbers->end(), 0);
  return numbers;
}

Buffer Wrapped(const std::shared_ptr<std::vector<int32_t>>& numbers) {
  return Buffer::Wrap(numbers->data(),
                      static_cast<int64_t>(numbers->size() * sizeof(int32_t)), numbers);
}

TEST(BufferTest, AnEmptyBufferHasNoBytes) {
  const Buffer buffer;
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.storage(), nullptr);
  EXPECT_TRUE(buffer.text().empty());
  EXPECT_TRUE(buffer.As<int64_t>().empty());
  EXPECT_EQ(buffer.Slice(0, 0).size(), 0);
}

TEST(BufferTest, ShowsItsBytesAsValues) {
  const Buffer buffer = Wrapped(Numbers(4));
  EXPECT_EQ(buffer.size(), 16);
  EXPECT_THAT(buffer.As<int32_t>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(buffer.As<std::byte>().size(), 16U);
}

TEST(BufferTest, ShowsItsBytesAsText) {
  const auto text = std::make_shared<std::string>("millrace");
  const Buffer buffer =
      Buffer::Wrap(text->data(), static_cast<int64_t>(text->size()), text);
  EXPECT_EQ(buffer.text(), "millrace");
  EXPECT_EQ(buffer.Slice(4, 4).text(), "race");
}

TEST(BufferTest, WhoMakesABufferFillsIt) {
  Buffer buffer = HeapPool().AllocateFor<uint16_t>(3).value();
  const absl::Span<uint16_t> values = buffer.MutableAs<uint16_t>();
  std::iota(values.begin(), values.end(), uint16_t{7});
  buffer.mutable_data()[0] = std::byte{9};
  EXPECT_THAT(buffer.As<uint16_t>(), ElementsAre(9, 8, 9));
}

TEST(BufferTest, CopiesShareTheMemory) {
  const Buffer buffer = Wrapped(Numbers(4));
  const Buffer copy = buffer;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.data(), buffer.data());
  EXPECT_EQ(copy.storage(), buffer.storage());
}

TEST(BufferTest, SlicesShareTheMemory) {
  const Buffer buffer = Wrapped(Numbers(10));
  const Buffer part = buffer.Slice(8, 16);
  EXPECT_EQ(part.data(), buffer.data() + 8);
  EXPECT_EQ(part.storage(), buffer.storage());
  EXPECT_THAT(part.As<int32_t>(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(part.Slice(4, 8).As<int32_t>(), ElementsAre(3, 4));
  EXPECT_EQ(buffer.Slice(40, 0).size(), 0);
}

TEST(BufferTest, WrappedMemoryLivesUntilTheLastHolderLetsGo) {
  auto numbers = Numbers(100);
  const std::weak_ptr<std::vector<int32_t>> watch = numbers;
  Buffer whole = Wrapped(std::exchange(numbers, nullptr));
  Buffer part = whole.Slice(80, 8);
  whole = Buffer();
  EXPECT_FALSE(watch.expired());
  EXPECT_THAT(part.As<int32_t>(), ElementsAre(20, 21));
  part = Buffer();
  EXPECT_TRUE(watch.expired());
}

TEST(BufferTest, WrappedMemoryHasNoBudgetToLeave) {
  const Buffer buffer = Wrapped(Numbers(1));
  buffer.storage()->LeaveBudget();
  EXPECT_THAT(buffer.As<int32_t>(), ElementsAre(0));
}

TEST(BufferTest, IsTheFirstBytesOfItsStorage) {
  const auto storage = Wrapped(Numbers(8)).storage();
  const Buffer buffer(storage, 12);
  EXPECT_EQ(buffer.data(), storage->region().data);
  EXPECT_EQ(buffer.size(), 12);
  EXPECT_EQ(storage->region().size, 32);
}

TEST(BufferTest, ABufferBeyondItsStorageIsAProgrammingError) {
  const auto storage = Wrapped(Numbers(1)).storage();
  EXPECT_DEATH(Buffer(storage, 5), "size");
  EXPECT_DEATH(Buffer(storage, -1), "size");
  EXPECT_DEATH(Buffer(nullptr, 0), "storage_");
}

TEST(BufferTest, ASliceOutsideIsAProgrammingError) {
  const Buffer buffer = Wrapped(Numbers(4));
  EXPECT_DEATH(buffer.Slice(-1, 4), "offset");
  EXPECT_DEATH(buffer.Slice(0, 17), "offset");
  EXPECT_DEATH(buffer.Slice(17, 0), "offset");
  EXPECT_DEATH(buffer.Slice(4, -1), "size");
  EXPECT_DEATH(buffer.Slice(INT64_MAX, 1), "offset");
  EXPECT_DEATH(buffer.Slice(1, INT64_MAX), "offset");
}

TEST(BufferTest, ValuesMustBeWholeAndAligned) {
  const Buffer buffer = Wrapped(Numbers(4));
  EXPECT_DEATH((void)buffer.Slice(0, 6).As<int32_t>(), "sizeof");
  EXPECT_DEATH((void)buffer.Slice(1, 4).As<int32_t>(), "alignof");
}

TEST(BufferTest, PartsThatLieSideBySideJoin) {
  const Buffer whole = *HeapPool().Allocate(64);
  const Buffer first = whole.Slice(0, 10);
  const Buffer second = whole.Slice(10, 54);
  ASSERT_TRUE(first.Precedes(second));
  EXPECT_EQ(first.JoinedWith(second).data(), whole.data());
  EXPECT_EQ(first.JoinedWith(second).size(), 64);
  EXPECT_FALSE(second.Precedes(first));
  EXPECT_FALSE(first.Precedes(whole.Slice(11, 3)));
  EXPECT_FALSE(Buffer().Precedes(Buffer()));
}

}  // namespace
}  // namespace millrace::core
