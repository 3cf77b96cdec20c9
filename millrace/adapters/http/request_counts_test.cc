#include "millrace/adapters/http/request_counts.h"

#include <cstdint>
#include <map>
#include <string>

#include "gtest/gtest.h"

#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"

namespace millrace::http {
namespace {

uint64_t Counted(const std::string& route, const std::string& code) {
  const std::map<std::string, std::string> labels = {{"route", route}, {"code", code}};
  return base::ProcessMetrics()
      .AddCounter({"millrace_http_requests_total", "", labels})
      .value();
}

TEST(RequestCountsTest, CountsByRouteAndCode) {
  const Route one{.path = "/v1/one"};
  const Route two{.path = "/v1/two"};
  const uint64_t other = Counted("other", "404");
  RequestCounts counts;
  counts.Add(&one, 200);
  counts.Add(&one, 200);
  counts.Add(&one, 503);
  counts.Add(&two, 200);
  counts.Add(nullptr, 404);
  EXPECT_EQ(Counted("/v1/one", "200"), 2);
  EXPECT_EQ(Counted("/v1/one", "503"), 1);
  EXPECT_EQ(Counted("/v1/two", "200"), 1);
  EXPECT_EQ(Counted("other", "404"), other + 1);
}

TEST(RequestCountsTest, ServersOfOneProcessCountTogether) {
  const Route here{.path = "/v1/both"};
  const Route there{.path = "/v1/both"};
  RequestCounts first;
  RequestCounts second;
  first.Add(&here, 200);
  second.Add(&there, 200);
  EXPECT_EQ(Counted("/v1/both", "200"), 2);
}

}  // namespace
}  // namespace millrace::http
