#include "millrace/adapters/http/link.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

constexpr size_t kReadBytes = 16 << 10;

}  // namespace

Link::Link(Socket socket)
    : loop_(socket.loop()), socket_(std::move(socket)), timer_(loop_->context()) {}

void Link::Run(Step step, Done done) {
  absl::StatusOr<Progress> progress = closed_.ok() ? step() : closed_;
  if (progress.ok() && progress->ended) {
    progress =
        absl::OutOfRangeError(base::StrCat(socket_.peer(), " ended the connection"));
  }
  if (progress.ok() && progress->bytes == 0) {
    return socket_.Wait(progress->waits_to_write,
                        [self = shared_from_this(), step = std::move(step),
                         done = std::move(done)]() mutable {
                          self->Run(std::move(step), std::move(done));
                        });
  }
  loop_->Post([self = shared_from_this(), status = std::move(progress).status(),
               done = std::move(done)]() mutable { done(std::move(status)); });
}

void Link::Handshake(Done done) {
  Run([this] { return socket_.Handshake(); }, std::move(done));
}

void Link::Read(Done done) {
  Run([this] { return ReadOnce(); }, std::move(done));
}

absl::StatusOr<Progress> Link::ReadOnce() {
  const size_t before = input_.size();
  input_.resize(before + kReadBytes);
  const iovec room = {input_.data() + before, kReadBytes};
  const absl::StatusOr<Progress> progress = socket_.Read({&room, 1});
  input_.resize(before + (progress.ok() ? progress->bytes : 0));
  return progress;
}

void Link::Write(std::string bytes, Done done) {
  CHECK(!bytes.empty());
  output_ = std::move(bytes);
  written_ = 0;
  Run([this] { return WriteOnce(); }, std::move(done));
}

// Goes on until all is written, or it has to wait.
absl::StatusOr<Progress> Link::WriteOnce() {
  while (written_ < output_.size()) {
    const iovec piece = {output_.data() + written_, output_.size() - written_};
    const Progress progress = TRY(socket_.Write({&piece, 1}));
    if (progress.bytes == 0) return progress;
    written_ += static_cast<size_t>(progress.bytes);
  }
  output_.clear();
  return Progress{.bytes = 1};
}

void Link::SetDeadline(absl::Duration within, absl::Status error) {
  if (!closed_.ok()) return;  // A timer would only keep the loop from ending.
  timer_.expires_after(
      absl::ToChronoNanoseconds(std::max(within, absl::ZeroDuration())));
  timer_.async_wait([self = shared_from_this(), error = std::move(error),
                     number = ++deadlines_](const boost::system::error_code&) {
    if (number == self->deadlines_) self->Close(error);
  });
}

void Link::ClearDeadline() {
  ++deadlines_;
  timer_.cancel();
}

void Link::Close(absl::Status why) {
  if (!closed_.ok()) return;
  closed_ = std::move(why);
  ClearDeadline();
  socket_.Close();
}

Socket Link::TakeSocket() {
  CHECK(closed_.ok());
  closed_ = absl::CancelledError("the connection was given away");
  ClearDeadline();
  return std::move(socket_);
}

}  // namespace millrace::http
