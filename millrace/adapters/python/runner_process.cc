#include "millrace/adapters/python/runner_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/python/function_call.h"
#include "millrace/adapters/python/shared_region.h"
#include "millrace/api/json.h"
#include "millrace/api/python_calls.h"
#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/ir/attachment.h"

namespace millrace::python {
namespace {

// The sockets of all processes there are, as a forked child must know them: without a
// lock, which another thread may hold at the fork.
constexpr size_t kSocketsMax = 4096;
std::array<std::atomic<int>, kSocketsMax> open_sockets;  // Plus 1; 0: none.

void Exchange(int from, int to) {
  for (std::atomic<int>& socket : open_sockets) {
    int expected = from;
    if (socket.compare_exchange_strong(expected, to)) return;
  }
}

// The numbers of all processes there are.
struct TakenNumbers {
  base::Mutex mutex;
  std::set<int64_t> taken ABSL_GUARDED_BY(mutex);
};

TakenNumbers& Numbers() {
  static TakenNumbers& numbers = *new TakenNumbers;
  return numbers;
}

constexpr int64_t kAnswerBytesMax = 192 << 10;  // One message of the socket.
constexpr int64_t kInputBytesLeast = 1 << 20;

absl::Status Failed(const char* what) { return absl::ErrnoToStatus(errno, what); }

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Executes a command whose descriptor kRunnerSocket is this socket, and no other of
// ours is open: they all close on exec.
absl::StatusOr<pid_t> Spawn(const RunnerCommand& command, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, kRunnerSocket);
  pid_t pid = 0;
  const std::vector<char*> arguments = Pointers(command.arguments);
  const std::vector<char*> environment = Pointers(command.environment);
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr,
                                  arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return absl::FailedPreconditionError(
      base::StrCat("starting ", command.arguments[0], " for Python functions: ",
                   base::ToStd(absl::ErrnoToStatus(failed, "posix_spawn").message())));
}

// The message and, where one came along, the descriptor.
std::string TakeMessage(const msghdr& message, const char* data, size_t size,
                        int& descriptor) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::memcpy(&descriptor, CMSG_DATA(part), sizeof(descriptor));
  }
  return {data, size};
}

}  // namespace

// Which answers nobody holds any more; told to the process with the next call.
struct RunnerProcess::Released {
  base::Mutex mutex;
  std::vector<int64_t> regions ABSL_GUARDED_BY(mutex);
};

// An answer's memory as a buffer's: free again once nobody holds it.
class RunnerProcess::Answered final : public core::Storage {
 public:
  Answered(std::shared_ptr<SharedRegion> region, int64_t number,
           std::shared_ptr<Released> released)
      : core::Storage({.data = region->data(), .size = region->bytes()}),
        region_(std::move(region)),
        number_(number),
        released_(std::move(released)) {}

  ~Answered() override {
    const base::MutexLock lock(&released_->mutex);
    released_->regions.push_back(number_);
  }

 private:
  const std::shared_ptr<SharedRegion> region_;
  const int64_t number_;
  const std::shared_ptr<Released> released_;
};

RunnerProcess::Number::Number() {
  const base::MutexLock lock(&Numbers().mutex);
  while (!Numbers().taken.insert(value_).second) ++value_;
}

RunnerProcess::Number::~Number() {
  const base::MutexLock lock(&Numbers().mutex);
  Numbers().taken.erase(value_);
}

RunnerProcess::RunnerProcess(int socket, pid_t pid, int processes)
    : socket_(socket),
      pid_(pid),
      processes_(processes),
      released_(std::make_shared<Released>()) {
  Exchange(0, socket + 1);
}

void RunnerProcess::CloseAllAfterFork() {
  for (std::atomic<int>& socket : open_sockets) {
    const int open = socket.exchange(0);
    if (open != 0) close(open - 1);
  }
}

RunnerProcess::~RunnerProcess() {
  Exchange(socket_ + 1, 0);
  close(socket_);  // It ends by itself when it sees that; a function may be in the way.
  if (reaped_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(
    const RunnerCommand& command) {
  if (command.arguments.empty()) {
    return absl::FailedPreconditionError(
        "Python functions run only where the Python package started the engine");
  }
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Failed("making a socket for Python functions");
  }
  const absl::StatusOr<pid_t> pid = Spawn(command, ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  std::unique_ptr<RunnerProcess> process(
      new RunnerProcess(ends[0], *pid, command.processes));
  if (process->Send(command.hello).ok()) return process;
  return absl::FailedPreconditionError(process->Ended().message());
}

absl::Status RunnerProcess::MakeRoom(int64_t bytes) {
  const int64_t wanted = bytes + api::kPythonHeadBytes;
  if (input_ != nullptr && input_->bytes() >= wanted) return absl::OkStatus();
  const int64_t before = input_ == nullptr ? 0 : input_->bytes();
  input_ = TRY(SharedRegion::Make(std::max({wanted, 2 * before, kInputBytesLeast})));
  region_is_new_ = true;
  return absl::OkStatus();
}

// In the first bytes, where the process writes which row it is at.
void RunnerProcess::NoteNoRow() {
  constexpr int64_t kNone = kNoRow;
  std::memcpy(input_->data(), &kNone, sizeof(kNone));
}

bool RunnerProcess::IsThere() const {
  pollfd ready = {.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return poll(&ready, 1, 0) == 0;
}

absl::Status RunnerProcess::Load(const Patience& patience) {
  const FunctionCall& call = patience.call;
  const std::string hash = base::ToHex(call.function.hash());
  if (loaded_.contains(hash)) return absl::OkStatus();
  const std::string_view content = call.function.content();
  TRY(MakeRoom(std::ssize(content)));
  std::memcpy(input_->data() + api::kPythonHeadBytes, content.data(), content.size());
  const api::PythonAnswer answer = TRY(Ask({.kind = "load",
                                            .function = hash,
                                            .bytes = std::ssize(content),
                                            .seed = call.seed},
                                           patience));
  if (!answer.error.empty()) return absl::FailedPreconditionError(answer.error);
  loaded_.insert(hash);
  return absl::OkStatus();
}

absl::Status RunnerProcess::WriteRows(const core::Block& rows, core::Pool& pool,
                                      api::PythonCall& call) {
  const frames::Frame frame = TRY(frames::Encode(rows, pool, frames::Summed::kHead));
  TRY(MakeRoom(frame.bytes()));
  call.bytes = frame.bytes();
  frame.CopyTo(input_->data() + api::kPythonHeadBytes);
  return absl::OkStatus();
}

absl::StatusOr<FunctionResult> RunnerProcess::Call(const FunctionCall& call,
                                                   const core::Block& rows,
                                                   core::Pool& pool) {
  failed_row_ = kNoRow;
  TRY(Load({std::max(call.timeout, call.start_timeout), call}));
  api::PythonCall message = MapMessage(call);
  TRY(WriteRows(rows, pool, message));
  const api::PythonAnswer answer = TRY(Ask(message, {call.timeout, call}));
  FunctionResult result = TRY(ResultOf(answer, rows.rows()));
  TRY(TakeRows(answer, result));
  return result;
}

absl::StatusOr<FunctionResult> RunnerProcess::Generate(const FunctionCall& call,
                                                       const RowStream& stream) {
  TRY(Load({call.start_timeout, call}));
  const api::PythonAnswer answer =
      TRY(Ask(GenerateMessage(call, stream), {call.timeout, call}));
  FunctionResult result = TRY(ResultOf(answer, {}));
  TRY(TakeRows(answer, result));
  return result;
}

absl::Status RunnerProcess::TakeRows(const api::PythonAnswer& answer,
                                     FunctionResult& result) {
  if (answer.rows == 0) return absl::OkStatus();
  result.rows = TRY(RowsOf(answer));
  if (result.rows.rows() == answer.rows) return absl::OkStatus();
  return absl::InternalError("a process for Python functions gave other rows");
}

absl::StatusOr<core::Block> RunnerProcess::RowsOf(const api::PythonAnswer& answer) {
  const auto region = answers_.find(answer.region);
  if (region == answers_.end() || answer.bytes <= 0 ||
      answer.bytes > region->second->bytes()) {
    return absl::InternalError("a process for Python functions named no memory of its");
  }
  return frames::Decode(
      core::Buffer(std::make_shared<Answered>(region->second, answer.region, released_),
                   answer.bytes),
      frames::Summed::kHead);
}

absl::Status RunnerProcess::Send(const std::string& message) const {
  iovec data = {const_cast<char*>(message.data()), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr header = {};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (region_is_new_) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    const int descriptor = input_->descriptor();
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(descriptor));
  }
  while (sendmsg(socket_, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return Failed("telling a process for Python functions");
  }
  return absl::OkStatus();
}

absl::StatusOr<api::PythonAnswer> RunnerProcess::Ask(const api::PythonCall& call,
                                                     const Patience& patience) {
  api::PythonCall message = call;
  if (input_ != nullptr) NoteNoRow();
  message.process = number_.value();
  message.processes = std::max<int64_t>(processes_, number_.value() + 1);
  {
    const base::MutexLock lock(&released_->mutex);
    message.released = std::exchange(released_->regions, {});
  }
  const absl::Status sent = Send(api::ToJson(message));
  region_is_new_ = false;
  if (!sent.ok()) return Ended();
  TRY(Wait(patience));
  int descriptor = -1;
  const std::string text = TRY(Receive(descriptor));
  auto answer = api::FromJson<api::PythonAnswer>(text);
  if (descriptor >= 0) {
    if (!answer.ok()) close(descriptor);
    TRY(answer.status());
    answers_[answer->region] = TRY(SharedRegion::Map(descriptor, answer->region_bytes));
  }
  return answer;
}

absl::Status RunnerProcess::Wait(const Patience& patience) {
  pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
  for (absl::Duration left = patience.timeout; left > absl::ZeroDuration();
       left -= kWaitSlice) {
    const absl::Duration slice = std::min(left, kWaitSlice);
    if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(slice))) > 0) {
      return absl::OkStatus();
    }
    if (!patience.call.IsWanted()) {
      return End(absl::CancelledError("nobody wants the rows any more"));
    }
  }
  return End(absl::AbortedError(
      base::StrCat("the Python function did not return within ",
                   absl::FormatDuration(patience.timeout), ": its process was ended")));
}

absl::StatusOr<std::string> RunnerProcess::Receive(int& descriptor) {
  std::string data(kAnswerBytesMax, '\0');
  iovec piece = {data.data(), data.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR) {
    size = recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
  }
  if (size <= 0) return Ended();
  return TakeMessage(header, data.data(), static_cast<size_t>(size), descriptor);
}

absl::Status RunnerProcess::End(const absl::Status& why) {
  kill(pid_, SIGKILL);
  Ended().IgnoreError();
  failed_row_ = std::max<int64_t>(failed_row_, 0);  // It had its time.
  return why;
}

absl::Status RunnerProcess::Ended() {
  int status = 0;
  if (waitpid(pid_, &status, 0) == pid_) reaped_ = true;
  if (input_ != nullptr) std::memcpy(&failed_row_, input_->data(), sizeof(failed_row_));
  if (WIFSIGNALED(status)) {
    return absl::AbortedError(
        base::StrCat("the Python function's process died: signal ", WTERMSIG(status)));
  }
  return absl::AbortedError(base::StrCat(
      "the Python function's process ended with exit code ", WEXITSTATUS(status)));
}

}  // namespace millrace::python
