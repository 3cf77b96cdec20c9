#include "millrace/cli/service_flags.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/server.h"
#include "millrace/base/status_matchers.h"
#include "millrace/cli/variable_test.h"

namespace millrace::cli {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

std::string TokenFile(const std::string& text) {
  const std::string path = testing::TempDir() + "service_flags_test_token";
  std::ofstream(path) << text;
  return path;
}

// What a command line sets.
ServiceFlags Parsed(std::vector<std::string> arguments) {
  ServiceFlags flags;
  CLI::App command;
  AddServiceFlags(command, flags);
  command.parse(std::move(arguments));
  return flags;
}

TEST(ServiceFlagsTest, WithoutFlagsThereIsNoTokenAndNoTls) {
  const absl::StatusOr<http::ServerOptions> server = ServerOptionsOf("host:12", {});
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ(server->host, "host");
  EXPECT_EQ(server->port, 12);
  EXPECT_EQ(server->token, "");
  EXPECT_FALSE(server->tls.has_value());
  const absl::StatusOr<http::ClientOptions> client = ClientOptionsOf({});
  ASSERT_THAT(client, IsOk());
  EXPECT_EQ(client->token, "");
  EXPECT_FALSE(client->tls.has_value());
}

TEST(ServiceFlagsTest, TheTokenIsReadFromItsFileWithoutLineEnds) {
  const std::string path = TokenFile("secret\n");
  const Variable variable("MILLRACE_TOKEN", "another");
  const ServiceFlags flags = Parsed({"--token-file=" + path});
  EXPECT_EQ(ServerOptionsOf("host:1", flags)->token, "secret");
  EXPECT_EQ(ClientOptionsOf(flags)->token, "secret");
  std::filesystem::remove(path);
}

TEST(ServiceFlagsTest, OrFromTheEnvironment) {
  const Variable variable("MILLRACE_TOKEN", "shared");
  EXPECT_EQ(ServerOptionsOf("host:1", {})->token, "shared");
  EXPECT_EQ(ClientOptionsOf({})->token, "shared");
}

TEST(ServiceFlagsTest, ATokenFileThatIsMissingIsNamed) {
  const ServiceFlags flags = Parsed({"--token-file=nowhere/token"});
  EXPECT_THAT(ServerOptionsOf("host:1", flags),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere/token")));
  EXPECT_THAT(ClientOptionsOf(flags),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere/token")));
}

TEST(ServiceFlagsTest, AnEmptyTokenFileIsNoToken) {
  const std::string path = TokenFile("\n");
  EXPECT_THAT(ServerOptionsOf("host:1", Parsed({"--token-file=" + path})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(path)));
  std::filesystem::remove(path);
}

TEST(ServiceFlagsTest, AnyFileOfTlsTurnsItOn) {
  for (const std::string flag : {"--certificate", "--key", "--ca"}) {
    const ServiceFlags flags = Parsed({flag + "=some.pem"});
    EXPECT_TRUE(ServerOptionsOf("host:1", flags)->tls.has_value()) << flag;
    EXPECT_TRUE(ClientOptionsOf(flags)->tls.has_value()) << flag;
  }
  const absl::StatusOr<http::ServerOptions> server = ServerOptionsOf(
      "host:1", Parsed({"--certificate=a.pem", "--key=b.pem", "--ca=c.pem"}));
  ASSERT_THAT(server, IsOk());
  ASSERT_TRUE(server->tls.has_value());
  EXPECT_EQ(server->tls->certificate_file, "a.pem");
  EXPECT_EQ(server->tls->key_file, "b.pem");
  EXPECT_EQ(server->tls->ca_file, "c.pem");
}

TEST(ServiceFlagsTest, EveryFlagIsAlsoAVariable) {
  const Variable token("MILLRACE_TOKEN_FILE", "t");
  const Variable certificate("MILLRACE_CERTIFICATE", "a");
  const Variable key("MILLRACE_KEY", "b");
  const Variable ca("MILLRACE_CA", "c");
  const ServiceFlags flags = Parsed({});
  EXPECT_EQ(flags.token_file, "t");
  EXPECT_EQ(flags.tls.certificate_file, "a");
  EXPECT_EQ(flags.tls.key_file, "b");
  EXPECT_EQ(flags.tls.ca_file, "c");
}

TEST(ServiceFlagsTest, SignalsWaitToBeAskedFor) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  HoldSignals();
  EXPECT_FALSE(SignalCame());
  for (const int signal : {SIGTERM, SIGINT}) {
    raise(signal);
    EXPECT_TRUE(SignalCame()) << signal;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ServiceFlagsTest, ATokenIsMadeOnceForThisUserAlone) {
  ServiceFlags flags;
  EXPECT_THAT(MakeToken(flags), IsOk()) << "none is asked for";
  flags.token_file = testing::TempDir() + "service_flags_test_made";
  std::filesystem::remove(flags.token_file);
  ASSERT_THAT(MakeToken(flags), IsOk());
  EXPECT_EQ(std::filesystem::status(flags.token_file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string token = ClientOptionsOf(flags)->token;
  EXPECT_EQ(token.size(), 64);
  ASSERT_THAT(MakeToken(flags), IsOk());
  EXPECT_EQ(ClientOptionsOf(flags)->token, token) << "it stays";
  std::filesystem::remove(flags.token_file);
  ASSERT_THAT(MakeToken(flags), IsOk());
  EXPECT_NE(ClientOptionsOf(flags)->token, token) << "another each time";
  flags.token_file = testing::TempDir() + "no such folder/token";
  EXPECT_THAT(MakeToken(flags),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no such folder/token")));
}

}  // namespace
}  // namespace millrace::cli
