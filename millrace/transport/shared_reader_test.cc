// A reader whose worker says what it likes. That of honest ones is in
// shared_writer_test.cc.
#include "millrace/transport/shared_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/json.h"
#include "millrace/api/shared_memory.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/in_process.h"
#include "millrace/transport/machine_identity.h"
#include "millrace/transport/recorder_test.h"
#include "millrace/transport/unix_socket.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr int64_t kBytes = int64_t{1} << 20;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class SharedReaderTest : public testing::Test {
 protected:
  SharedReaderTest() {
    auto [near, far] = carrier_.Connect(reader_->Wrap(near_.Events()), far_.Events());
    far_end_ = far;
    reader_->Begin(near);
    reader_->Offer();
  }

  void Say(const api::ShareMessage& message) {
    far_end_->Send({.head = api::ToJson(api::ShareHead{message})});
  }

  // What the reader said as its n-th message.
  api::ShareMessage Hear(size_t n) {
    const std::vector<Received> received = far_.Wait(n + 1);
    if (received.size() <= n) return {};
    return api::FromJson<api::ShareHead>(received[n].head)->shared_memory;
  }

  // Lets the reader in. `before`: messages it has sent by then.
  void Answer(size_t before = 1) {
    const std::string name = base::StrCat("millrace-reader-test-", getpid());
    UnixSocket listener = UnixSocket::Listen(name).value();
    EXPECT_EQ(Hear(0).offer->machine, MachineIdentity());
    Say({.answer = api::ShareAnswer{name, "secret"}});
    EXPECT_TRUE(Hear(before).joined);
    socket_ = *listener.Accept().value();
    EXPECT_EQ(socket_->Receive()->bytes, "secret");
  }

  // Shows memory, and gives what lends a piece of it.
  api::Lending Shown() {
    EXPECT_THAT(socket_->Send("1", memory_.storage()->region().descriptor), IsOk());
    return {.arenas = {{.number = 1, .bytes = kBytes, .writable = true}},
            .head_bytes = 64,
            .loans = {{.number = 1, .arena = 1}},
            .pieces = {{.before = 0, .loan = 0, .offset = 64, .bytes = 128}}};
  }

  void Lend(const api::Lending& lending) {
    Say({.lending = lending});
    far_end_->Send({"{}", frames::Frame(std::string(64, 'h'), {}, 1)});
  }

  void ExpectLie() {
    EXPECT_FALSE(near_.WaitClosed().ok());
    EXPECT_TRUE(reader_->betrayed());
    EXPECT_EQ(near_.Wait(1).size(), 0);
  }

  core::Pool pool_{core::MakeLargeSharedAllocator(), {}};
  core::Buffer memory_ = pool_.Allocate(kBytes).value();
  Recorder near_;
  Recorder far_;
  std::optional<UnixSocket> socket_;
  std::shared_ptr<SharedReader> reader_ =
      std::make_shared<SharedReader>(SharedReaderOptions{});
  std::shared_ptr<Channel> far_end_;
  InProcess carrier_;
};

TEST_F(SharedReaderTest, WhatAnHonestWorkerLendsIsRead) {
  Answer();
  std::memset(memory_.mutable_data(), 'm', kBytes);
  Lend(Shown());
  const std::vector<Received> received = near_.Wait(1);
  ASSERT_EQ(received.size(), 1);
  ASSERT_EQ(received[0].parts.size(), 1);
  EXPECT_EQ(received[0].parts[0].text(), std::string(128, 'm'));
}

// What it asks for can be lent: the worker hears of it after "joined".
TEST_F(SharedReaderTest, WhatIsSentWaitsForTheAnswer) {
  reader_->Send({.head = "wants"});
  EXPECT_EQ(far_.Wait(1).size(), 1);  // The offer.
  Answer();
  reader_->Send({.head = "more"});
  const std::vector<Received> heard = far_.Wait(4);
  ASSERT_EQ(heard.size(), 4);
  EXPECT_EQ(heard[2].head, "wants");
  EXPECT_EQ(heard[3].head, "more");
}

TEST_F(SharedReaderTest, WhatIsSentGoesOutWhereSharingIsRefused) {
  reader_->Send({.head = "wants"});
  Say({.answer = api::ShareAnswer{.refused = "not here"}});
  const std::vector<Received> heard = far_.Wait(2);
  ASSERT_EQ(heard.size(), 2);
  EXPECT_EQ(heard[1].head, "wants");
}

TEST_F(SharedReaderTest, WhatIsSentGoesOutToAWorkerThatSaysNothing) {
  reader_->Send({.head = "wants"});
  reader_->StopWaiting();
  const std::vector<Received> heard = far_.Wait(2);
  ASSERT_EQ(heard.size(), 2);
  EXPECT_EQ(heard[1].head, "wants");
  Answer(2);  // Late.
  EXPECT_TRUE(reader_->shared_stats().sharing);
}

TEST_F(SharedReaderTest, AReleaseIsSaidOnceWhenTheLastHolderIsGone) {
  Answer();
  api::Lending lending = Shown();
  lending.pieces.push_back({.before = 0, .loan = 0, .offset = 512, .bytes = 100});
  Lend(lending);
  std::vector<Received> received = near_.Wait(1);
  core::Buffer kept = received[0].parts[1].Slice(0, 1);
  received.clear();
  near_.Forget();
  far_end_->Send({.head = "{}"});
  near_.Wait(1);
  EXPECT_EQ(far_.Wait(2).size(), 2);
  kept = {};
  EXPECT_EQ(Hear(2).released, std::vector<int64_t>{1});
}

// Each is wrong in one way.
TEST_F(SharedReaderTest, ALieEndsTheChannel) {
  using Lie = std::function<void(api::Lending&)>;
  const std::vector<Lie> lies = {
      [](auto& l) { l.arenas[0].number = 2; },
      [](auto& l) { l.arenas[0].bytes = kBytes / 2; },
      [](auto& l) { l.arenas[0].bytes = kMost; },
      [](auto& l) { l.arenas.push_back(l.arenas[0]); },
      [](auto& l) { l.dropped = {1}; },
      [](auto& l) { l.loans[0].arena = 2; },
      [](auto& l) { l.loans[0].number = 0; },
      [](auto& l) { l.loans.push_back(l.loans[0]); },
      [](auto& l) { l.pieces[0].loan = 1; },
      [](auto& l) { l.pieces[0].loan = -1; },
      [](auto& l) { l.pieces[0].offset = kBytes; },
      [](auto& l) { l.pieces[0].offset = -64; },
      [](auto& l) { l.pieces[0].offset = 8; },
      [](auto& l) { l.pieces[0].offset = kMost - 63; },
      [](auto& l) { l.pieces[0].bytes = kBytes; },
      [](auto& l) { l.pieces[0].bytes = 0; },
      [](auto& l) { l.pieces[0].bytes = kMost; },
      [](auto& l) { l.pieces[0].before = 64; },
      [](auto& l) { l.pieces[0].before = -64; },
      [](auto& l) { l.pieces[0].before = kMost - 63; },
      [](auto& l) { l.head_bytes = 128; },
      [](auto& l) { l.head_bytes = -64; },
      [](auto& l) { l.head_bytes = 8; },
      [](auto& l) { l.pieces.resize(2000, l.pieces[0]); },
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    SCOPED_TRACE(i);

    class One : public SharedReaderTest {
     public:
      void TestBody() override {}

      void Run(const Lie& lie) {
        Answer();
        api::Lending lending = Shown();
        lie(lending);
        Lend(lending);
        ExpectLie();
      }
    };

    One().Run(lies[i]);
  }
}

TEST_F(SharedReaderTest, LendingBeforeJoiningIsALie) {
  Lend({.loans = {{1, 1}}, .pieces = {{0, 0, 0, 64}}});
  ExpectLie();
}

TEST_F(SharedReaderTest, AnAnswerThatNobodyAskedForIsALie) {
  Answer();
  Say({.answer = api::ShareAnswer{"name", "secret"}});
  ExpectLie();
}

TEST_F(SharedReaderTest, WhatIsNoJsonIsALie) {
  far_end_->Send({.head = R"({"shared_memory":)"});
  ExpectLie();
}

TEST_F(SharedReaderTest, MemoryThatCouldShrinkIsALie) {
  Answer();
  const base::Descriptor open(memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(open.number(), kBytes), 0);
  ASSERT_THAT(socket_->Send("1", open.number()), IsOk());
  Lend({.arenas = {{.number = 1, .bytes = kBytes}}});
  ExpectLie();
}

TEST_F(SharedReaderTest, AMessageWithoutADescriptorIsALie) {
  Answer();
  ASSERT_THAT(socket_->Send("1"), IsOk());
  Lend({.arenas = {{.number = 1, .bytes = kBytes}}});
  ExpectLie();
}

TEST_F(SharedReaderTest, ASocketThatIsNotThereIsNoLie) {
  Say({.answer = api::ShareAnswer{"millrace-no-such", "secret"}});
  far_end_->Send({.head = "{}"});
  EXPECT_EQ(near_.Wait(1).size(), 1);
  EXPECT_FALSE(reader_->betrayed());
  EXPECT_FALSE(reader_->shared_stats().sharing);
  EXPECT_THAT(reader_->shared_stats().note, HasSubstr("connecting"));
}

TEST_F(SharedReaderTest, AWorkerThatKnowsNothingOfItIsReadAsEver) {
  far_end_->Send({"{}", frames::Frame(std::string(64, 'h'), {}, 1)});
  const std::vector<Received> received = near_.Wait(1);
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(received[0].payload.size(), 64);
  EXPECT_EQ(reader_->shared_stats().copied_bytes, 64);
}

}  // namespace
}  // namespace millrace::transport
