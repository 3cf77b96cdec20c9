#include "millrace/cli/pipeline_file.h"

#include <cerrno>
#include <fstream>
#include <ios>
#include <iostream>
#include <istream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

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

}  // namespace

absl::StatusOr<rewrite::Rewritten> ReadPipeline(const std::string& file,
                                                const std::vector<std::string>& off) {
  const std::string text = TRY(ReadText(file));
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const absl::StatusOr<ir::Pipeline> pipeline = ir::Parse(text, {}, catalog);
  if (!pipeline.ok()) return base::Annotate(pipeline.status(), file);
  return rewrite::Rewrite(*pipeline, catalog, {.off = off});
}

}  // namespace millrace::cli
