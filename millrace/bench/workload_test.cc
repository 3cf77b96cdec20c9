// Workloads over data that is there already, and so small: what they give is lines.

#include "millrace/bench/workload.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/scripts_test.h"
#include "millrace/kernels/example/messages.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOk;
using testing::AnyOf;
using testing::HasSubstr;

class WorkloadTest : public testing::Test {
 protected:
  // Writes ten records of the features that are parsed.
  void WriteExamples() const {
    std::vector<kernels::NamedFeature> features;
    features.reserve(10);
    for (int i = 0; i < 6; ++i) {
      features.emplace_back(base::StrCat("int", i), kernels::Ints({i}));
    }
    for (int i = 0; i < 2; ++i) {
      features.emplace_back(base::StrCat("float", i),
                            kernels::Floats(std::vector<float>(16, 0.5F)));
      features.emplace_back(base::StrCat("text", i), kernels::Texts({"word"}));
    }
    std::string records;
    for (int i = 0; i < 10; ++i) records += TfrecordFrame(kernels::ExampleOf(features));
    folder_.Write("examples.tfrecord", records);
  }

  // One line, measured beside a script that counts.
  Line RunBesideCounts(
      absl::StatusOr<std::vector<Line>> (*run)(const BenchOptions&)) const {
    const absl::StatusOr<std::vector<Line>> lines = run(WithScript(folder_, kCounts));
    EXPECT_THAT(lines, IsOk());
    return lines.ok() && lines->size() == 1 ? lines->at(0) : Line();
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(WorkloadTest, EachHasANameAndASuite) {
  std::set<std::string> names;
  for (const Workload& workload : Workloads()) {
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
    EXPECT_THAT(workload.suite, AnyOf("engine", "breadth", "service", "sharing"));
    EXPECT_NE(workload.run, nullptr);
  }
}

TEST_F(WorkloadTest, JsonIsMeasuredByItsBytes) {
  folder_.Write("rows.jsonl",
                "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": \"\"}\n");
  const Line line = RunBesideCounts(RunJsonl);
  EXPECT_GT(line.ours, 0);
  EXPECT_EQ(line.limit, 1e9);
  EXPECT_THAT(line.unit, HasSubstr("bytes/s"));
}

TEST_F(WorkloadTest, CsvIsMeasuredBesideItsPeer) {
  folder_.Write("rows.csv", "c0,c1\n1,0.5\n2,1.5\n");
  const Line line = RunBesideCounts(RunCsv);
  EXPECT_GT(line.ours, 0);
  EXPECT_EQ(line.limit, 2);
  EXPECT_EQ(line.unit, "rows/s");
}

TEST_F(WorkloadTest, ExamplesAreMeasuredBesideTheirPeer) {
  WriteExamples();
  const Line line = RunBesideCounts(RunExample);
  EXPECT_GT(line.ours, 0);
  EXPECT_EQ(line.limit, 2);
  EXPECT_THAT(line.limit_is, HasSubstr("parse_example"));
}

TEST_F(WorkloadTest, WithoutTheirPeersTheyAreMeasuredAlone) {
  WriteExamples();
  folder_.Write("rows.csv", "c0,c1\n1,0.5\n");
  const BenchOptions options = WithScript(folder_, "echo it is not installed");
  for (const auto run : {RunCsv, RunExample, RunParquet}) {
    const absl::StatusOr<std::vector<Line>> lines = run(options);
    ASSERT_THAT(lines, IsOk());
    EXPECT_FALSE(lines->at(0).measured());
    EXPECT_EQ(lines->at(0).limit_is, "not measured: it is not installed");
    // Parquet files are the peer's to make.
    EXPECT_EQ(lines->at(0).ours > 0, run != RunParquet);
  }
}

TEST_F(WorkloadTest, DamagedDataIsAnErrorThatNamesIt) {
  const std::string path = folder_.Write("rows.jsonl", "{\"id\": 1}\n{\"id\": \n");
  EXPECT_THAT(RunJsonl(WithScript(folder_, kCounts)).status().ToString(),
              HasSubstr(path));
}

}  // namespace
}  // namespace millrace::bench
