// Counters, gauges and histograms that cost almost nothing to feed: every thread adds
// to cells of its own with a plain relaxed store, and a snapshot sums over the living
// threads and those that have finished. Adding is safe from any thread; registering and
// snapshotting take a lock. A metric lives as long as its registry.
//
//   Counter& rows = registry.AddCounter({"rows_read", "Rows read.", {{"source",
//   "a"}}}); rows.Add(block.rows()); std::cout << ToPrometheus(registry.Snapshot());
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"
#include "millrace/base/thread_cells.h"

namespace millrace::base {

struct MetricInfo {
  std::string name;  // Letters, digits and underscores; ends in its unit.
  std::string help;  // One sentence for people.
  std::map<std::string, std::string> labels;
};

// A total that only grows.
class Counter {
 public:
  void Add(uint64_t amount = 1) { cells_.Add(0, amount); }

  uint64_t value() const { return cells_.Sum()[0]; }

 private:
  ThreadCells cells_{1};
};

// A value that goes up and down; the last one set counts. Shared by all threads.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }

  void Add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }

  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

// What a histogram has seen.
struct HistogramData {
  uint64_t count = 0;
  uint64_t sum = 0;               // Of the values recorded, exactly.
  std::vector<uint64_t> buckets;  // How many values in each; see BucketOf.

  double Mean() const;

  // Estimates the value below which the part `q` of all lies, to within a bucket's
  // width (a quarter of the value). Requires: 0 <= q <= 1.
  double Quantile(double q) const;
};

// The distribution of a size or a time, in buckets whose width grows with the value: 0,
// 1, 2, 3 exactly, then four buckets for each power of two.
class Histogram {
 public:
  static constexpr size_t kBuckets = 248;

  // Records a value; a negative one counts as zero.
  void Record(int64_t value) {
    const uint64_t recorded = value < 0 ? 0 : static_cast<uint64_t>(value);
    cells_.Add(BucketOf(recorded), 1);
    cells_.Add(kBuckets, recorded);
  }

  HistogramData data() const;

  // Returns the bucket that holds `value`. Requires: value < 2^63.
  static constexpr size_t BucketOf(uint64_t value) {
    if (value < 4) return value;
    const int exponent = static_cast<int>(std::bit_width(value)) - 1;
    const uint64_t quarter = (value >> (exponent - 2)) & 3;
    return static_cast<size_t>(exponent - 1) * 4 + quarter;
  }

  // Returns the least value of a bucket; that of kBuckets is 2^63.
  static constexpr uint64_t LeastOf(size_t bucket) {
    if (bucket < 4) return bucket;
    return (4 + bucket % 4) << (bucket / 4 - 1);
  }

 private:
  ThreadCells cells_{kBuckets + 1};  // The last one is the sum.
};

// One metric at one moment: the total of a counter, the value of a gauge, or what a
// histogram has seen.
struct MetricSample {
  MetricInfo info;
  std::variant<uint64_t, double, HistogramData> value;
};

class MetricRegistry {
 public:
  // Each returns the metric of this name and these labels, made on first use. Requires:
  // a valid name, one kind of metric per name.
  Counter& AddCounter(const MetricInfo& info);
  Gauge& AddGauge(const MetricInfo& info);
  Histogram& AddHistogram(const MetricInfo& info);

  // Returns all metrics as they are now, by name and labels.
  std::vector<MetricSample> Snapshot() const;

 private:
  using Key = std::pair<std::string, std::map<std::string, std::string>>;
  using Metric = std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>,
                              std::unique_ptr<Histogram>>;

  struct Entry {
    std::string help;
    Metric metric;
  };

  template <typename T>
  T& Add(const MetricInfo& info);

  mutable Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

// Returns the registry of the process, never destroyed.
MetricRegistry& ProcessMetrics();

// Prints samples in Prometheus' text format.
std::string ToPrometheus(std::span<const MetricSample> samples);

}  // namespace millrace::base
