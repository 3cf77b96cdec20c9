#include "millrace/ops/source/index_writer.h"

#include <utility>

#include "absl/status/status.h"

#include "millrace/base/log.h"
#include "millrace/storage/row_index.h"

namespace millrace::ops {

void IndexWriter::Fetch() {
  if (std::exchange(written_, true)) return;
  const storage::RowIndex index(std::move(offsets_));
  const absl::Status saved = storage::SaveIndex(store_, file_, format_, index);
  if (saved.ok()) return;
  base::LogOnce("no index was written", base::LogLevel::kWarning,
                "no index was written", {{"file", file_.path}, {"why", saved}});
}

}  // namespace millrace::ops
