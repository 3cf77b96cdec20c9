#include "millrace/adapters/http/connection_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Adds connections that note it when they are closed.
struct Closing {
  std::vector<char> closed;

  std::optional<int64_t> Add(ConnectionTable& table, char name) {
    return table.Add([this, name] { closed.push_back(name); });
  }
};

TEST(ConnectionTableTest, TheLongestWaitingGivesWay) {
  ConnectionTable table(2);
  Closing closing;
  const int64_t first = closing.Add(table, 'a').value();
  closing.Add(table, 'b');
  table.SetAtWork(first, true);
  table.SetAtWork(first, false);  // It waits since now.
  EXPECT_TRUE(closing.Add(table, 'c'));
  EXPECT_THAT(closing.closed, ElementsAre('b'));
  EXPECT_TRUE(closing.Add(table, 'd'));
  EXPECT_THAT(closing.closed, ElementsAre('b', 'a'));
  EXPECT_EQ(table.size(), 2);
}

TEST(ConnectionTableTest, ThoseAtWorkKeepTheirPlace) {
  ConnectionTable table(2);
  Closing closing;
  table.SetAtWork(closing.Add(table, 'a').value(), true);
  const int64_t second = closing.Add(table, 'b').value();
  table.SetAtWork(second, true);
  EXPECT_FALSE(closing.Add(table, 'c'));
  EXPECT_THAT(closing.closed, IsEmpty());
  table.Remove(second);
  EXPECT_TRUE(closing.Add(table, 'd'));
  EXPECT_THAT(closing.closed, IsEmpty());
}

TEST(ConnectionTableTest, ClosesAllInTheEnd) {
  ConnectionTable table(4);
  Closing closing;
  table.SetAtWork(closing.Add(table, 'a').value(), true);
  closing.Add(table, 'b');
  table.CloseAll();
  EXPECT_THAT(closing.closed, UnorderedElementsAre('a', 'b'));
  EXPECT_FALSE(closing.Add(table, 'c'));
  EXPECT_EQ(table.size(), 0);
}

}  // namespace
}  // namespace millrace::http
