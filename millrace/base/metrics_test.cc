#include "millrace/base/metrics.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"

namespace millrace::base {
namespace {

using testing::HasSubstr;

TEST(MetricsTest, CountersAddUp) {
  MetricRegistry registry;
  Counter& rows = registry.AddCounter({"rows", "Rows read.", {}});
  rows.Add();
  rows.Add(41);
  EXPECT_EQ(rows.value(), 42);
}

TEST(MetricsTest, GaugesGoUpAndDown) {
  MetricRegistry registry;
  Gauge& depth = registry.AddGauge({"depth", "Items waiting.", {}});
  EXPECT_EQ(depth.value(), 0);
  depth.Set(2.5);
  depth.Add(-1);
  EXPECT_EQ(depth.value(), 1.5);
}

TEST(MetricsTest, OneNameAndLabelsAreOneMetric) {
  MetricRegistry registry;
  Counter& first = registry.AddCounter({"rows", "Rows.", {{"source", "a"}}});
  Counter& again = registry.AddCounter({"rows", "Rows.", {{"source", "a"}}});
  Counter& other = registry.AddCounter({"rows", "Rows.", {{"source", "b"}}});
  EXPECT_EQ(&first, &again);
  EXPECT_NE(&first, &other);
}

TEST(MetricsTest, RefusesBadNamesAndTwoKindsOfOneName) {
  MetricRegistry registry;
  registry.AddCounter({"rows", "Rows.", {{"source", "a"}}});
  EXPECT_DEATH(registry.AddGauge({"rows", "Rows.", {}}), "two kinds: rows");
  EXPECT_DEATH(registry.AddHistogram({"rows", "Rows.", {{"source", "a"}}}),
               "two kinds");
  for (const char* name : {"", "9lives", "with space", "dot.ted", "é"}) {
    EXPECT_DEATH(registry.AddCounter({name, "", {}}), "metric name");
  }
  EXPECT_DEATH(registry.AddCounter({"a", "", {{"bad-key", "x"}}}), "label of a");
}

TEST(MetricsTest, BucketsFollowOneAnother) {
  for (size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    const uint64_t least = Histogram::LeastOf(bucket);
    const uint64_t next = Histogram::LeastOf(bucket + 1);
    EXPECT_LT(least, next);
    EXPECT_EQ(Histogram::BucketOf(least), bucket);
    EXPECT_EQ(Histogram::BucketOf(next - 1), bucket);
    EXPECT_LE(next - least, least / 4 + 1);  // A quarter of the value at most.
  }
  EXPECT_EQ(Histogram::LeastOf(Histogram::kBuckets), uint64_t{1} << 63);
}

TEST(MetricsTest, HistogramsCountAndSum) {
  Histogram histogram;
  for (const int64_t value : {0, 1, 1, 100, 1000}) histogram.Record(value);
  const HistogramData data = histogram.data();
  EXPECT_EQ(data.count, 5);
  EXPECT_EQ(data.sum, 1102);
  EXPECT_EQ(data.Mean(), 220.4);
  EXPECT_EQ(data.buckets[1], 2);
  EXPECT_EQ(data.buckets.size(), Histogram::kBuckets);
}

TEST(MetricsTest, HistogramsTakeEveryValue) {
  Histogram histogram;
  histogram.Record(-5);  // Counts as zero.
  histogram.Record(std::numeric_limits<int64_t>::max());
  const HistogramData data = histogram.data();
  EXPECT_EQ(data.buckets.front(), 1);
  EXPECT_EQ(data.buckets.back(), 1);
  EXPECT_EQ(data.sum, std::numeric_limits<int64_t>::max());
}

TEST(MetricsTest, QuantilesOfSmallValuesAreExact) {
  Histogram histogram;
  for (int i = 0; i < 90; ++i) histogram.Record(2);
  for (int i = 0; i < 10; ++i) histogram.Record(7);
  const HistogramData data = histogram.data();
  EXPECT_EQ(data.Quantile(0), 2);
  EXPECT_EQ(data.Quantile(0.5), 2);
  EXPECT_EQ(data.Quantile(0.9), 2);
  EXPECT_EQ(data.Quantile(0.95), 7);
  EXPECT_EQ(data.Quantile(1), 7);
}

TEST(MetricsTest, QuantilesAreWithinAQuarter) {
  Histogram histogram;
  for (int value = 1; value <= 10'000; ++value) histogram.Record(value);
  const HistogramData data = histogram.data();
  for (const double q : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999}) {
    EXPECT_NEAR(data.Quantile(q), q * 10'000, q * 10'000 / 4) << q;
  }
  EXPECT_NEAR(data.Quantile(0.5), 5000, 100);  // Values are even inside a bucket.
}

TEST(MetricsTest, NothingHasNoQuantiles) {
  const HistogramData data = Histogram().data();
  EXPECT_EQ(data.Quantile(0.5), 0);
  EXPECT_EQ(data.Mean(), 0);
  EXPECT_DEATH(static_cast<void>(data.Quantile(1.5)), "quantile 1.5");
  EXPECT_DEATH(static_cast<void>(data.Quantile(std::nan(""))), "quantile");
}

TEST(MetricsTest, SnapshotsHoldEverythingInOrder) {
  MetricRegistry registry;
  registry.AddGauge({"b", "B.", {}}).Set(0.5);
  registry.AddCounter({"a", "A.", {{"k", "2"}}}).Add(2);
  registry.AddCounter({"a", "A.", {{"k", "1"}}}).Add(1);
  registry.AddHistogram({"c", "C.", {}}).Record(3);
  const std::vector<MetricSample> samples = registry.Snapshot();
  ASSERT_EQ(samples.size(), 4);
  EXPECT_EQ(std::get<uint64_t>(samples[0].value), 1);
  EXPECT_EQ(samples[0].info.labels.at("k"), "1");
  EXPECT_EQ(std::get<uint64_t>(samples[1].value), 2);
  EXPECT_EQ(samples[2].info.name, "b");
  EXPECT_EQ(samples[2].info.help, "B.");
  EXPECT_EQ(std::get<double>(samples[2].value), 0.5);
  EXPECT_EQ(std::get<HistogramData>(samples[3].value).sum, 3);
}

TEST(MetricsTest, PrintsForPrometheus) {
  MetricRegistry registry;
  registry.AddCounter({"rows", "Rows read.", {{"node", "3"}, {"source", "a"}}}).Add(7);
  registry.AddCounter({"rows", "Rows read.", {{"node", "4"}, {"source", "a"}}}).Add(8);
  registry.AddGauge({"depth", "Items waiting.", {}}).Set(0.25);
  Histogram& sizes = registry.AddHistogram({"size_bytes", "Sizes.", {{"node", "3"}}});
  for (const int64_t value : {2, 2, 9}) sizes.Record(value);
  EXPECT_EQ(ToPrometheus(registry.Snapshot()),
            R"(# HELP depth Items waiting.
# TYPE depth gauge
depth 0.25
# HELP rows Rows read.
# TYPE rows counter
rows{node="3",source="a"} 7
rows{node="4",source="a"} 8
# HELP size_bytes Sizes.
# TYPE size_bytes histogram
size_bytes_bucket{le="2",node="3"} 2
size_bytes_bucket{le="9",node="3"} 3
size_bytes_bucket{le="+Inf",node="3"} 3
size_bytes_sum{node="3"} 13
size_bytes_count{node="3"} 3
)");
}

TEST(MetricsTest, PrintsWhatIsOdd) {
  MetricRegistry registry;
  registry.AddGauge({"a", "Back\\slash\nand line.", {{"k", "q\"b\\n\n"}}})
      .Set(std::nan(""));
  registry.AddGauge({"b", "", {}}).Set(-std::numeric_limits<double>::infinity());
  const std::string text = ToPrometheus(registry.Snapshot());
  EXPECT_THAT(text, HasSubstr("# HELP a Back\\\\slash\\nand line.\n"));
  EXPECT_THAT(text, HasSubstr("a{k=\"q\\\"b\\\\n\\n\"} NaN\n"));
  EXPECT_THAT(text, HasSubstr("b -Inf\n"));
  EXPECT_EQ(ToPrometheus({}), "");
}

TEST(MetricsTest, LargeCountsArePrintedExactly) {
  MetricRegistry registry;
  registry.AddCounter({"n", "", {}}).Add((uint64_t{1} << 53) + 1);
  EXPECT_THAT(ToPrometheus(registry.Snapshot()), HasSubstr("n 9007199254740993\n"));
}

TEST(MetricsTest, TheProcessHasOneRegistry) {
  EXPECT_EQ(&ProcessMetrics(), &ProcessMetrics());
}

TEST(MetricsTest, TotalsAreExactOverThreadsThatComeAndGo) {
  constexpr int kAdds = 1000;
  MetricRegistry registry;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Counter& rows = registry.AddCounter({"rows", "Rows.", {}});
        Histogram& sizes = registry.AddHistogram({"sizes", "Sizes.", {}});
        Gauge& level = registry.AddGauge({"level", "Level.", {}});
        for (int add = 0; add < kAdds; ++add) {
          rows.Add(2);
          sizes.Record(add);
          level.Add(1);
        }
      });
    }
    registry.Snapshot();  // While they count.
  }
  const std::vector<MetricSample> samples = registry.Snapshot();
  ASSERT_EQ(samples.size(), 3);
  EXPECT_EQ(std::get<double>(samples[0].value), 20 * kAdds);
  EXPECT_EQ(std::get<uint64_t>(samples[1].value), 20 * 2 * kAdds);
  const auto& sizes = std::get<HistogramData>(samples[2].value);
  EXPECT_EQ(sizes.count, 20 * kAdds);
  EXPECT_EQ(sizes.sum, 20 * kAdds * (kAdds - 1) / 2);
}

TEST(MetricsTest, RegistriesAreApart) {
  MetricRegistry first;
  MetricRegistry second;
  first.AddCounter({"rows", "Rows.", {}}).Add(1);
  second.AddCounter({"rows", "Rows.", {}}).Add(2);
  EXPECT_THAT(ToPrometheus(first.Snapshot()), HasSubstr("rows 1\n"));
  EXPECT_THAT(ToPrometheus(second.Snapshot()), HasSubstr("rows 2\n"));
}

TEST(MetricsTest, SnapshotsDoNotChangeLater) {
  MetricRegistry registry;
  Counter& rows = registry.AddCounter({"rows", "Rows.", {}});
  rows.Add(1);
  const std::vector<MetricSample> samples = registry.Snapshot();
  rows.Add(1);
  EXPECT_EQ(std::get<uint64_t>(samples[0].value), 1);
}

TEST(MetricsTest, EveryValueLiesInItsBucket) {
  Generator generator(RandomKey(1, 0, 0), {});
  for (int trial = 0; trial < 10'000; ++trial) {
    const uint64_t value = generator.Next64() >> generator.Integer(1, 64);
    const size_t bucket = Histogram::BucketOf(value);
    EXPECT_LE(Histogram::LeastOf(bucket), value);
    EXPECT_GT(Histogram::LeastOf(bucket + 1), value);
  }
}

}  // namespace
}  // namespace millrace::base
