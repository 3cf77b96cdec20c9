#include "millrace/lanes/cursor.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"

namespace millrace::lanes {
namespace {

base::Hash128 Identity(uint64_t row) { return base::Combine({1, 2}, row); }

Digest DigestOf(const std::vector<uint64_t>& rows) {
  Digest digest;
  for (const uint64_t row : rows) digest.Add(Identity(row));
  return digest;
}

TEST(CursorTest, BeginsWithAnEmptyDigest) {
  EXPECT_EQ(Cursor().digest, Digest());
  EXPECT_EQ(Digest().value(), base::Hash128());
}

TEST(CursorTest, GivesTheSameDigestForTheSameRows) {
  EXPECT_EQ(DigestOf({1, 2, 3}), DigestOf({1, 2, 3}));
}

TEST(CursorTest, SeesAnotherRowOrderOrNumber) {
  const Digest digest = DigestOf({1, 2, 3});
  EXPECT_NE(digest, DigestOf({1, 2, 4}));
  EXPECT_NE(digest, DigestOf({1, 3, 2}));
  EXPECT_NE(digest, DigestOf({1, 2}));
  EXPECT_NE(digest, DigestOf({1, 2, 3, 3}));
}

TEST(CursorTest, TellsAllOrdersOfSomeRowsApart) {
  std::vector<uint64_t> rows{0, 1, 2, 3, 4, 5};
  std::set<base::Hash128> digests;
  int64_t orders = 0;
  do {
    digests.insert(DigestOf(rows).value());
    ++orders;
  } while (std::ranges::next_permutation(rows).found);
  EXPECT_EQ(digests.size(), orders);
}

TEST(CursorTest, GoesOnFromAValue) {
  Digest digest(DigestOf({1, 2}).value());
  digest.Add(Identity(3));
  EXPECT_EQ(digest, DigestOf({1, 2, 3}));
}

TEST(CursorTest, IsEqualOnlyInAllItsParts) {
  const Cursor cursor{3, 128, DigestOf({1})};
  EXPECT_EQ(cursor, (Cursor{3, 128, DigestOf({1})}));
  EXPECT_NE(cursor, (Cursor{4, 128, DigestOf({1})}));
  EXPECT_NE(cursor, (Cursor{3, 127, DigestOf({1})}));
  EXPECT_NE(cursor, (Cursor{3, 128, DigestOf({2})}));
}

TEST(CursorTest, WritesItselfForPeople) {
  EXPECT_EQ(ToString(Cursor{3, 128, Digest({0x1, 0xab})}),
            "lane 3 row 128 digest 000000000000000100000000000000ab");
}

}  // namespace
}  // namespace millrace::lanes
