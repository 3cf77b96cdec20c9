// Channels on loopback beside a plain TCP stream of the same sizes, in one run: bytes a
// second, and what a gigabyte costs both ends in processor time ("cpu_s_per_GB").
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"

namespace millrace::http {
namespace {

constexpr int64_t kWindowBytes = int64_t{96} << 20;  // What a consumer's credits are.

double ProcessorSeconds() {
  rusage usage = {};
  CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Counts messages until all that are wanted came.
class Counter {
 public:
  void Add() {
    const base::MutexLock lock(&mutex_);
    ++count_;
    changed_.NotifyAll();
  }

  void WaitFor(int64_t count) {
    const absl::Time deadline = base::RealClock().Now() + absl::Minutes(2);
    const base::MutexLock lock(&mutex_);
    while (count_ < count) CHECK(changed_.WaitUntil(&mutex_, deadline));
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

frames::Frame MakeFrame(int64_t bytes) {
  const int64_t half = bytes / 128 * 64;
  std::vector<core::Buffer> body;
  for (const int64_t size : {half, bytes - half - frames::kFrameAlignment}) {
    core::Buffer buffer = core::HeapPool().Allocate(size).value();
    std::fill_n(buffer.mutable_data(), size, std::byte{7});
    body.push_back(std::move(buffer));
  }
  return frames::Frame(std::string(frames::kFrameAlignment, 'h'), std::move(body), 1);
}

void Report(benchmark::State& state, int64_t bytes, double processor_seconds) {
  state.SetBytesProcessed(bytes);
  state.counters["cpu_s_per_GB"] =
      processor_seconds / (1e-9 * static_cast<double>(bytes));
}

void OverChannel(benchmark::State& state, PayloadSums sums) {
  const int64_t size = state.range(0);
  const int64_t window = std::max<int64_t>(2, kWindowBytes / size);
  std::shared_ptr<transport::Channel> sender;
  Counter opened;
  Router router;
  router.Channel("/stream", [&](const Request&, const auto& channel) {
    sender = channel;
    opened.Add();
    return transport::ChannelEvents{.on_message = [](const transport::Received&) {},
                                    .on_closed = [](const absl::Status&) {}};
  });
  const auto server =
      Server::Start({.stream = {.sums = sums}}, std::move(router)).value();
  const auto client = Client::Make({}).value();
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 4 * kWindowBytes});
  Counter arrived;
  const auto receiver = client->OpenChannel(
      {.address = {"127.0.0.1", server->port()}, .path = "/stream"},
      {.on_message = [&](const transport::Received&) { arrived.Add(); },
       .on_closed = [](const absl::Status&) {},
       .allocate = [&](std::string_view,
                       base::Bytes bytes) { return pool.Allocate(bytes.count()); }});
  const frames::Frame frame = MakeFrame(size);
  opened.WaitFor(1);

  int64_t sent = 0;
  const double before = ProcessorSeconds();
  for (auto _ : state) {
    sender->Send(
        {.head = "{\"lane\":7,\"k\":12,\"digest\":\"0123\"}", .payload = frame});
    if (++sent > window) arrived.WaitFor(sent - window);
  }
  arrived.WaitFor(sent);
  Report(state, sent * frame.bytes(), ProcessorSeconds() - before);
}

void Plain(benchmark::State& state) { OverChannel(state, PayloadSums::kNever); }

void Summed(benchmark::State& state) { OverChannel(state, PayloadSums::kAlways); }

std::pair<int, int> ConnectedSockets() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  CHECK_EQ(bind(listener, generic, length), 0);
  CHECK_EQ(listen(listener, 1), 0);
  CHECK_EQ(getsockname(listener, generic, &length), 0);
  const int near = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_EQ(connect(near, generic, length), 0);
  const int far = accept(listener, nullptr, nullptr);
  close(listener);
  return {near, far};
}

// Reads messages of one size, one after the other, into as many places in turn as a
// channel's receiver has.
void ReceiveRaw(int socket, int64_t size) {
  std::array<core::Buffer, 2> places = {core::HeapPool().Allocate(size).value(),
                                        core::HeapPool().Allocate(size).value()};
  for (size_t i = 0;; ++i) {
    std::byte* const to = places[i % places.size()].mutable_data();
    if (recv(socket, to, static_cast<size_t>(size), MSG_WAITALL) < size) return;
  }
}

void Raw(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  const auto [near, far] = ConnectedSockets();
  std::jthread receiver(
      [far = far, size] { ReceiveRaw(far, static_cast<int64_t>(size)); });
  const std::string bytes(size, 'x');
  int64_t sent = 0;
  const double before = ProcessorSeconds();
  for (auto _ : state) {
    for (size_t at = 0; at < size;) {
      const ssize_t taken = send(near, bytes.data() + at, size - at, MSG_NOSIGNAL);
      CHECK_GT(taken, 0);
      at += static_cast<size_t>(taken);
    }
    ++sent;
  }
  Report(state, sent * static_cast<int64_t>(size), ProcessorSeconds() - before);
  close(near);
  receiver.join();
  close(far);
}

constexpr int64_t kSmall = int64_t{64} << 10;
constexpr int64_t kMiddle = int64_t{1} << 20;
constexpr int64_t kLarge = int64_t{40} << 20;

BENCHMARK(Raw)->Arg(kSmall)->Arg(kMiddle)->Arg(kLarge)->UseRealTime();
BENCHMARK(Plain)->Arg(kSmall)->Arg(kMiddle)->Arg(kLarge)->UseRealTime();
BENCHMARK(Summed)->Arg(kSmall)->Arg(kMiddle)->Arg(kLarge)->UseRealTime();

}  // namespace
}  // namespace millrace::http
