#include "millrace/transport/shared_reader.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/json.h"
#include "millrace/api/shared_memory.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/log.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/machine_identity.h"
#include "millrace/transport/mapped_arena.h"
#include "millrace/transport/shared_writer.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {
namespace {

constexpr size_t kArenasMax = 8192;  // A process has so many mappings, and no more.
constexpr size_t kPiecesMax = 1024;  // Of one message.

absl::Status Lie(std::string_view what) {
  return absl::DataLossError(base::StrCat("shared memory: the worker ", what));
}

}  // namespace

// How what was lent goes back; outlives the channel where buffers do.
class SharedReader::Returns {
 public:
  void Begin(std::shared_ptr<Channel> stream) {
    const base::MutexLock lock(&mutex_);
    stream_ = std::move(stream);
  }

  void End() {
    const base::MutexLock lock(&mutex_);
    stream_.reset();
  }

  void Give(int64_t loan) {
    const base::MutexLock lock(&mutex_);
    if (stream_ == nullptr) return;
    const api::ShareHead head{{.released = {loan}}};
    stream_->Send({.head = api::ToJson(head)});
  }

 private:
  base::Mutex mutex_;
  std::shared_ptr<Channel> stream_ ABSL_GUARDED_BY(mutex_);
};

// What all buffers over one loan hold on to.
struct SharedReader::Lease {
  Lease(int64_t loan_number, std::shared_ptr<MappedArena> mapped,
        std::shared_ptr<Returns> back)
      : loan(loan_number), arena(std::move(mapped)), returns(std::move(back)) {}

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  ~Lease() { returns->Give(loan); }

  const int64_t loan;
  const std::shared_ptr<MappedArena> arena;
  const std::shared_ptr<Returns> returns;
};

class SharedReader::LentStorage final : public core::Storage {
 public:
  LentStorage(core::Region region, std::shared_ptr<Lease> lease)
      : Storage(region), lease_(std::move(lease)) {}

  bool read_only() const override { return !lease_->arena->writable(); }

  std::shared_ptr<const core::Region> mapping() const {
    return {lease_->arena, &lease_->arena->region()};
  }

 private:
  const std::shared_ptr<Lease> lease_;
};

std::shared_ptr<const core::Region> SharedReader::MappingOf(
    const core::Storage& storage) {
  const auto* const lent = dynamic_cast<const LentStorage*>(&storage);
  return lent == nullptr ? nullptr : lent->mapping();
}

SharedReader::SharedReader(const SharedReaderOptions& options)
    : options_(options), returns_(std::make_shared<Returns>()) {}

ChannelEvents SharedReader::Wrap(const ChannelEvents& events) {
  ChannelEvents wrapped = events;
  const std::shared_ptr<SharedReader> self = shared_from_this();
  wrapped.on_message = [self, next = events.on_message](Received received) {
    const bool about_sharing = received.head.starts_with(kShareMark);
    const absl::Status status = self->Take(received);
    if (!status.ok()) return self->CloseIfBegun();
    if (!about_sharing) next(std::move(received));
  };
  wrapped.on_closed = [self, next = events.on_closed](const absl::Status& why) {
    self->End();
    absl::Status betrayed;
    {
      const base::MutexLock lock(&self->mutex_);
      betrayed = self->betrayed_;
    }
    next(betrayed.ok() ? why : betrayed);
  };
  return wrapped;
}

void SharedReader::Begin(std::shared_ptr<Channel> stream) {
  returns_->Begin(stream);
  const base::MutexLock lock(&mutex_);
  CHECK(stream_ == nullptr);
  stream_ = std::move(stream);
  if (!betrayed_.ok()) stream_->Close();  // It came before this was called.
}

void SharedReader::Offer() {
  if (MachineIdentity().empty()) return;
  const api::ShareOffer offer{MachineIdentity(), options_.writes};
  const base::MutexLock lock(&mutex_);
  offered_ = true;
  stream_->Send({.head = api::ToJson(api::ShareHead{{.offer = offer}})});
  holds_ = true;
}

void SharedReader::StopWaiting() {
  const base::MutexLock lock(&mutex_);
  SendHeld();
}

void SharedReader::SendHeld() {
  holds_ = false;
  for (Message& message : std::exchange(held_, {})) stream_->Send(std::move(message));
}

std::shared_ptr<Channel> SharedReader::stream() const {
  const base::MutexLock lock(&mutex_);
  return stream_;
}

void SharedReader::Send(Message message) {
  {
    const base::MutexLock lock(&mutex_);
    if (holds_) return held_.push_back(std::move(message));
  }
  stream()->Send(std::move(message));
}

base::Bytes SharedReader::queued() const { return stream()->queued(); }

ChannelStats SharedReader::stats() const { return stream()->stats(); }

void SharedReader::Close() { stream()->Close(); }

void SharedReader::CloseIfBegun() {
  const std::shared_ptr<Channel> begun = stream();
  if (begun != nullptr) begun->Close();
}

SharedReaderStats SharedReader::shared_stats() const {
  const base::MutexLock lock(&mutex_);
  return stats_;
}

bool SharedReader::betrayed() const {
  const base::MutexLock lock(&mutex_);
  return !betrayed_.ok();
}

// What is lent stays mapped as long as somebody holds it.
void SharedReader::End() {
  returns_->End();
  const base::MutexLock lock(&mutex_);
  stats_.sharing = false;
  socket_.reset();
  arenas_.clear();
  lending_.reset();
  holds_ = false;
  held_.clear();
}

// --- What the worker says ---

absl::Status SharedReader::Take(Received& received) {
  const base::MutexLock lock(&mutex_);
  absl::Status status = betrayed_;
  if (!status.ok()) return status;
  if (received.head.starts_with(kShareMark)) {
    status = OnShare(received.head);
  } else if (lending_) {
    status = AddParts(*std::exchange(lending_, std::nullopt), received);
  } else {
    stats_.copied_bytes += received.payload.size();
  }
  betrayed_ = status;
  return status;
}

absl::Status SharedReader::OnShare(std::string_view head) {
  const api::ShareMessage message =
      TRY(api::FromJson<api::ShareHead>(head)).shared_memory;
  if (message.answer) {
    TRY(OnAnswer(*message.answer));
    SendHeld();
  }
  if (message.lending) TRY(OnLending(*message.lending));
  if (message.copying) {
    stats_.note = *message.copying;
    if (!stats_.note.empty()) {
      base::Log(base::LogLevel::kInfo, "batches come by copying for now",
                {{"reason", stats_.note}});
    }
  }
  return absl::OkStatus();
}

absl::Status SharedReader::OnAnswer(const api::ShareAnswer& answer) {
  if (!std::exchange(offered_, false)) return Lie("answers where nobody asked");
  stats_.note = answer.refused;
  if (!answer.refused.empty()) return absl::OkStatus();
  const auto join = [&]() -> absl::StatusOr<UnixSocket> {
    UnixSocket socket = TRY(UnixSocket::Connect(answer.socket));
    if (TRY(socket.PeerUser()) != static_cast<int64_t>(geteuid())) {
      return absl::PermissionDeniedError("the worker is another user's process");
    }
    if (answer.secret.empty() || std::ssize(answer.secret) > kUnixMessageMax) {
      return absl::InvalidArgumentError("the worker's secret is none");
    }
    TRY(socket.Send(answer.secret));
    return socket;
  };
  absl::StatusOr<UnixSocket> joined = join();
  if (!joined.ok()) {
    stats_.note = std::string(joined.status().message());
    base::Log(base::LogLevel::kInfo, "no memory is shared with a worker",
              {{"reason", stats_.note}});
    return absl::OkStatus();
  }
  socket_ = *std::move(joined);
  stats_.sharing = true;
  stream_->Send({.head = api::ToJson(api::ShareHead{{.joined = true}})});
  return absl::OkStatus();
}

absl::Status SharedReader::OnLending(const api::Lending& lending) {
  if (!socket_ || lending_) return Lie("lends what nobody can take");
  for (const int64_t number : lending.dropped) {
    if (arenas_.erase(number) == 0) return Lie("drops what it has not lent");
  }
  for (const api::LentArena& arena : lending.arenas) TRY(MapNew(arena));
  stats_.arenas = std::ssize(arenas_);
  for (const api::Loan& loan : lending.loans) {
    if (loan.number <= last_loan_) return Lie("lends something twice");
    if (!arenas_.contains(loan.arena)) return Lie("lends what it has not shown");
    last_loan_ = loan.number;
  }
  if (lending.pieces.size() > kPiecesMax) return Lie("lends too many pieces");
  for (const api::LentPiece& piece : lending.pieces) TRY(CheckPiece(lending, piece));
  if (!lending.pieces.empty()) lending_ = lending;
  return absl::OkStatus();
}

// The descriptor was sent before the message that speaks of it, so it is there.
absl::Status SharedReader::MapNew(const api::LentArena& lent) {
  const UnixMessage message = TRY(socket_->Receive());
  if (message.bytes != base::StrCat(lent.number)) return Lie("mixes its memory up");
  const bool fits = arenas_.size() < kArenasMax && !arenas_.contains(lent.number);
  if (!fits) return Lie("has too much memory, or the same twice");
  arenas_[lent.number] =
      TRY(MappedArena::Map(message.descriptor, lent.bytes, lent.writable));
  return absl::OkStatus();
}

absl::Status SharedReader::CheckPiece(const api::Lending& lending,
                                      const api::LentPiece& piece) {
  if (piece.loan < 0 || piece.loan >= std::ssize(lending.loans)) {
    return Lie("names a loan that is none");
  }
  const int64_t arena = arenas_.at(lending.loans[piece.loan].arena)->bytes();
  const bool inside = piece.offset >= 0 && piece.bytes > 0 && piece.bytes <= arena &&
                      piece.offset <= arena - piece.bytes;
  const bool aligned = piece.offset % frames::kFrameAlignment == 0 &&
                       piece.before % frames::kFrameAlignment == 0;
  if (!inside || !aligned || piece.before < 0) return Lie("lends a place that is none");
  return absl::OkStatus();
}

// Puts what came with the message, and what is lent, together.
absl::Status SharedReader::AddParts(const api::Lending& lending, Received& received) {
  const core::Buffer payload = std::move(received.payload);
  int64_t place = lending.head_bytes;
  const bool has_head =
      place >= 0 && place <= payload.size() && place % frames::kFrameAlignment == 0;
  if (!has_head) return Lie("sends less than it says");
  received.payload = payload.Slice(0, place);
  std::vector<std::shared_ptr<Lease>> leases;
  leases.reserve(lending.loans.size());
  for (const api::Loan& loan : lending.loans) {
    leases.push_back(
        std::make_shared<Lease>(loan.number, arenas_.at(loan.arena), returns_));
  }
  for (const api::LentPiece& piece : lending.pieces) {
    if (piece.before > payload.size() - place) return Lie("sends less than it says");
    if (piece.before > 0) received.parts.push_back(payload.Slice(place, piece.before));
    place += piece.before;
    const std::shared_ptr<Lease>& lease = leases[piece.loan];
    const core::Region region{lease->arena->data() + piece.offset, piece.bytes};
    received.parts.emplace_back(std::make_shared<LentStorage>(region, lease),
                                piece.bytes);
    received.shared_bytes += piece.bytes;
  }
  stats_.shared_bytes += received.shared_bytes;
  stats_.copied_bytes += payload.size();
  const int64_t left = payload.size() - place;
  if (left > 0) received.parts.push_back(payload.Slice(place, left));
  return absl::OkStatus();
}

}  // namespace millrace::transport
