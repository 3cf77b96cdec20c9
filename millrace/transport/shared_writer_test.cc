// Both ends together: what is lent, what comes back, and who lies.
#include "millrace/transport/shared_writer.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/json.h"
#include "millrace/api/shared_memory.h"
#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/in_process.h"
#include "millrace/transport/machine_identity.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/recorder_test.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_pair_test.h"
#include "millrace/transport/shared_reader.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kBytes = int64_t{1} << 20;

template <typename Condition>
bool Eventually(Condition condition) {
  const absl::Time deadline = base::RealClock().Now() + absl::Seconds(30);
  while (!condition()) {
    if (base::RealClock().Now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// A worker's memory, and readers of it.
class SharedWriterTest : public testing::Test {
 protected:
  // A frame of one large buffer, all of it this letter, and a small one.
  frames::Frame Letters(char letter, int64_t bytes = kBytes) {
    core::Buffer large = pool_.Allocate(bytes).value();
    std::memset(large.mutable_data(), letter, bytes);
    core::Buffer small = core::CopyBytes("small", 5, core::HeapPool()).value();
    return {std::string(frames::kFrameAlignment, 'h'),
            {std::move(small), std::move(large)},
            1};
  }

  static Message Batch(frames::Frame frame) { return {"{}", std::move(frame)}; }

  // Whether a message that came is Letters of this one, lent.
  static bool IsLent(const Received& received, char letter) {
    if (received.parts.size() != 2) return false;
    const std::string_view text = received.parts[1].text();
    return text.find_first_not_of(letter) == std::string_view::npos;
  }

  std::unique_ptr<SharedPair> Connect(Recorder& recorder,
                                      const SharedReaderOptions& options = {}) {
    auto pair = std::make_unique<SharedPair>(host_);
    pair->Connect(recorder.Events(), writer_.emplace_back(new Recorder)->Events(),
                  options);
    EXPECT_TRUE(pair->WaitSharing());
    return pair;
  }

  core::Pool pool_{core::MakeLargeSharedAllocator(), {}};
  int trims_ = 0;
  std::shared_ptr<SharedHost> host_ = std::make_shared<SharedHost>(
      SharedHostOptions{.lent_max = 8 * kBytes, .trim = [this] {
                          ++trims_;
                          pool_.Trim();
                        }});
  std::vector<std::unique_ptr<Recorder>> writer_;
};

TEST_F(SharedWriterTest, LargeBuffersAreLentAndSmallOnesSent) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  const frames::Frame frame = Letters('a');
  const std::string expected = BytesOf(frame);
  pair->writer()->Send(Batch(Letters('a')));
  const std::vector<Received> received = recorder.Wait(1);
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(BytesOf(received[0]), expected);
  const SharedReaderStats stats = pair->reader()->shared_stats();
  EXPECT_EQ(stats.shared_bytes, kBytes);
  EXPECT_EQ(stats.copied_bytes, 128);
  EXPECT_EQ(pair->writer()->shared_stats().shared_bytes, kBytes);
  EXPECT_THAT(stats.note, IsEmpty());
}

TEST_F(SharedWriterTest, MemoryThatComesBackIsMappedOnceAndUsedAgain) {
  Recorder recorder;
  std::optional<Received> latest;
  base::Mutex mutex;
  int count = 0;
  ChannelEvents events = recorder.Events();
  events.on_message = [&](Received received) {
    const base::MutexLock lock(&mutex);
    latest = std::move(received);  // The one before goes back.
    ++count;
  };
  Recorder far;
  SharedPair pair(host_);
  pair.Connect(std::move(events), far.Events());
  ASSERT_TRUE(pair.WaitSharing());
  for (int i = 0; i < 200; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    pair.writer()->Send(Batch(Letters(letter)));
    ASSERT_TRUE(Eventually([&] {
      const base::MutexLock lock(&mutex);
      return count == i + 1;
    }));
    const base::MutexLock lock(&mutex);
    ASSERT_TRUE(IsLent(*latest, letter));
  }
  EXPECT_LE(pair.reader()->shared_stats().arenas, 4);
  EXPECT_LE(pool_.stats().allocations, 4);
  const base::MutexLock lock(&mutex);
  latest.reset();
  EXPECT_TRUE(
      Eventually([&] { return pair.writer()->shared_stats().lent_bytes == 0; }));
}

// The only reader may write, and what it wrote is never seen again.
TEST_F(SharedWriterTest, TheOnlyReaderMayWriteToWhatItHas) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  pair->writer()->Send(Batch(Letters('a')));
  std::vector<Received> received = recorder.Wait(1);
  ASSERT_TRUE(IsLent(received[0], 'a'));
  EXPECT_FALSE(received[0].parts[1].storage()->read_only());
  std::memset(received[0].parts[1].mutable_data(), 'w', kBytes);
  EXPECT_TRUE(IsLent(received[0], 'w'));
}

// A cache of the worker may have it, too.
TEST_F(SharedWriterTest, WhatTheWorkerKeepsIsCopiedForWhoMayWrite) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  const frames::Frame kept = Letters('a');
  pair->writer()->Send(Batch(kept));
  const std::vector<Received> received = recorder.Wait(1);
  EXPECT_THAT(received[0].parts, IsEmpty());
  EXPECT_EQ(BytesOf(received[0]), BytesOf(kept));
}

TEST_F(SharedWriterTest, SeveralReadersHaveTheSameMemoryAndCannotWrite) {
  Recorder one;
  Recorder two;
  const auto first = Connect(one, {.writes = false});
  const auto second = Connect(two);  // Would like to write.
  const frames::Frame frame = Letters('a');
  first->writer()->Send(Batch(frame));
  second->writer()->Send(Batch(frame));
  for (Recorder* const recorder : {&one, &two}) {
    const std::vector<Received> received = recorder->Wait(1);
    ASSERT_TRUE(IsLent(received[0], 'a'));
    EXPECT_TRUE(received[0].parts[1].storage()->read_only());
    EXPECT_DEATH(std::memset(const_cast<std::byte*>(received[0].parts[1].data()), 1, 1),
                 "");
  }
}

// It could write to it while the other reads.
TEST_F(SharedWriterTest, WhatOneCanWriteToIsNeverLentToAnother) {
  Recorder one;
  Recorder two;
  const auto first = Connect(one);
  first->writer()->Send(Batch(Letters('a')));
  ASSERT_TRUE(IsLent(one.Wait(1)[0], 'a'));
  one.Forget();
  ASSERT_TRUE(
      Eventually([&] { return first->writer()->shared_stats().lent_bytes == 0; }));
  frames::Frame reused = Letters('b');  // The same memory again.
  const auto second = Connect(two);
  EXPECT_EQ(trims_, 1);
  second->writer()->Send(Batch(std::move(reused)));
  const std::vector<Received> received = two.Wait(1);
  EXPECT_THAT(received[0].parts, IsEmpty());
  second->writer()->Send(Batch(Letters('c')));
  EXPECT_TRUE(IsLent(two.Wait(2)[1], 'c'));
  first->writer()->Send(Batch(Letters('d')));  // From now on it reads alone.
  ASSERT_TRUE(Eventually([&] { return one.Wait(1).size() == 1; }));
  EXPECT_TRUE(one.Wait(1)[0].parts[1].storage()->read_only());
}

TEST_F(SharedWriterTest, WhatAReaderKeepsStaysAsItIsWhenItsChannelEnds) {
  Recorder recorder;
  auto pair = Connect(recorder);
  pair->writer()->Send(Batch(Letters('a')));
  const std::vector<Received> received = recorder.Wait(1);
  pair->writer()->Close();
  EXPECT_THAT(recorder.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_THAT(writer_[0]->WaitClosed(), IsOk());
  EXPECT_EQ(pool_.stats().cached_bytes, 0);  // Nothing that others see is used again.
  const frames::Frame next = Letters('b');
  EXPECT_TRUE(IsLent(received[0], 'a'));
  pair.reset();
  EXPECT_TRUE(IsLent(received[0], 'a'));
}

TEST_F(SharedWriterTest, WhoKeepsTooMuchIsSentCopiesUntilItLetsGo) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  for (int i = 0; i < 12; ++i) pair->writer()->Send(Batch(Letters('a')));
  const std::vector<Received> received = recorder.Wait(12);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(received[i].parts.empty(), i >= 8) << i;
    EXPECT_EQ(BytesOf(received[i]), BytesOf(received[0]));
  }
  EXPECT_THAT(pair->reader()->shared_stats().note, HasSubstr("this reader keeps 8"));
  EXPECT_LE(pair->writer()->shared_stats().lent_bytes, 8 * kBytes);
}

TEST_F(SharedWriterTest, WhoLetsGoIsLentAgain) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  for (int i = 0; i < 12; ++i) pair->writer()->Send(Batch(Letters('a')));
  recorder.Wait(12);
  recorder.Forget();
  ASSERT_TRUE(
      Eventually([&] { return pair->writer()->shared_stats().lent_bytes == 0; }));
  pair->writer()->Send(Batch(Letters('z')));
  EXPECT_TRUE(IsLent(recorder.Wait(1)[0], 'z'));
  EXPECT_THAT(pair->reader()->shared_stats().note, IsEmpty());
}

// Sizes that change must not leave memory behind at the reader.
TEST_F(SharedWriterTest, MappingsThatAreNotUsedAreLetGo) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  for (int i = 1; i <= 40; ++i) {
    pair->writer()->Send(Batch(Letters('a', i * kBytes / 8 + kBytes)));
    recorder.Wait(1);
    recorder.Forget();
    ASSERT_TRUE(
        Eventually([&] { return pair->writer()->shared_stats().lent_bytes == 0; }));
    pool_.Trim();
  }
  EXPECT_LE(pair->reader()->shared_stats().arenas, 8);
}

TEST_F(SharedWriterTest, BuffersOfOneRegionAreOneLoan) {
  Recorder recorder;
  const auto pair = Connect(recorder);
  core::Buffer whole = pool_.Allocate(kBytes).value();
  std::memset(whole.mutable_data(), 'p', kBytes);
  frames::Frame frame(std::string(64, 'h'),
                      {whole.Slice(0, kBytes / 2), whole.Slice(kBytes / 2, 64),
                       whole.Slice(kBytes / 2 + 64, kBytes / 4)},
                      1);
  whole = {};
  const std::string expected = BytesOf(frame);
  pair->writer()->Send(Batch(std::move(frame)));
  const std::vector<Received> received = recorder.Wait(1);
  EXPECT_EQ(received[0].parts.size(), 3);
  EXPECT_EQ(BytesOf(received[0]), expected);
  EXPECT_EQ(pair->writer()->shared_stats().lent_bytes, kBytes);
}

TEST_F(SharedWriterTest, AWorkerThatSharesNothingSaysSo) {
  Recorder near;
  Recorder far;
  SharedPair pair(SharedHostOptions{.enabled = false});
  pair.Connect(near.Events(), far.Events());
  EXPECT_FALSE(pair.WaitSharing());
  EXPECT_THAT(pair.reader()->shared_stats().note, HasSubstr("as it was told"));
  pair.writer()->Send(Batch(Letters('a')));
  EXPECT_THAT(near.Wait(1)[0].parts, IsEmpty());
}

// --- Readers that lie ---

// A writer, and a plain channel that says what no reader would.
class LyingReader {
 public:
  explicit LyingReader(std::shared_ptr<SharedHost> host) {
    auto late = std::make_shared<LateEvents>();
    auto [near, far] = carrier_.Connect(near_.Events(), LateEvents::Through(late));
    near_end_ = near;
    writer_ = std::make_shared<SharedWriter>(std::move(host), far);
    late->events = writer_->Wrap(far_.Events());
  }

  void Say(const api::ShareMessage& message) {
    near_end_->Send({.head = api::ToJson(api::ShareHead{message})});
  }

  void SayRaw(std::string head) { near_end_->Send({.head = std::move(head)}); }

  // The n-th message that came.
  api::ShareMessage Hear(size_t n) {
    const std::vector<Received> received = near_.Wait(n + 1);
    if (received.size() <= n) return {};
    return api::FromJson<api::ShareHead>(received[n].head)->shared_memory;
  }

  api::ShareAnswer Offer() {
    Say({.offer = api::ShareOffer{MachineIdentity()}});
    return Hear(0).answer.value();
  }

  // Joins as a reader does, and is lent something.
  void Join(frames::Frame frame) {
    const api::ShareAnswer answer = Offer();
    socket_ = UnixSocket::Connect(answer.socket).value();
    EXPECT_THAT(socket_->Send(answer.secret), IsOk());
    Say({.joined = true});
    EXPECT_TRUE(Eventually([&] { return writer_->shared_stats().sharing; }));
    writer_->Send({"{}", std::move(frame)});
  }

  absl::Status WaitClosed() { return far_.WaitClosed(); }

  SharedWriter& writer() { return *writer_; }

 private:
  Recorder near_;
  Recorder far_;
  std::shared_ptr<Channel> near_end_;
  std::shared_ptr<SharedWriter> writer_;
  std::optional<UnixSocket> socket_;
  InProcess carrier_;
};

TEST_F(SharedWriterTest, AReaderIsSentAwayThatReleasesTwice) {
  LyingReader reader(host_);
  reader.Join(Letters('a'));
  const api::Lending lending = reader.Hear(1).lending.value();
  reader.Say({.released = {lending.loans[0].number}});
  reader.Say({.released = {lending.loans[0].number}});
  EXPECT_THAT(reader.WaitClosed(), IsOk());
  EXPECT_EQ(reader.writer().shared_stats().lent_bytes, 0);
}

TEST_F(SharedWriterTest, AReaderIsSentAwayThatSaysWhatCannotBe) {
  const std::vector<api::ShareMessage> lies = {
      {.released = {1}},
      {.released = {-1}},
      {.joined = true},
  };
  for (const api::ShareMessage& lie : lies) {
    LyingReader reader(host_);
    reader.Say(lie);
    EXPECT_THAT(reader.WaitClosed(), IsOk());
  }
  LyingReader twice(host_);
  twice.Offer();
  twice.Say({.offer = api::ShareOffer{MachineIdentity()}});
  EXPECT_THAT(twice.WaitClosed(), IsOk());
  LyingReader raw(host_);
  raw.SayRaw(R"({"shared_memory":{"released":"all"}})");
  EXPECT_THAT(raw.WaitClosed(), IsOk());
}

TEST_F(SharedWriterTest, ALyingReaderHurtsNoOther) {
  Recorder recorder;
  const auto honest = Connect(recorder, {.writes = false});
  LyingReader liar(host_);
  liar.Join(Letters('l'));
  liar.Say({.released = {77}});
  EXPECT_THAT(liar.WaitClosed(), IsOk());
  honest->writer()->Send(Batch(Letters('a')));
  EXPECT_TRUE(IsLent(recorder.Wait(1)[0], 'a'));
}

TEST_F(SharedWriterTest, WhoDoesNotKnowTheSecretGetsNothing) {
  LyingReader reader(host_);
  const api::ShareAnswer answer = reader.Offer();
  UnixSocket socket = UnixSocket::Connect(answer.socket).value();
  EXPECT_THAT(socket.Send("a guess"), IsOk());
  reader.Say({.joined = true});
  EXPECT_THAT(reader.Hear(1).copying.value_or(""), HasSubstr("did not come"));
  EXPECT_FALSE(reader.writer().shared_stats().sharing);
}

TEST_F(SharedWriterTest, StrangersAtTheSocketDoNotKeepTheReaderOut) {
  LyingReader reader(host_);
  const api::ShareAnswer answer = reader.Offer();
  std::vector<UnixSocket> strangers;
  for (int i = 0; i < 5; ++i) {
    strangers.push_back(UnixSocket::Connect(answer.socket).value());
    if (i % 2 == 0) {
      EXPECT_THAT(strangers.back().Send("a guess"), IsOk());
    }
  }
  UnixSocket socket = UnixSocket::Connect(answer.socket).value();
  EXPECT_THAT(socket.Send(answer.secret), IsOk());
  reader.Say({.joined = true});
  EXPECT_TRUE(Eventually([&] { return reader.writer().shared_stats().sharing; }));
}

TEST_F(SharedWriterTest, AnotherUserGetsNothingEvenWithTheSecret) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  LyingReader reader(host_);
  const api::ShareAnswer answer = reader.Offer();
  const pid_t child = fork();
  if (child == 0) {
    const bool is_nobody = setresuid(65534, 65534, 65534) == 0;
    absl::StatusOr<UnixSocket> socket = UnixSocket::Connect(answer.socket);
    _exit(is_nobody && socket.ok() && socket->Send(answer.secret).ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  reader.Say({.joined = true});
  EXPECT_THAT(reader.Hear(1).copying.value_or(""), HasSubstr("another user"));
  EXPECT_FALSE(reader.writer().shared_stats().sharing);
}

TEST_F(SharedWriterTest, AnotherMachineIsToldSo) {
  LyingReader reader(host_);
  reader.Say({.offer = api::ShareOffer{"another"}});
  EXPECT_THAT(reader.Hear(0).answer->refused, HasSubstr("another machine"));
}

// A reader that takes no descriptors out of its socket is sent copies in the end.
TEST_F(SharedWriterTest, AReaderThatTakesNothingHoldsNobodyUp) {
  host_ = std::make_shared<SharedHost>(SharedHostOptions{.lent_max = 4096 * kBytes});
  core::Pool pool(core::MakeLargeSharedAllocator({.bytes_least = 1 << 16}), {});
  LyingReader reader(host_);
  reader.Join(Letters('a'));
  for (int i = 0; i < 400; ++i) {
    frames::Frame frame(std::string(64, 'h'), {pool.Allocate(1 << 16).value()}, 1);
    reader.writer().Send(Batch(std::move(frame)));
  }
  EXPECT_GT(reader.writer().shared_stats().copied_bytes, 1 << 16);
}

}  // namespace
}  // namespace millrace::transport
