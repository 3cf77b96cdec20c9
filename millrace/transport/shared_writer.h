// The worker's end of a channel whose payloads need not travel: where the reader is on
// this machine, buffers that lie in shared memory are lent to it, and only their places
// are sent. Everything else goes through the stream, as without it, and in the same
// order. Thread-safe; nothing here waits.
//
//   reader ── offer ──► writer            both are on one machine
//          ◄─ socket, secret ──           of a unix socket, for descriptors alone
//          ── joined ──►                  the kernel says whose process it is
//          ◄─ lending, message ──         new arenas' descriptors are in the socket
//          ── released ──►                the memory is the writer's again
//
// What a reader was lent and did not release when it goes is never used again: arrays
// that it keeps stay as they are.
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
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {

// How the heads of messages about shared memory begin.
inline constexpr std::string_view kShareMark = R"({"shared_memory":)";

struct SharedWriterStats {
  bool sharing = false;
  int64_t lent_bytes = 0;    // That the reader has now.
  int64_t shared_bytes = 0;  // Of payloads, that were lent.
  int64_t copied_bytes = 0;  // The others: they went through the stream.
};

class SharedWriter final : public Channel,
                           public std::enable_shared_from_this<SharedWriter> {
 public:
  // Over a stream whose events are those that Wrap gives.
  SharedWriter(std::shared_ptr<SharedHost> host, std::shared_ptr<Channel> stream);

  ChannelEvents Wrap(ChannelEvents events);

  void Send(Message message) override;

  base::Bytes queued() const override { return stream_->queued(); }

  ChannelStats stats() const override { return stream_->stats(); }

  void Close() override { stream_->Close(); }

  SharedWriterStats shared_stats() const;

 private:
  // Nothing was offered; the reader is awaited; it is there; it is not, and will not
  // be.
  enum class State : uint8_t { kPlain, kAnswered, kSharing, kRefused };

  // An arena that the reader has mapped.
  struct Arena {
    int64_t number = 0;
    int64_t bytes = 0;
    int64_t loans = 0;
    int64_t idle_since = 0;  // A number of a loan; counts where there are no loans.
  };

  struct Lent {
    core::Buffer memory;  // Keeps it.
    int64_t file = 0;
  };

  // One message's lending, as it is put together.
  struct Making {
    api::Lending lending = {};
    std::map<const core::Storage*, std::optional<int64_t>> loans = {};
  };

  absl::Status OnShare(std::string_view head);
  absl::Status OnOffer(const api::ShareOffer& offer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<api::ShareAnswer> Listen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OnJoined() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<UnixSocket> AcceptReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OnReleased(int64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End();

  void Tell(const api::ShareMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCopying(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellWhetherFull() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Message Lend(Message message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoomFor(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<int64_t> LoanOf(const frames::Frame& frame, const core::Buffer& buffer,
                                Making& making) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<int64_t> NewLoan(const frames::Frame& frame, const core::Buffer& buffer,
                                 Making& making) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CanLend(const frames::Frame& frame, const core::Buffer& buffer, int64_t file);
  Arena* ArenaOf(int64_t file, const core::Buffer& buffer, Making& making)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<SharedHost> host_;
  const std::shared_ptr<Channel> stream_;
  const int64_t reader_;  // Its number.

  mutable base::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kPlain;
  bool wants_to_write_ ABSL_GUARDED_BY(mutex_) = false;
  std::string secret_ ABSL_GUARDED_BY(mutex_);
  std::optional<UnixSocket> listener_ ABSL_GUARDED_BY(mutex_);
  std::optional<UnixSocket> socket_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Arena> arenas_ ABSL_GUARDED_BY(mutex_);  // By file.
  std::map<int64_t, Lent> lent_ ABSL_GUARDED_BY(mutex_);     // By loan.
  std::vector<int64_t> dropped_ ABSL_GUARDED_BY(mutex_);     // Not told yet.
  int64_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_arena_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t next_loan_ ABSL_GUARDED_BY(mutex_) = 1;
  bool full_ ABSL_GUARDED_BY(mutex_) = false;    // It has too much to be lent more.
  std::string copying_ ABSL_GUARDED_BY(mutex_);  // As it was told.
  SharedWriterStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
