// Feeds the reader of described structs anything. What it takes, it writes so that it
// reads back as the same.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <boost/describe.hpp>

#include "millrace/api/json.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"

namespace millrace::api {
namespace {

enum class Visit : uint8_t { kExactlyOnce, kAtMostOnce, kOff };

BOOST_DESCRIBE_ENUM(Visit, kExactlyOnce, kAtMostOnce, kOff)

enum class WorkerId : int64_t {};

struct Worker {
  WorkerId id = {};
  std::string address = {};
  base::Bytes memory = {};
  std::optional<std::string> tag = {};
};

BOOST_DESCRIBE_STRUCT(Worker, (), (id, address, memory, tag))

// Has a member of every kind.
struct Request {
  bool on = false;
  int32_t port = 0;
  uint64_t seed = 0;
  double rate = 0;
  Visit visit = Visit::kOff;
  std::optional<Visit> later = {};
  base::Hash128 digest = {};
  base::Sha256 content = {};
  std::vector<Worker> workers = {};
  std::map<std::string, int64_t> counts = {};
  std::map<std::string, Worker> by_name = {};
};

BOOST_DESCRIBE_STRUCT(Request, (),
                      (on, port, seed, rate, visit, later, digest, content, workers,
                       counts, by_name))

}  // namespace
}  // namespace millrace::api

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::api::FromJson;
  using millrace::api::Request;
  using millrace::api::ToJson;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = FromJson<Request>(text);
  if (!request.ok()) {
    CHECK(absl::IsInvalidArgument(request.status())) << request.status();
    return 0;
  }
  const std::string written = ToJson(*request);
  auto again = FromJson<Request>(written);
  CHECK(again.ok()) << again.status() << " of " << written;
  // Boost.JSON reads a double to within its last bits.
  const double off = std::abs(again->rate - request->rate);
  CHECK(again->rate == request->rate || off <= 1e-14 * std::abs(request->rate) + 1e-300)
      << written;
  again->rate = request->rate;
  CHECK_EQ(ToJson(*again), written);
  return 0;
}
