// What docs/metrics.md lists is what the processes of a service count, and nothing
// else.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/base/check.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/cli/program_test.h"

namespace millrace::cli {
namespace {

using Kinds = std::map<std::string, std::string>;  // By the metric's name.

// What the page lists under these titles of tables.
Kinds Listed(const std::vector<std::string>& titles) {
  std::ifstream in(base::SourcePath("docs/metrics.md"));
  Kinds kinds;
  bool wanted = false;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4) continue;
    const std::string& first = cells[1];
    if (first.find('`') == std::string::npos) {
      if (first.find("---") != std::string::npos) continue;
      wanted = false;
      for (const std::string& title : titles) wanted |= first == " " + title + " ";
    } else if (wanted) {
      const size_t begin = first.find('`') + 1;
      const std::string name =
          first.substr(begin, first.find_first_of("`{", begin) - begin);
      kinds[name] = std::string(absl::StripAsciiWhitespace(cells[2]));
    }
  }
  return kinds;
}

std::string PageOf(const std::string& address) {
  const std::unique_ptr<http::Client> client = http::Client::Make({}).value();
  const auto get = [&](const std::string& path) {
    return client->CallAndWait(
        {.address = http::ReadAddress(address).value(), .method = "GET", .path = path});
  };
  CHECK(get("/healthz").ok());
  CHECK(Eventually([&] { return get("/readyz").ok(); }));
  return get("/metrics").value().body;
}

// What a page of Prometheus' text has.
Kinds Counted(const std::string& page) {
  Kinds kinds;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 4 && words[1] == "TYPE") kinds[words[2]] = words[3];
  }
  return kinds;
}

double ValueOf(const std::string& page, const std::string& name) {
  const size_t at = page.find(base::StrCat("\n", name, " "));
  CHECK_NE(at, std::string::npos) << name;
  return std::stod(page.substr(at + name.size() + 2));
}

TEST(MetricsTest, ThePageListsAllThatIsCounted) {
  Program dispatcher({"dispatcher", "--listen", "127.0.0.1:0"});
  const std::string address = dispatcher.Address();
  Program worker({"worker", "--join", address, "--threads", "1"});
  const std::string worker_address = worker.Address();
  const base::TemporaryFolder folder;
  const std::string file =
      folder.Write("pipeline", "%0 = range(stop=100)\n%1 = batch(%0, size=10)\n");
  EXPECT_THAT(OutputOf(base::StrCat(ProgramFolder(), "/millrace run --service ",
                                    address, " ", file)),
              testing::EndsWith("10 batches\n"));
  EXPECT_EQ(Counted(PageOf(address)), Listed({"of every process", "of a dispatcher"}));
  const std::string page = PageOf(worker_address);
  EXPECT_EQ(Counted(page), Listed({"of every process", "of a worker"}));
  EXPECT_EQ(ValueOf(page, "millrace_worker_joined"), 1);
  EXPECT_GE(ValueOf(page, "millrace_worker_batches_sent_total"), 10);
  EXPECT_GE(ValueOf(page, "millrace_worker_bytes_sent_total"), 800);
  EXPECT_GE(ValueOf(page, "millrace_worker_lanes_begun_total"), 1);
  EXPECT_EQ(ValueOf(page, "millrace_worker_lanes_failed_total"), 0);
}

TEST(MetricsTest, AWorkerIsReadyOnceItHasJoined) {
  Program worker({"worker", "--join", "127.0.0.1:1"});
  const http::Address address = http::ReadAddress(worker.Address()).value();
  const std::unique_ptr<http::Client> client = http::Client::Make({}).value();
  const auto status = [&](const std::string& path) {
    return client
        ->CallAndWait(
            {.address = address, .method = "GET", .path = path, .attempts_max = 1})
        .status();
  };
  EXPECT_TRUE(status("/healthz").ok());
  EXPECT_THAT(std::string(status("/readyz").message()),
              testing::HasSubstr("waits for a dispatcher at 127.0.0.1:1"));
}

}  // namespace
}  // namespace millrace::cli
