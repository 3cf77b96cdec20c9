// Text in columns, for terminals. What stands in a cell cannot move the cursor or
// colour the screen, whoever wrote it. A value.
//
//   Table table({{"name"}, {"batches", Align::kRight}});
//   table.Add({"train", "1200"});
//   std::cout << table.Text();
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a line. Requires: a cell for each column.
  void Add(std::vector<std::string> cells);

  // All lines, under one of titles.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> lines_;
};

// Text that is only text: what a terminal would act upon is spelt out.
std::string Harmless(std::string_view text);

// How many characters a terminal shows of a text.
size_t WidthOf(std::string_view text);

// The first characters of a text.
std::string Shortened(std::string_view text, size_t width);

}  // namespace millrace::cli
