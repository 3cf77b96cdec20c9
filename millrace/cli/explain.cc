// millrace explain: what a pipeline is, how it will run, and why.

#include <cerrno>
#include <fstream>
#include <ios>
#include <iostream>
#include <istream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/verb.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> off;
  bool text = false;
};

// Reads a file, or standard input. A byte more than a pipeline may have is enough to
// refuse it, so that a file without an end is no trouble.
absl::StatusOr<std::string> ReadText(const std::string& file) {
  std::ifstream opened;
  if (file != "-") opened.open(file, std::ios::binary);
  std::istream& in = file == "-" ? std::cin : opened;
  std::string text(ir::kTextBytesMax + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in || in.eof()) {
    text.resize(in.gcount());
    return text;
  }
  return absl::NotFoundError(
      base::StrCat("cannot read ", file, ": ", std::generic_category().message(errno)));
}

absl::Status Explain(const Options& options) {
  const std::string text = TRY(ReadText(options.file));
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const absl::StatusOr<ir::Pipeline> pipeline = ir::Parse(text, {}, catalog);
  if (!pipeline.ok()) return base::Annotate(pipeline.status(), options.file);
  const rewrite::Rewritten rewritten =
      TRY(rewrite::Rewrite(*pipeline, catalog, {.off = options.off}));
  if (options.text) {
    std::cout << ir::Print(rewritten.after).text;
    return absl::OkStatus();
  }
  std::cout << rewrite::Explain(rewritten) << "spec\n  " << pipeline->spec()
            << "\nrows\n  " << pipeline->cardinality() << "\nfingerprint\n  "
            << base::ToHex(pipeline->fingerprint()) << "\n";
  return absl::OkStatus();
}

}  // namespace

Verb ExplainVerb() {
  return {"explain", "Show what a pipeline is, how it will run, and why",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command
                .add_option("FILE", options->file,
                            "A pipeline in text form; - for standard input")
                ->required();
            command.add_option("--off", options->off,
                               "A rewrite to leave out, or 'all'; may be repeated");
            command.add_flag("--text", options->text,
                             "Only the rewritten pipeline, in canonical text");
            command.footer(
                "A pipeline in text form looks like this:\n\n"
                "  %0 = range(stop=1000)\n"
                "  %1 = map(%0, function={x: .value * 2, noise: uniform(0.0, 1.0)})\n"
                "  %2 = filter(%1, predicate={.noise < 0.5})\n"
                "  %3 = batch(%2, size=32)");
            return [options] { return Explain(*options); };
          }};
}

}  // namespace millrace::cli
