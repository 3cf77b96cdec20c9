#include "millrace/transport/shared_writer.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/json.h"
#include "millrace/api/shared_memory.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hex.h"
#include "millrace/base/log.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/machine_identity.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {
namespace {

constexpr int kComersMax = 64;      // Of which one is the reader.
constexpr size_t kPiecesMax = 256;  // Of one message.
constexpr size_t kIdleMax = 1024;   // Arenas that the reader keeps mapped for later.

absl::StatusOr<std::string> RandomWord() {
  std::array<uint8_t, 16> bytes = {};
  if (getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) {
    return absl::ErrnoToStatus(errno, "drawing a secret");
  }
  return base::ToHex(bytes);
}

// Numbers of descriptors come again, those of files do not.
std::optional<int64_t> FileOf(int descriptor) {
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) return std::nullopt;
  return static_cast<int64_t>(facts.st_ino);
}

bool Seal(int descriptor) {
  return fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
}

bool IsSealed(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_FUTURE_WRITE) != 0;
}

// Whether the frame alone has this memory.
bool IsOwn(const frames::Frame& frame, const core::Storage& storage) {
  const auto is_it = [&](const core::Buffer& buffer) {
    return buffer.storage().get() == &storage;
  };
  const auto first = std::ranges::find_if(frame.body(), is_it);
  return first->storage().use_count() == std::ranges::count_if(frame.body(), is_it);
}

}  // namespace

SharedWriter::SharedWriter(std::shared_ptr<SharedHost> host,
                           std::shared_ptr<Channel> stream)
    : host_(std::move(host)), stream_(std::move(stream)), reader_(host_->Add()) {}

ChannelEvents SharedWriter::Wrap(ChannelEvents events) {
  ChannelEvents wrapped = events;
  const std::shared_ptr<SharedWriter> self = shared_from_this();
  wrapped.on_message = [self, next = events.on_message](Received received) {
    if (!received.head.starts_with(kShareMark)) return next(std::move(received));
    const absl::Status status = self->OnShare(received.head);
    if (status.ok()) return;
    base::Log(base::LogLevel::kWarning, "a reader of shared memory is sent away",
              {{"reason", status}});
    self->stream_->Close();
  };
  wrapped.on_closed = [self, next = events.on_closed](const absl::Status& why) {
    self->End();
    next(why);
  };
  return wrapped;
}

// --- What the reader says ---

absl::Status SharedWriter::OnShare(std::string_view head) {
  const api::ShareMessage message =
      TRY(api::FromJson<api::ShareHead>(head)).shared_memory;
  const base::MutexLock lock(&mutex_);
  if (message.offer) TRY(OnOffer(*message.offer));
  if (message.joined) TRY(OnJoined());
  for (const int64_t number : message.released) TRY(OnReleased(number));
  DropIdle();
  return absl::OkStatus();
}

absl::Status SharedWriter::OnOffer(const api::ShareOffer& offer) {
  if (state_ != State::kPlain) return absl::InvalidArgumentError("it offers twice");
  state_ = State::kRefused;
  api::ShareAnswer answer;
  if (!host_->options().enabled) {
    answer.refused = "the worker shares no memory, as it was told";
  } else if (offer.machine != MachineIdentity() || offer.machine.empty()) {
    answer.refused = "the worker is on another machine, or in another network";
  } else {
    absl::StatusOr<api::ShareAnswer> listening = Listen();
    if (listening.ok()) {
      answer = *std::move(listening);
    } else {
      answer.refused = listening.status().ToString();
    }
  }
  wants_to_write_ = offer.writes;
  Tell({.answer = answer});
  return absl::OkStatus();
}

absl::StatusOr<api::ShareAnswer> SharedWriter::Listen() {
  api::ShareAnswer answer{.socket = base::StrCat("millrace-", TRY(RandomWord())),
                          .secret = TRY(RandomWord())};
  listener_ = TRY(UnixSocket::Listen(answer.socket));
  secret_ = answer.secret;
  state_ = State::kAnswered;
  return answer;
}

absl::Status SharedWriter::OnJoined() {
  if (state_ != State::kAnswered) {
    return absl::InvalidArgumentError("it joins where nobody waits");
  }
  absl::StatusOr<UnixSocket> reader = AcceptReader();
  listener_.reset();
  state_ = State::kRefused;
  if (!reader.ok()) {
    TellCopying(std::string(reader.status().message()));
    return absl::OkStatus();
  }
  socket_ = *std::move(reader);
  state_ = State::kSharing;
  stats_.sharing = true;
  if (wants_to_write_) host_->LetWrite(reader_);
  return absl::OkStatus();
}

// The one who knows the secret, among those who came: names of sockets can be seen.
absl::StatusOr<UnixSocket> SharedWriter::AcceptReader() {
  absl::Status why = absl::UnavailableError("the reader did not come to the socket");
  for (int i = 0; i < kComersMax; ++i) {
    std::optional<UnixSocket> comer = TRY(listener_->Accept());
    if (!comer) break;
    const absl::StatusOr<int64_t> user = comer->PeerUser();
    const absl::StatusOr<UnixMessage> said = comer->Receive();
    if (!user.ok() || !said.ok() || said->bytes != secret_) continue;
    if (*user == static_cast<int64_t>(geteuid())) return *std::move(comer);
    why = absl::PermissionDeniedError("the reader is another user's process");
  }
  return why;
}

absl::Status SharedWriter::OnReleased(int64_t number) {
  const auto found = lent_.find(number);
  if (found == lent_.end()) {
    return absl::InvalidArgumentError("it releases what it was not lent");
  }
  const Lent lent = std::move(found->second);
  lent_.erase(found);
  stats_.lent_bytes -= lent.memory.storage()->region().size;
  if (!host_->MayReuse(lent.file)) lent.memory.storage()->Retire();
  Arena& arena = arenas_.at(lent.file);
  if (--arena.loans > 0) return absl::OkStatus();
  arena.idle_since = next_loan_;
  idle_bytes_ += arena.bytes;
  return absl::OkStatus();
}

// What is not lent stays mapped at the other side for the next time, but not too much
// of it: it may have been given up here.
void SharedWriter::DropIdle() {
  const auto is_idle = [](const auto& entry) { return entry.second.loans == 0; };
  const auto since = [&](const auto& entry) {
    return std::pair(!is_idle(entry), entry.second.idle_since);
  };
  while (idle_bytes_ > host_->options().lent_max || arenas_.size() > kIdleMax) {
    const auto oldest = std::ranges::min_element(arenas_, {}, since);
    if (oldest == arenas_.end() || !is_idle(*oldest)) return;
    idle_bytes_ -= oldest->second.bytes;
    dropped_.push_back(oldest->second.number);
    arenas_.erase(oldest);
  }
}

// What it has not released it may still look at, for as long as it likes.
void SharedWriter::End() {
  std::map<int64_t, Lent> lent;
  {
    const base::MutexLock lock(&mutex_);
    lent.swap(lent_);
    state_ = State::kRefused;
    stats_.sharing = false;
    stats_.lent_bytes = 0;
    listener_.reset();
    socket_.reset();
    arenas_.clear();
  }
  for (const auto& [number, one] : lent) one.memory.storage()->Retire();
  lent.clear();
  host_->Remove(reader_);
}

// --- What it is told ---

void SharedWriter::Tell(const api::ShareMessage& message) {
  stream_->Send({.head = api::ToJson(api::ShareHead{message})});
}

void SharedWriter::TellCopying(const std::string& why) {
  if (std::exchange(copying_, why) == why) return;
  Tell({.copying = why});
}

void SharedWriter::Send(Message message) {
  const base::MutexLock lock(&mutex_);
  if (state_ == State::kSharing && message.payload.bytes() > 0) {
    message = Lend(std::move(message));
  }
  stats_.copied_bytes += message.payload.bytes();
  stream_->Send(std::move(message));
}

// Tells what is lent, and gives the message with the rest.
Message SharedWriter::Lend(Message message) {
  const frames::Frame& frame = message.payload;
  Making making;
  std::vector<std::optional<int64_t>> loans;
  for (const core::Buffer& buffer : frame.body()) {
    loans.push_back(LoanOf(frame, buffer, making));
  }
  TellWhetherFull();
  api::Lending& lending = making.lending;
  std::vector<core::Buffer> copied;
  int64_t before = 0;
  for (size_t i = 0; i < loans.size(); ++i) {
    const core::Buffer& buffer = frame.body()[i];
    if (loans[i]) {
      const int64_t offset = buffer.data() - buffer.storage()->region().data;
      lending.pieces.push_back(
          {std::exchange(before, 0), *loans[i], offset, buffer.size()});
      stats_.shared_bytes += buffer.size();
    } else {
      copied.push_back(buffer);
      before += frames::PaddedBytes(buffer.size());
    }
  }
  const bool lends = !lending.pieces.empty();
  lending.dropped = std::exchange(dropped_, {});
  lending.head_bytes = std::ssize(frame.head());
  if (lends || !lending.dropped.empty()) Tell({.lending = std::move(lending)});
  if (!lends) return message;
  frames::Frame rest(std::string(frame.head()), std::move(copied), frame.rows());
  return {std::move(message.head), std::move(rest)};
}

void SharedWriter::TellWhetherFull() {
  if (!full_) return TellCopying("");
  const SharedHostOptions& options = host_->options();
  TellCopying(base::StrCat(
      "this reader keeps ", base::ToString(base::Bytes(stats_.lent_bytes)),
      " of shared memory in ", lent_.size(), " loans, and may have ",
      base::ToString(base::Bytes(options.lent_max)), " in ", options.loans_max,
      ": batches are copied until it lets go of half of that"));
}

std::optional<int64_t> SharedWriter::LoanOf(const frames::Frame& frame,
                                            const core::Buffer& buffer,
                                            Making& making) {
  const bool fits =
      buffer.size() >= host_->options().piece_least &&
      reinterpret_cast<uintptr_t>(buffer.data()) % frames::kFrameAlignment == 0 &&
      making.lending.pieces.size() < kPiecesMax;
  if (!fits || buffer.storage()->region().descriptor < 0) return std::nullopt;
  const auto [found, is_new] = making.loans.try_emplace(buffer.storage().get());
  if (is_new) found->second = NewLoan(frame, buffer, making);
  return found->second;
}

std::optional<int64_t> SharedWriter::NewLoan(const frames::Frame& frame,
                                             const core::Buffer& buffer,
                                             Making& making) {
  const core::Region& region = buffer.storage()->region();
  const std::optional<int64_t> file = FileOf(region.descriptor);
  const bool can = file && HasRoomFor(region.size) && CanLend(frame, buffer, *file);
  if (!can) return std::nullopt;
  Arena* const arena = ArenaOf(*file, buffer, making);
  if (arena == nullptr) return std::nullopt;
  if (arena->loans++ == 0) idle_bytes_ -= arena->bytes;
  const int64_t number = next_loan_++;
  lent_[number] = {buffer, *file};
  stats_.lent_bytes += region.size;
  making.lending.loans.push_back({.number = number, .arena = arena->number});
  return std::ssize(making.lending.loans) - 1;
}

// Once it is full, much must come back before there is room again.
bool SharedWriter::HasRoomFor(int64_t bytes) {
  const int64_t parts = full_ && !lent_.empty() ? 2 : 1;
  const SharedHostOptions& options = host_->options();
  full_ = bytes > options.lent_max / parts - stats_.lent_bytes ||
          std::ssize(lent_) >= options.loans_max / parts;
  return !full_;
}

// A reader that may write has memory for itself: nobody here looks at it again. All
// others must not be able to.
bool SharedWriter::CanLend(const frames::Frame& frame, const core::Buffer& buffer,
                           int64_t file) {
  core::Storage& storage = *buffer.storage();
  const int descriptor = storage.region().descriptor;
  const bool writes = host_->MayWrite(reader_);
  if (writes && !IsOwn(frame, storage)) return false;
  const std::optional<SharedHost::Access> access = host_->Lend(file, reader_);
  const bool usable =
      access && (*access == SharedHost::Access::kWrites ? !IsSealed(descriptor)
                                                        : Seal(descriptor));
  if (!usable) storage.Retire();  // Another takes its place next time.
  return usable;
}

SharedWriter::Arena* SharedWriter::ArenaOf(int64_t file, const core::Buffer& buffer,
                                           Making& making) {
  const core::Region& region = buffer.storage()->region();
  const auto found = arenas_.find(file);
  if (found != arenas_.end()) {
    return found->second.bytes == region.size ? &found->second : nullptr;
  }
  const int64_t number = next_arena_++;
  const absl::Status sent = socket_->Send(base::StrCat(number), region.descriptor);
  if (!sent.ok()) return nullptr;
  making.lending.arenas.push_back({.number = number,
                                   .bytes = region.size,
                                   .writable = !IsSealed(region.descriptor)});
  idle_bytes_ += region.size;
  return &(arenas_[file] = {.number = number, .bytes = region.size});
}

SharedWriterStats SharedWriter::shared_stats() const {
  const base::MutexLock lock(&mutex_);
  return stats_;
}

}  // namespace millrace::transport
