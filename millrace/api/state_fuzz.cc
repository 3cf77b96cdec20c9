// Feeds the reader of states anything, and goes on from what it takes: in each order,
// over lanes that fit or do not. What is refused is refused with an error; what is
// taken gives rows of these lanes, each once.

#include "millrace/api/state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/json_mutations_test.h"
#include "millrace/base/check.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::api {
namespace {

constexpr int64_t kTracks = 4;

void CheckRest(const lanes::Rest& rest, const std::vector<int64_t>& lane_rows) {
  std::set<std::pair<int64_t, int64_t>> rows;
  const auto add = [&](const lanes::LaneRange& range) {
    CHECK_GE(range.lane, 0);
    CHECK_LT(range.lane, std::ssize(lane_rows));
    CHECK_GE(range.begin, 0);
    CHECK_LT(range.begin, range.end);
    CHECK_LE(range.end, lane_rows[range.lane]);
    if (range.end == lanes::kRowsMax) return;
    for (int64_t row = range.begin; row < range.end; ++row) {
      CHECK(rows.emplace(range.lane, row).second) << range.lane << " " << row;
    }
  };
  for (const lanes::Track& track : rest.tracks) {
    for (const lanes::LaneRange& range : track.carry) add(range);
    for (const lanes::LaneRange& range : track.lanes) add(range);
  }
  CHECK_GE(rest.turn, 0);
  CHECK_LT(rest.turn, std::ssize(rest.tracks));
}

void GoOn(const lanes::State& state, const std::vector<int64_t>& lane_rows,
          const lanes::OrderRecord& record) {
  const absl::StatusOr<lanes::Rest> rest = lanes::Resume(state, lane_rows, record);
  if (!rest.ok()) return;
  CheckRest(*rest, lane_rows);
  const bool known = std::ranges::none_of(
      lane_rows, [](int64_t rows) { return rows == lanes::kRowsMax; });
  if (!known) return;
  const auto order = lanes::MakeOrder(record.kind, *rest, {.rows = 3});
  int64_t rows = 0;
  for (int64_t i = 0; i < order->positions(); ++i) {
    for (const lanes::LaneRange& range : order->At(i)) rows += range.rows();
  }
  CHECK_EQ(rows, rest->rows());
}

void TakeUp(const lanes::State& state, const std::vector<int64_t>& lane_rows) {
  GoOn(state, lane_rows, {lanes::OrderKind::kLogical, 1});
  GoOn(state, lane_rows, {lanes::OrderKind::kFixed, kTracks});
  const absl::StatusOr<lanes::Taken> taken = lanes::TakenOf(state, lane_rows);
  if (!taken.ok()) return;
  for (int64_t lane = 0; lane < std::ssize(lane_rows); ++lane) {
    for (const lanes::LaneRange& range : taken->Open(lane)) {
      CHECK_GE(range.begin, 0);
      CHECK_LE(range.begin, range.end);
    }
  }
  lanes::State written = state;
  lanes::SetTaken(written, *taken);
  const absl::StatusOr<lanes::Taken> again = lanes::TakenOf(written, lane_rows);
  CHECK(again.ok()) << again.status();
  CHECK(*again == *taken);
}

}  // namespace
}  // namespace millrace::api

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return millrace::api::MutateJson(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace api = millrace::api;
  namespace lanes = millrace::lanes;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<lanes::State> state = api::StateFromJson(text);
  if (!state.ok()) return 0;
  const std::string written = api::StateToJson(*state);
  const absl::StatusOr<lanes::State> again = api::StateFromJson(written);
  CHECK(again.ok()) << again.status() << " of " << written;
  CHECK(*again == *state) << written;
  (void)lanes::ToString(*state);
  api::TakeUp(*state, {10, 7, 10, 3, 10, 10});
  api::TakeUp(*state, std::vector<int64_t>(6, lanes::kRowsMax));
  (void)api::JoinStates({std::string(text), std::string(text)});
  return 0;
}
