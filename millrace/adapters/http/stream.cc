#include "millrace/adapters/http/stream.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/message_writer.h"
#include "millrace/transport/packing_choice.h"
#include "millrace/transport/packing_meter.h"
#include "millrace/transport/prefix.h"

namespace millrace::http {
namespace {

// What one channel may move before the others of its loop have a turn.
constexpr int64_t kTurnBytes = int64_t{8} << 20;

// What is handed to the kernel at once. A checksum is computed just before, so that
// the kernel finds the bytes in the processor's cache.
constexpr int64_t kGatherBytes = int64_t{4} << 20;
constexpr int64_t kSummedGatherBytes = int64_t{512} << 10;

// The same of both where payloads are compressed, which takes its time.
constexpr int64_t kPackedTurnBytes = int64_t{512} << 10;

using transport::PackingMeter;
using transport::PayloadCodec;

PayloadCodec CodecOf(PayloadPacking packing) {
  if (packing == PayloadPacking::kLz4) return PayloadCodec::kLz4;
  return packing == PayloadPacking::kZstd ? PayloadCodec::kZstd : PayloadCodec::kNone;
}

// What each codec makes of a part of a payload.
std::vector<transport::PackingFacts> Sampled(const frames::Frame& payload,
                                             const std::vector<PayloadCodec>& codecs) {
  const base::Clock& clock = base::RealClock();
  std::vector<transport::PackingFacts> samples;
  transport::Packers packers;
  for (const PayloadCodec codec : codecs) {
    const absl::Duration begin = clock.Monotonic();
    const transport::PackedSample sample =
        transport::PackSample(payload, codec, packers);
    const double seconds = absl::ToDoubleSeconds(clock.Monotonic() - begin);
    samples.push_back(
        {.codec = codec,
         .ratio = static_cast<double>(sample.bytes) /
                  static_cast<double>(sample.packed_bytes),
         .bytes_per_second = static_cast<double>(sample.bytes) / seconds});
  }
  return samples;
}

}  // namespace

Stream::Stream(std::shared_ptr<Loop> loop, const StreamOptions& options)
    : loop_(std::move(loop)), options_(options), timer_(loop_->context()) {}

void Stream::Send(transport::Message message) {
  CHECK_LE(message.head.size(), transport::kHeadBytesMax);
  if (closed_) return;
  const int64_t bytes = transport::MessageWriter::BytesOf(message);
  if (queued_.fetch_add(bytes) + bytes > options_.queued_max.count()) {
    return End(absl::ResourceExhaustedError(base::StrCat(
        "a channel has more than ", base::ToString(options_.queued_max),
        " queued: the other side is slower, and the sender keeps no credits")));
  }
  {
    const base::MutexLock lock(&mutex_);
    outbox_.push_back(std::move(message));
    if (std::exchange(flush_posted_, true)) return;
  }
  loop_->Post([self = shared_from_this()] { self->Flush(); });
}

void Stream::Close() {
  if (closed_.exchange(true)) return;
  loop_->Post([self = shared_from_this()] { self->Drain(); });
}

void Stream::End(absl::Status why) {
  closed_ = true;
  loop_->Post([self = shared_from_this(), why = std::move(why)] { self->Finish(why); });
}

void Stream::SetEvents(transport::ChannelEvents events) {
  events_ = std::move(events);
  if (early_end_) Finish(*early_end_);
}

void Stream::Start(Socket socket, std::string_view already_read) {
  if (finished_) return socket.Close();
  on_finish_ = nullptr;
  socket_.emplace(std::move(socket));
  const bool sums =
      options_.sums == PayloadSums::kAlways ||
      (options_.sums == PayloadSums::kBetweenHosts && !socket_->same_host());
  writer_.set_sums(sums);
  gather_bytes_ = sums ? kSummedGatherBytes : kGatherBytes;
  BeginPacking();
  reader_.emplace(options_.payload_max, events_->allocate);
  if (!draining_) BeginTick();
  const absl::Status status = ReadAlready(already_read);
  if (!status.ok()) return Finish(status);
  ReadSome();
  Flush();
}

// A host's own connections are never packed, so they need not be measured either.
void Stream::BeginPacking() {
  const PayloadCodec fixed = CodecOf(options_.packing);
  const bool known = std::ranges::find(codecs_, fixed) != codecs_.end();
  transport::PackingChoice choice{known ? fixed : PayloadCodec::kNone, "as was set"};
  if (options_.packing == PayloadPacking::kMeasured) {
    PackingMeter meter({.same_host = socket_->same_host(), .codecs = codecs_},
                       base::RealClock().Monotonic());
    choice = meter.Choose(base::RealClock().Monotonic());
    if (!socket_->same_host()) meter_.emplace(std::move(meter));
  }
  Use(choice);
}

void Stream::Use(const transport::PackingChoice& choice) {
  writer_.set_codec(choice.codec);
  const base::MutexLock lock(&mutex_);
  stats_.codec = transport::NameOf(choice.codec);
  stats_.reason = choice.reason;
}

void Stream::ChoosePacking(const frames::Frame& next) {
  if (!meter_ || next.bytes() < transport::kChunkBytes) return;
  if (meter_->wants_samples()) meter_->AddSamples(Sampled(next, meter_->codecs()));
  Use(meter_->Choose(base::RealClock().Monotonic()));
}

void Stream::SetState(PackingMeter::State state) {
  if (meter_) meter_->Set(state, base::RealClock().Monotonic());
}

void Stream::CountWritten(int64_t wire_bytes) {
  const int64_t bytes = writer_.Written(wire_bytes);
  queued_ -= bytes;
  if (meter_) meter_->AddWritten(wire_bytes);
  const base::MutexLock lock(&mutex_);
  stats_.wire_bytes += wire_bytes;
  stats_.bytes += bytes;
  stats_.packed_messages = writer_.packed_messages();
}

transport::ChannelStats Stream::stats() const {
  const base::MutexLock lock(&mutex_);
  return stats_;
}

void Stream::Flush() {
  TakeOutbox();
  if (socket_ && !writing_) WriteSome();
}

void Stream::TakeOutbox() {
  std::vector<transport::Message> taken;
  {
    const base::MutexLock lock(&mutex_);
    taken.swap(outbox_);
    flush_posted_ = false;
    stats_.messages += std::ssize(taken);
  }
  if (finished_) return;
  for (transport::Message& message : taken) {
    ChoosePacking(message.payload);
    writer_.Add(std::move(message));
  }
}

void Stream::WriteSome() {
  writing_ = false;
  SetState(PackingMeter::State::kSending);
  const bool packs = writer_.codec() != PayloadCodec::kNone;
  const int64_t turn = packs ? kPackedTurnBytes : kTurnBytes;
  for (int64_t moved = 0; moved < turn;) {
    if (finished_) return;
    if (writer_.empty()) TakeOutbox();
    if (writer_.empty()) break;
    const absl::StatusOr<Progress> progress =
        socket_->Write(writer_.Gather(gather_bytes_));
    if (!progress.ok()) return Finish(progress.status());
    if (progress->bytes == 0) return WaitToWrite(progress->waits_to_write);
    CountWritten(progress->bytes);
    moved += progress->bytes;
    sent_ = true;
  }
  if (!writer_.empty()) return WriteInTheNextTurn();
  SetState(PackingMeter::State::kIdle);
  if (draining_ && !std::exchange(drained_, true)) socket_->EndWriting();
}

void Stream::WaitToWrite(bool to_write) {
  SetState(PackingMeter::State::kBlocked);
  writing_ = true;
  socket_->Wait(to_write, [self = shared_from_this()] { self->WriteSome(); });
}

void Stream::WriteInTheNextTurn() {
  writing_ = true;
  loop_->Post([self = shared_from_this()] { self->WriteSome(); });
}

void Stream::ReadSome() {
  for (int64_t moved = 0; moved < kTurnBytes;) {
    if (finished_) return;
    const absl::StatusOr<Progress> progress = socket_->Read(reader_->Room());
    if (!progress.ok()) return EndNow(progress.status());
    if (progress->ended) return EndNow(PeerEnded());
    if (progress->bytes == 0) {
      return socket_->Wait(progress->waits_to_write,
                           [self = shared_from_this()] { self->ReadSome(); });
    }
    const absl::Status status = Advance(progress->bytes);
    if (!status.ok()) return Finish(status);
    moved += progress->bytes;
  }
  loop_->Post([self = shared_from_this()] { self->ReadSome(); });
}

absl::Status Stream::Advance(int64_t bytes) {
  heard_ = true;
  const absl::Status status =
      reader_->Advance(bytes, [this](transport::Received message) {
        if (!closed_) events_->on_message(std::move(message));
      });
  return base::Annotate(status, base::StrCat("a message from ", socket_->peer()));
}

absl::Status Stream::ReadAlready(std::string_view bytes) {
  while (!bytes.empty()) {
    int64_t put = 0;
    for (const iovec& room : reader_->Room()) {
      const size_t size = std::min(room.iov_len, bytes.size());
      std::memcpy(room.iov_base, bytes.data(), size);
      bytes.remove_prefix(size);
      put += static_cast<int64_t>(size);
    }
    TRY(Advance(put));
  }
  return absl::OkStatus();
}

absl::Status Stream::PeerEnded() const {
  if (reader_->between_messages()) {
    return absl::UnavailableError(base::StrCat(socket_->peer(), " closed the channel"));
  }
  return absl::UnavailableError(base::StrCat(
      socket_->peer(), " ended the connection after ", reader_->Progress()));
}

void Stream::BeginTick() {
  timer_.expires_after(absl::ToChronoNanoseconds(options_.ping_after));
  timer_.async_wait([self = shared_from_this()](const auto& error) {
    if (!error) self->Tick();
  });
}

void Stream::Tick() {
  if (finished_ || draining_) return;
  silence_ = std::exchange(heard_, false) ? absl::ZeroDuration()
                                          : silence_ + options_.ping_after;
  if (silence_ >= options_.lost_after) {
    return Finish(absl::UnavailableError(base::StrCat(
        socket_->peer(), " gave no sign of life for ", absl::FormatDuration(silence_),
        ": the machine or the network is gone")));
  }
  if (!std::exchange(sent_, false) && writer_.empty()) {
    writer_.AddPing();
    if (!writing_) WriteSome();
  }
  BeginTick();
}

void Stream::Drain() {
  if (finished_) return;
  if (!socket_ && queued_ == 0) return Finish(absl::OkStatus());
  draining_ = true;
  timer_.expires_after(absl::ToChronoNanoseconds(options_.close_within));
  timer_.async_wait([self = shared_from_this()](const auto& error) {
    if (!error) self->EndNow(absl::OkStatus());
  });
  if (socket_ && !writing_) WriteSome();
}

// Of a channel that is being closed here, only what was not sent matters.
void Stream::EndNow(const absl::Status& why) {
  if (!draining_) return Finish(why);
  const int64_t left = queued_;
  Finish(left == 0 ? absl::OkStatus()
                   : absl::UnavailableError(
                         base::StrCat(socket_ ? socket_->peer() : "the other side",
                                      " did not take the last ", left,
                                      " bytes that were sent before closing")));
}

void Stream::Finish(const absl::Status& why) {
  closed_ = true;
  if (!events_ && !early_end_) early_end_ = why;
  if (!events_ || finished_.exchange(true)) return;
  timer_.cancel();
  if (on_finish_ != nullptr) std::exchange(on_finish_, nullptr)();
  if (socket_) socket_->Close();
  TakeOutbox();
  writer_ = {};
  queued_ = 0;
  const transport::ChannelEvents events = std::exchange(*events_, {});
  if (events.on_closed != nullptr) events.on_closed(why);
  if (on_gone_ != nullptr) std::exchange(on_gone_, nullptr)();
}

}  // namespace millrace::http
