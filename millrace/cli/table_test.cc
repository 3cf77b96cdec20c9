#include "millrace/cli/table.h"

#include <string>

#include "gtest/gtest.h"

namespace millrace::cli {
namespace {

TEST(TableTest, AlignsColumnsUnderTheirTitles) {
  Table table({{"name"}, {"batches", Align::kRight}, {"state"}});
  table.Add({"a", "1200", "running"});
  table.Add({"a longer one", "7", ""});
  EXPECT_EQ(table.Text(),
            "name          batches  state\n"
            "a                1200  running\n"
            "a longer one        7\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({{"name"}, {"n"}});
  table.Add({"größe", "1"});
  table.Add({"x", "2"});
  EXPECT_EQ(table.Text(), "name   n\ngröße  1\nx      2\n");
  EXPECT_EQ(WidthOf("größe"), 5);
  EXPECT_EQ(Shortened("größe", 3), "grö");
  EXPECT_EQ(Shortened("größe", 9), "größe");
}

TEST(TableTest, CellsCannotCommandTheTerminal) {
  Table table({{"name"}});
  table.Add({"a\x1b[2Jb\nc"});
  EXPECT_EQ(table.Text(), "name\na\\033[2Jb\\nc\n");
  EXPECT_EQ(Harmless("\xc2\x9b"
                     "2J"),
            "\\302\\2332J")
      << "in UTF-8";
  EXPECT_EQ(Harmless("\x9b"
                     "2J"),
            "\\2332J")
      << "in eight bits";
  EXPECT_EQ(Harmless("\x7f"), "\\177");
  EXPECT_EQ(Harmless("größe \"a\" \\ 一"), "größe \"a\" \\ 一") << "is only text";
}

}  // namespace
}  // namespace millrace::cli
