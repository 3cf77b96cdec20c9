#include "millrace/bench/peer.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/bench/scripts_test.h"
#include "millrace/bench/workload.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class PeerTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Peer>> Started(std::string_view script) const {
    return Peer::Start(WithScript(folder_, script), "work", {"a b", "7"});
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(PeerTest, WorksAgainEachTimeItIsAsked) {
  const std::unique_ptr<Peer> peer = Started(kCounts).value();
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(1));
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(2));
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(3));
}

TEST_F(PeerTest, IsGivenItsProgramAndArguments) {
  const std::unique_ptr<Peer> peer =
      Started("echo ready; read line; echo \"$line: $1, $2, $3, $#\"").value();
  EXPECT_THAT(peer->Rate(),
              StatusIs(absl::StatusCode::kUnknown,
                       HasSubstr("go: millrace/bench/peers/work.py, a b, 7, 3")));
}

TEST_F(PeerTest, RatesAreNumbersOfEveryKind) {
  const std::unique_ptr<Peer> peer =
      Started("echo ready; read a; echo 0.5; read a; echo 1.25e+06").value();
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(0.5));
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(1'250'000));
}

TEST_F(PeerTest, WhatIsNotInstalledIsSaidByThePeer) {
  EXPECT_THAT(Started("echo dali is not installed; exit 3"),
              StatusIs(absl::StatusCode::kNotFound, "dali is not installed"));
}

TEST_F(PeerTest, AProgramThatCannotBeRunIsNamed) {
  BenchOptions options = WithScript(folder_, "");
  options.python = folder_ / "no such python";
  EXPECT_THAT(Peer::Start(options, "work", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
}

TEST_F(PeerTest, APeerThatSaysNothingIsNamed) {
  EXPECT_THAT(Started("exit 1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
  EXPECT_THAT(Started("printf ready"),  // Not to the end of the line.
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
}

TEST_F(PeerTest, NonsenseIsNamed) {
  for (const std::string nonsense : {"fast", "", "1 2", "12 rows/s"}) {
    const std::unique_ptr<Peer> peer =
        Started(
            base::StrCat("echo ready; while read a; do echo '", nonsense, "'; done"))
            .value();
    EXPECT_THAT(peer->Rate(),
                StatusIs(absl::StatusCode::kUnknown,
                         AllOf(HasSubstr("peer work says"), HasSubstr(nonsense))));
  }
}

TEST_F(PeerTest, APeerThatFailsAtWorkIsNamed) {
  const std::unique_ptr<Peer> peer =
      Started("echo ready; read a; echo 5; read a; exit 1").value();
  EXPECT_THAT(peer->Rate(), IsOkAndHolds(5));
  EXPECT_THAT(peer->Rate(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
}

// Nobody reads what it is told then: an error, not the end of this process.
TEST_F(PeerTest, APeerThatIsGoneIsNamed) {
  const std::string gone = folder_ / "gone";
  const std::unique_ptr<Peer> peer =
      Started(base::StrCat("echo ready; exec 0<&-; : > '", gone, "'; sleep 0.2"))
          .value();
  while (!std::filesystem::exists(gone)) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_THAT(peer->Rate(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("peer work ended")));
}

TEST_F(PeerTest, EndsWithItsOwner) {
  const std::string ended = folder_ / "ended";
  {
    const std::unique_ptr<Peer> peer =
        Started(base::StrCat(kCounts, "; : > '", ended, "'")).value();
    EXPECT_THAT(peer->Rate(), IsOkAndHolds(1));
    EXPECT_FALSE(std::filesystem::exists(ended));
  }
  EXPECT_TRUE(std::filesystem::exists(ended));
}

}  // namespace
}  // namespace millrace::bench
