#include "millrace/client/save_state.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/json.h"
#include "millrace/api/save_state.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ops/saved_set.h"
#include "millrace/storage/blob_store.h"

namespace millrace::client {
namespace {

constexpr int64_t kBytesMax = int64_t{1} << 30;

}  // namespace

absl::StatusOr<std::optional<api::SaveState>> ReadSaveState(
    const storage::BlobStore& store, const std::string& folder) {
  const std::string path = ops::SaveStatePath(folder);
  const absl::StatusOr<storage::BlobInfo> info = store.Find(path);
  if (absl::IsNotFound(info.status())) return std::nullopt;
  TRY(info.status());
  const std::string text = TRY(storage::ReadWhole(store, *info, kBytesMax));
  absl::StatusOr<api::SaveState> state = api::FromJson<api::SaveState>(text);
  if (state.ok() && state->millrace == 1) return *std::move(state);
  return absl::DataLossError(base::StrCat(
      "what is known of the save is damaged, or of another version: ", path, ": ",
      state.ok() ? "version " : base::ToStd(state.status().message()),
      state.ok() ? base::StrCat(state->millrace) : "",
      "; save it anew, and say that what is there is to be replaced"));
}

absl::Status WriteSaveState(const storage::BlobStore& store, const std::string& folder,
                            const api::SaveState& state) {
  const std::unique_ptr<storage::BlobWriter> writer =
      TRY(store.Create(ops::SaveStatePath(folder)));
  TRY(writer->Append(api::ToJson(state)));
  return writer->Publish(storage::Sync::kNow);
}

}  // namespace millrace::client
