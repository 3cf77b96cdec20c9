// A worker's side of delivery for tests: what is said to it, and what it does, in
// words.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/text.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {

using base::MakeId;
using base::ToNumber;

// --- Actions in words ---

inline std::string Words(const StartRun& start) {
  return base::StrCat("start run ", ToNumber(start.run), " of lane ",
                      start.lane.at.lane, " at ", start.from);
}

inline std::string Words(const StopRun& stop) {
  return base::StrCat("stop run ", ToNumber(stop.run));
}

inline std::string Words(const Pull& pull) {
  return base::StrCat("pull run ", ToNumber(pull.run));
}

inline std::string Words(const Hurry& hurry) {
  return base::StrCat("hurry run ", ToNumber(hurry.run));
}

inline std::string Words(const SendBatch& send) {
  return base::StrCat("send ", ToNumber(send.reader), " rows ", send.head.begin, " to ",
                      send.head.end, " of lane ", send.head.at.lane);
}

inline std::string Words(const SendEnd& send) {
  return base::StrCat("tell ", ToNumber(send.reader), " that lane ", send.end.at.lane,
                      " has ", send.end.rows);
}

inline std::string Words(const SendSkip& send) {
  return base::StrCat("tell ", ToNumber(send.reader), " that lane ", send.skip.at.lane,
                      " skips ", send.skip.begin, " to ", send.skip.end);
}

inline std::string Words(const SendFailure& send) {
  return base::StrCat("tell ", ToNumber(send.reader), " of ", send.failure.error.code,
                      ": ", send.failure.error.message);
}

inline std::string Words(const Refuse& refuse) {
  return base::StrCat("refuse ", ToNumber(refuse.reader), ": ", refuse.reason);
}

inline std::string Words(const Drop& drop) {
  return base::StrCat("drop block ", ToNumber(drop.token));
}

inline std::vector<std::string> Actions(LaneServer& server) {
  std::vector<std::string> words;
  for (const ServerAction& action : server.TakeActions()) {
    if (std::holds_alternative<Hurry>(action)) continue;  // Changes nothing but when.
    words.push_back(std::visit([](const auto& one) { return Words(one); }, action));
  }
  return words;
}

// --- What is said to a worker ---

inline JobLane LaneOf(int64_t lane) { return {1, 1, {0, lane}}; }

inline ReaderId Reader(int64_t number) { return MakeId<ReaderId>(number); }

// A reader comes: a member of the only consumer.
inline void Hello(LaneServer& server, int64_t reader, int64_t member = 0,
                  int64_t members = 1) {
  server.OnHello(Reader(reader), {1, 1, 0, member, 1}, members);
}

// Wants rows of lane 5, in a batch of their own.
inline void Want(LaneServer& server, int64_t reader, int64_t begin, int64_t end) {
  server.OnMessage(Reader(reader), {{}, {}, {{{0, 5}, begin, end, begin}}});
}

inline void Forget(LaneServer& server, int64_t reader) {
  server.OnMessage(Reader(reader), {{}, {{0, 5}}, {}});
}

// A run has made rows; their block has the number of the first, a row takes a byte.
inline void Make(LaneServer& server, int64_t run, int64_t begin, int64_t end,
                 bool tail = false) {
  Made made{begin,
            end,
            tail,
            end - begin,
            DigestAt(5, begin),
            DigestAt(5, end),
            MakeId<Token>(begin)};
  server.OnMade(MakeId<RunId>(run), made);
}

// Lane 5 is run, and nothing has been said of it yet.
inline LaneServer Running(const LaneServerOptions& options = {}, int64_t members = 1) {
  LaneServer server(options);
  server.Assign(LaneOf(5), {.members = members});
  for (int64_t member = 0; member < members; ++member) {
    Hello(server, member, member, members);
  }
  server.TakeActions();
  return server;
}

// A lane that all have had, all of it.
inline LaneServer Done(int64_t members = 1) {
  LaneServer server = Running({}, members);
  for (int64_t member = 0; member < members; ++member) Want(server, member, 0, 4);
  Make(server, 0, 0, 4);
  server.OnEnded(MakeId<RunId>(0), 4);
  server.TakeActions();
  return server;
}

}  // namespace millrace::delivery
