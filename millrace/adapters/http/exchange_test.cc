#include "millrace/adapters/http/exchange.h"

#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;

TEST(ExchangeTest, EveryErrorComesBackAsItWas) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code), "what: \"why\"\n");
    const Response response = ErrorResponse(error);
    EXPECT_GE(response.code, 400);
    EXPECT_EQ(StatusOf(response), error) << response.body;
  }
}

TEST(ExchangeTest, ReadsAddresses) {
  for (const auto& [text, host, port] :
       {std::tuple{"127.0.0.1:7171", "127.0.0.1", 7171},
        std::tuple{"dispatcher.example:0", "dispatcher.example", 0},
        std::tuple{"host:65535", "host", 65'535},
        std::tuple{"[::1]:7400", "::1", 7400}}) {
    const absl::StatusOr<Address> address = ReadAddress(text);
    ASSERT_THAT(address, IsOk()) << text;
    EXPECT_EQ(*address, (Address{host, port}));
    EXPECT_EQ(ToString(*address), text);
  }
}

TEST(ExchangeTest, RefusesWhatIsNoAddress) {
  for (const std::string text : {"", "host", ":7171", "host:", "host:port", "host:-1",
                                 "host:65536", "::1:7400", "[]:1", "a:b:1"}) {
    EXPECT_THAT(
        ReadAddress(text),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 testing::HasSubstr(base::StrCat("127.0.0.1:7171, not ", text))));
  }
}

TEST(ExchangeTest, CodesOfHttpHaveAMeaning) {
  const auto code_of = [](int http_code) {
    return StatusOf({.code = http_code, .body = "<html>"}).code();
  };
  EXPECT_THAT(StatusOf({.code = 204}), IsOk());
  EXPECT_EQ(code_of(404), absl::StatusCode::kNotFound);
  EXPECT_EQ(code_of(413), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of(415), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(418), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(502), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_of(599), absl::StatusCode::kUnknown);
  EXPECT_THAT(StatusOf({.code = 503, .body = R"({"code":"??","message":"later"})"}),
              StatusIs(absl::StatusCode::kUnavailable, "later"));
}

TEST(ExchangeTest, HeadersAreFoundInAnyCase) {
  const std::vector<Header> headers = {{"Host", "a"}, {"x-y", "b"}};
  EXPECT_EQ(Find(headers, "X-Y"), "b");
  EXPECT_EQ(Find(headers, "none"), "");
}

TEST(ExchangeTest, AddressesOfTheSixthVersionHaveBrackets) {
  EXPECT_EQ(ToString(Address{"::1", 80}), "[::1]:80");
  EXPECT_EQ(ToString(Address{"worker-7", 7400}), "worker-7:7400");
}

TEST(ExchangeTest, WritesWhatHttpSays) {
  EXPECT_EQ(ToBytes(Response{.body = "{}"}, false),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
  Request request;
  request.method = "POST";
  request.path = "/v1/x";
  request.query = "a=1";
  request.headers = {{"X", "y"}};
  request.body = "{}";
  EXPECT_EQ(ToBytes(request, {"::1", 80}),
            "POST /v1/x?a=1 HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 2\r\n"
            "Content-Type: application/json\r\nX: y\r\n\r\n{}");
}

}  // namespace
}  // namespace millrace::http
