#include "millrace/ops/source/tar_fields.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/scan_source.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/tar.h"

namespace millrace::ops {
namespace {

using storage::Found;

constexpr int64_t kWindowBytes = 64 << 10;  // Headers are short, and far apart.

// Goes on to a file's first row; false where there is none.
absl::StatusOr<bool> FindRow(ByteFeed& feed, storage::TarScanner& scanner) {
  while (true) {
    TRY(feed.Fetch());
    TRY(feed.Unfold());
    if (feed.passing()) continue;
    const Found found = scanner.Look(feed.window(), feed.is_rest());
    TRY(feed.Pass(found.skip));
    switch (found.kind) {
      case Found::Kind::kMore:
        feed.Want(found.size);
        break;
      case Found::Kind::kRow:
        return true;
      case Found::Kind::kEnd:
        return false;
      default:
        return scanner.status();
    }
  }
}

absl::StatusOr<std::vector<std::string>> FieldsOf(const storage::BlobInfo& file,
                                                  const SourceContext& context) {
  ByteFeed feed(context.blobs, file, {.end = file.bytes, .window_bytes = kWindowBytes},
                context.pool);
  storage::TarScanner scanner({.keeps_names = true});
  const absl::StatusOr<bool> found = FindRow(feed, scanner);
  if (!found.ok()) return base::Annotate(found.status(), file.path);
  if (!*found) return std::vector<std::string>();
  std::vector<std::string> fields = scanner.names();
  std::erase_if(fields, [](const std::string& field) {
    return !core::CheckFieldName(field).ok();
  });
  std::ranges::sort(fields);
  const auto again = std::ranges::unique(fields);
  fields.erase(again.begin(), again.end());
  return fields;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadTarFields(
    const std::vector<std::string>& paths) {
  const SourceContext context = {.pool = core::HeapPool(), .with_ids = false};
  const std::vector<storage::BlobInfo> files = TRY(ListFiles(paths, context));
  for (const storage::BlobInfo& file : files) {
    std::vector<std::string> fields = TRY(FieldsOf(file, context));
    if (!fields.empty()) return fields;
  }
  return absl::InvalidArgumentError(
      "the files have no rows to tell the fields by: give argument fields");
}

}  // namespace millrace::ops
