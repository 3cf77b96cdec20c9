#include "millrace/delivery/credit.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace millrace::delivery {
namespace {

// Asks for as many batches as there is room for, and tells how many.
int64_t Fill(Credit& credit) {
  const int64_t before = credit.asked_batches();
  while (credit.HasRoom()) credit.Ask(1);
  return credit.asked_batches() - before;
}

void Receive(Credit& credit, int64_t bytes) {
  credit.Ask(-1);
  credit.Receive(bytes);
}

// One whose batches are known to have so many bytes.
Credit Seen(int64_t bytes, int64_t batch_bytes) {
  Credit credit(bytes, batch_bytes);
  credit.Ask(1);
  Receive(credit, batch_bytes);
  credit.Release(batch_bytes);
  return credit;
}

TEST(CreditTest, FewAreAskedForBeforeOneWasSeen) {
  Credit credit(1000, 1);
  EXPECT_EQ(Fill(credit), 4);
  Receive(credit, 100);
  EXPECT_EQ(Fill(credit), 6);  // 9 asked for, one received.
}

TEST(CreditTest, NeverMoreThanItsBytes) {
  Credit credit = Seen(1000, 90);
  EXPECT_EQ(Fill(credit), 11);
  EXPECT_EQ(credit.used(), 990);
}

TEST(CreditTest, SmallBatchesAreAskedForAgainManyAtOnce) {
  Credit credit = Seen(1000, 10);
  EXPECT_EQ(Fill(credit), 100);
  for (int i = 0; i < 12; ++i) {
    Receive(credit, 10);
    credit.Release(10);
    EXPECT_EQ(Fill(credit), 0);
  }
  Receive(credit, 10);
  credit.Release(10);
  EXPECT_EQ(Fill(credit), 13);
}

TEST(CreditTest, LargeBatchesAreAskedForAgainOneByOne) {
  Credit credit = Seen(1000, 300);
  EXPECT_EQ(Fill(credit), 3);
  Receive(credit, 300);
  EXPECT_EQ(Fill(credit), 0);
  credit.Release(300);
  EXPECT_EQ(Fill(credit), 1);
}

TEST(CreditTest, MoreBytesAreRoomAtOnce) {
  Credit credit = Seen(1000, 10);
  Fill(credit);
  credit.Set(2000);
  EXPECT_EQ(Fill(credit), 100);
}

TEST(CreditTest, NothingWaitsOnceItIsCleared) {
  Credit credit = Seen(1000, 10);
  Fill(credit);
  credit.Clear();
  EXPECT_EQ(credit.used(), 0);
  EXPECT_EQ(Fill(credit), 100);
}

}  // namespace
}  // namespace millrace::delivery
