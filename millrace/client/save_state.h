// How far a save on a service is, as its folder says (`saving-state.json`), for whoever
// goes on with it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/save_state.h"
#include "millrace/storage/blob_store.h"

namespace millrace::client {

// Nothing where no save was begun, or it was ended; DataLoss where it is damaged.
absl::StatusOr<std::optional<api::SaveState>> ReadSaveState(
    const storage::BlobStore& store, const std::string& folder);

absl::Status WriteSaveState(const storage::BlobStore& store, const std::string& folder,
                            const api::SaveState& state);

}  // namespace millrace::client
