// millrace data: makes sample data, indexes files, and checks them.

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/sample_data.h"
#include "millrace/cli/check_data.h"
#include "millrace/cli/verb.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::cli {
namespace {

void Show(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) std::cout << path << "\n";
}

// Indexes one file, unless its index is there and fresh.
absl::Status IndexFile(const storage::BlobInfo& file) {
  const storage::BlobStore& store = storage::ProcessFiles();
  const storage::RowFormat format = TRY(FormatOf(file.path));
  if (const auto index = TRY(storage::LoadIndex(store, file, format))) {
    std::cout << file.path << ": " << index->rows() << " rows, indexed before\n";
    return absl::OkStatus();
  }
  const std::unique_ptr<storage::Blob> blob = TRY(store.Open(file));
  const std::unique_ptr<storage::RowScanner> scanner = storage::MakeScanner(format);
  const absl::StatusOr<storage::RowIndex> index = storage::BuildIndex(*blob, *scanner);
  if (!index.ok()) return base::Annotate(index.status(), file.path);
  TRY(storage::SaveIndex(store, file, format, *index));
  std::cout << file.path << ": " << index->rows() << " rows\n";
  return absl::OkStatus();
}

absl::Status Index(const std::vector<std::string>& patterns) {
  for (const storage::BlobInfo& file : TRY(storage::ProcessFiles().List(patterns))) {
    TRY(IndexFile(file));
  }
  return absl::OkStatus();
}

absl::Status Check(const std::vector<std::string>& patterns) {
  int64_t bad = 0;
  for (const storage::BlobInfo& file : TRY(storage::ProcessFiles().List(patterns))) {
    const CheckedFile checked = TRY(CheckFile(file.path));
    std::cout << file.path << ": " << checked.rows << " rows, " << checked.bad.size()
              << " bad\n";
    for (const std::string& why : checked.bad) std::cout << "  " << why << "\n";
    bad += std::ssize(checked.bad);
  }
  if (bad == 0) return absl::OkStatus();
  return absl::DataLossError(base::StrCat(bad, " bad rows"));
}

using Action = std::function<absl::Status()>;

Action AddMakeImages(CLI::App& command) {
  const auto options = std::make_shared<bench::SampleImages>();
  command.add_option("FOLDER", options->folder, "Where to write")->required();
  command.add_option("--count", options->count, "Images; 1000 by default");
  command.add_option("--files", options->files, "Tar files; 4 by default")
      ->check(CLI::PositiveNumber);
  command.add_option("--height", options->height, "Pixels; 375 by default")
      ->check(CLI::Range(1, 65'500));
  command.add_option("--width", options->width, "Pixels; 500 by default")
      ->check(CLI::Range(1, 65'500));
  command.add_option("--classes", options->classes, "Labels; 10 by default")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options->seed, "Of all that is drawn; 0 by default");
  return [options]() -> absl::Status {
    Show(TRY(bench::MakeImages(*options)));
    return absl::OkStatus();
  };
}

Action AddMakeText(CLI::App& command) {
  const auto options = std::make_shared<bench::SampleText>();
  command.add_option("FOLDER", options->folder, "Where to write")->required();
  command.add_option("--lines", options->lines, "In all; 100000 by default");
  command.add_option("--files", options->files, "Text files; 4 by default")
      ->check(CLI::PositiveNumber);
  command.add_option("--words", options->words, "In a line, about; 20 by default")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options->seed, "Of all that is drawn; 0 by default");
  return [options]() -> absl::Status {
    Show(TRY(bench::MakeText(*options)));
    return absl::OkStatus();
  };
}

Action AddForFiles(CLI::App& command,
                   absl::Status (*run)(const std::vector<std::string>&)) {
  const auto patterns = std::make_shared<std::vector<std::string>>();
  command.add_option("FILES", *patterns, "Paths or patterns: data/{000..127}.tar")
      ->required();
  return [patterns, run] { return run(*patterns); };
}

// A verb below this one.
struct Part {
  std::string name;
  std::string doc;
  std::function<Action(CLI::App&)> declare;
};

std::vector<Part> Parts() {
  const auto index = [](CLI::App& command) { return AddForFiles(command, Index); };
  const auto check = [](CLI::App& command) { return AddForFiles(command, Check); };
  return {
      {"make-images", "Write tar files of JPEGs with labels, to try things with",
       AddMakeImages},
      {"make-text", "Write text files, to try things with", AddMakeText},
      {"index",
       "Write the index of each file beside it, so that rows can be counted "
       "and sought",
       index},
      {"check", "Read every row and say which are bad, by file and offset", check},
  };
}

}  // namespace

Verb DataVerb() {
  return {"data", "Make sample data; index and check files", [](CLI::App& command) {
            command.require_subcommand(1);
            const auto chosen = std::make_shared<Action>();
            for (const Part& part : Parts()) {
              CLI::App* below = command.add_subcommand(part.name, part.doc);
              const Action action = part.declare(*below);
              below->callback([chosen, action] { *chosen = action; });
            }
            return [chosen] { return (*chosen)(); };
          }};
}

}  // namespace millrace::cli
