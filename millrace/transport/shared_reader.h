// The reader's end of a channel whose payloads need not travel (shared_writer.h): maps
// what it is lent, once, and gives buffers over it; when the last holder of these is
// gone, the memory goes back. Where sharing is not to be had, everything comes through
// the stream, and a note says why. What the other side says is checked before it is
// used: a lie ends the channel. Thread-safe; nothing here waits.
//
//   const auto reader = std::make_shared<SharedReader>(options);
//   reader->Begin(client.OpenChannel(call, reader->Wrap(events)));
//   reader->Offer();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/shared_memory.h"
#include "millrace/base/bytes.h"
#include "millrace/base/mutex.h"
#include "millrace/core/buffer.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/mapped_arena.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {

struct SharedReaderOptions {
  bool writes = true;  // Asks for memory that it may write to, as the only reader.
};

struct SharedReaderStats {
  bool sharing = false;
  int64_t shared_bytes = 0;  // Of payloads, that were lent.
  int64_t copied_bytes = 0;  // The others: they came through the stream.
  int64_t arenas = 0;        // That are mapped, or were when it ended.
  std::string note = {};     // Why nothing is lent, or not all.
};

class SharedReader final : public Channel,
                           public std::enable_shared_from_this<SharedReader> {
 public:
  explicit SharedReader(const SharedReaderOptions& options);

  // The events that its stream is opened with.
  ChannelEvents Wrap(const ChannelEvents& events);

  // Says which stream that is. Requires: called once, before anything is sent.
  void Begin(std::shared_ptr<Channel> stream);

  // Asks for shared memory. What is sent after it goes out when that is answered, so
  // that all it asks for can be lent. Who does not know of it passes the offer over.
  void Offer();

  // Sends what an answer is awaited for without one.
  void StopWaiting();

  void Send(Message message) override;
  base::Bytes queued() const override;
  ChannelStats stats() const override;
  void Close() override;

  SharedReaderStats shared_stats() const;

  // What memory is a part of that some reader was lent: it stays mapped while somebody
  // has this. Null of all other memory.
  static std::shared_ptr<const core::Region> MappingOf(const core::Storage& storage);

  // Whether the other side has lied.
  bool betrayed() const;

 private:
  class Returns;
  struct Lease;
  class LentStorage;

  std::shared_ptr<Channel> stream() const;
  void CloseIfBegun();
  void SendHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Take(Received& received);
  absl::Status OnShare(std::string_view head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OnAnswer(const api::ShareAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OnLending(const api::Lending& lending)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MapNew(const api::LentArena& lent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckPiece(const api::Lending& lending, const api::LentPiece& piece)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddParts(const api::Lending& lending, Received& received)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End();

  const SharedReaderOptions options_;
  const std::shared_ptr<Returns> returns_;
  mutable base::Mutex mutex_;
  std::shared_ptr<Channel> stream_ ABSL_GUARDED_BY(mutex_);
  bool offered_ ABSL_GUARDED_BY(mutex_) = false;
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Message> held_ ABSL_GUARDED_BY(mutex_);  // Until there is an answer.
  std::optional<UnixSocket> socket_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::shared_ptr<MappedArena>> arenas_ ABSL_GUARDED_BY(mutex_);
  std::optional<api::Lending> lending_ ABSL_GUARDED_BY(mutex_);  // Of the next message.
  int64_t last_loan_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status betrayed_ ABSL_GUARDED_BY(mutex_);
  SharedReaderStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
