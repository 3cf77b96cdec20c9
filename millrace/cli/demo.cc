// millrace demo: a small pipeline, as written, as it runs, and what comes out; then
// images, and how fast they go.

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is of POSIX.

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/sample_data.h"
#include "millrace/cli/run_pass.h"
#include "millrace/cli/verb.h"
#include "millrace/core/block.h"
#include "millrace/exec/explain_lanes.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/library.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

constexpr int kBatchesShown = 3;
constexpr int64_t kImages = 1000;

Dataset DemoDataset() {
  return Range({.stop = 100'000})
      .Map([](Row row, Rng rng) {
        return Fields{{"number", row["value"]},
                      {"square", row["value"] * row["value"]},
                      {"noise", rng.Normal(0.0, 0.1)},
                      {"unused", row["value"] - 1}};
      })
      .Map([](Row row, Rng) {
        return Fields{{"label", row["number"] % 10},
                      {"signal", row["square"] / 100 + row["noise"]}};
      })
      .Filter([](Row row, Rng) { return row["label"] != 3; })
      .Shuffle({.window = 1'000, .seed = 7})
      .Batch({.size = 4});
}

void Title(std::string_view title) { std::cout << "\n" << title << "\n"; }

absl::Status ShowNumbers() {
  const ops::Library& library = ops::DefaultLibrary();
  const ir::Pipeline pipeline = TRY(DemoDataset().pipeline());

  Title("1. A pipeline is data. This is the text that is stored and sent:");
  std::cout << ir::Print(pipeline).text;

  Title("2. It is rewritten before it runs, and says why:");
  const rewrite::Rewritten rewritten =
      TRY(rewrite::Rewrite(pipeline, library.catalog()));
  std::cout << rewrite::Explain(rewritten);

  Title("3. Types, shapes and counts are known before anything runs:");
  std::cout << "  spec: " << pipeline.spec()
            << "\n  batches: " << pipeline.cardinality() << " (a filter is in it)\n";

  Title("4. It runs lane by lane; the same rows come out on any machine:");
  exec::SequentialRunner runner =
      TRY(exec::SequentialRunner::Open(rewritten, library, {.seed = 1}));
  std::cout << "  " << exec::ExplainLanes(runner.plan()) << "\n";
  for (int i = 0; i < kBatchesShown; ++i) {
    const std::optional<core::Block> batch = TRY(runner.Next());
    if (batch) std::cout << "  " << batch->ToString() << "\n";
  }
  return absl::OkStatus();
}

// A new folder that is gone when the demo is.
class DemoFolder {
 public:
  static absl::StatusOr<std::unique_ptr<DemoFolder>> Make() {
    std::error_code error;
    std::string path =
        (std::filesystem::temp_directory_path(error) / "millrace-demo-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return absl::PermissionDeniedError(base::StrCat("cannot make the folder ", path,
                                                      "; set TMPDIR to one that can "
                                                      "be written to"));
    }
    return std::unique_ptr<DemoFolder>(new DemoFolder(std::move(path)));
  }

  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;

  ~DemoFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit DemoFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

absl::Status ShowImages() {
  const std::unique_ptr<DemoFolder> folder = TRY(DemoFolder::Make());
  Title("5. Images: 1,000 JPEGs are made, then decoded, cropped, flipped and batched:");
  TRY(bench::MakeImages({.folder = folder->path(), .count = kImages}));
  const std::string text = base::StrCat(
      "%0 = read_tar(paths=[", ir::Quote(folder->path() + "/*.tar"),
      "], fields=[\"jpg\", \"cls\"])\n"
      "%1 = map(%0, function={image: flip_horizontal(random_resized_crop("
      "decode_image(.jpg), height=224, width=224), uniform(0.0, 1.0) < 0.5), "
      "label: .cls})\n"
      "%2 = batch(%1, size=64)\n");
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const rewrite::Rewritten rewritten =
      TRY(rewrite::Rewrite(TRY(ir::Parse(text, {}, catalog)), catalog));
  std::cout << rewrite::Explain(rewritten) << "\n"
            << profile::ToTable(TRY(RunPass(rewritten, {})));
  return absl::OkStatus();
}

struct Options {
  bool images = true;
};

absl::Status Demo(const Options& options) {
  TRY(ShowNumbers());
  return options.images ? ShowImages() : absl::OkStatus();
}

}  // namespace

Verb DemoVerb() {
  return {"demo", "Show what there is: a pipeline explained and run, images at speed",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command.add_flag("--images,!--no-images", options->images,
                             "Also make images and measure; yes by default");
            return [options] { return Demo(*options); };
          }};
}

}  // namespace millrace::cli
