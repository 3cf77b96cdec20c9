// Where the messages of an Arrow IPC file lie: the schema, dictionaries and record
// batches, and how many rows each of the latter has. Found by going from message to
// message, in the stream format and in the file format (Feather 2), which is the same
// between its beginning and its footer. Reads only what describes messages, never what
// they hold, and believes nothing that leads outside the file.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

struct Message {
  int64_t offset = 0;
  int64_t size = 0;  // With all that it holds.
};

struct BatchMessage {
  Message message;
  int64_t rows = 0;
  int64_t dictionaries = 0;  // So many of them come before, or count for it.
};

struct Messages {
  Message schema;
  std::vector<Message> dictionaries;
  std::vector<BatchMessage> batches;
};

// Finds all messages; waits for the disk. DataLoss where it is no such file, or broken.
absl::StatusOr<Messages> FindMessages(const storage::Blob& blob);

}  // namespace millrace::arrow
