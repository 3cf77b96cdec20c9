// Feeds the text parser anything. Whatever parses must print, parse again, and be the
// same pipeline; everything else must be an error with a message.

#include "millrace/ir/text.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const millrace::ir::Catalog& catalog = millrace::ops::DefaultLibrary().catalog();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<millrace::ir::Pipeline> pipeline =
      millrace::ir::Parse(text, {}, catalog);
  if (!pipeline.ok()) {
    CHECK(!pipeline.status().message().empty());
    return 0;
  }
  const millrace::ir::PipelineText printed = millrace::ir::Print(*pipeline);
  const absl::StatusOr<millrace::ir::Pipeline> again =
      millrace::ir::Parse(printed.text, printed.attachments, catalog);
  CHECK(again.ok()) << again.status() << "\n" << printed.text;
  CHECK_EQ(millrace::ir::Print(*again).text, printed.text);
  CHECK(again->fingerprint() == pipeline->fingerprint()) << printed.text;
  return 0;
}
