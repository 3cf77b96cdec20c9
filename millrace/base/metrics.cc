#include "millrace/base/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

using Labels = std::map<std::string, std::string>;

bool IsName(std::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(
             name, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

std::string PrintNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  return ShortestText(number);
}

// Prints "{key="value",...}", or nothing if there are no labels.
std::string PrintLabels(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    const std::string escaped =
        absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
    absl::StrAppend(&text, text.empty() ? "{" : ",", key, "=\"", escaped, "\"");
  }
  return text.empty() ? text : text + "}";
}

// Prints the buckets that hold something, each with the count of all values up to its
// end, as Prometheus wants them.
std::string PrintHistogram(const MetricInfo& info, const HistogramData& data) {
  std::string text;
  const auto print_bucket = [&](std::string_view end, uint64_t count) {
    Labels labels = info.labels;
    labels["le"] = end;
    absl::StrAppend(&text, info.name, "_bucket", PrintLabels(labels), " ", count, "\n");
  };
  uint64_t count = 0;
  for (size_t i = 0; i < data.buckets.size(); ++i) {
    if (data.buckets[i] == 0) continue;
    count += data.buckets[i];
    print_bucket(StrCat(Histogram::LeastOf(i + 1) - 1), count);
  }
  print_bucket("+Inf", data.count);
  const std::string labels = PrintLabels(info.labels);
  absl::StrAppend(&text, info.name, "_sum", labels, " ", data.sum, "\n");
  absl::StrAppend(&text, info.name, "_count", labels, " ", data.count, "\n");
  return text;
}

std::string PrintSample(const MetricSample& sample) {
  if (const auto* data = std::get_if<HistogramData>(&sample.value)) {
    return PrintHistogram(sample.info, *data);
  }
  const auto* const total = std::get_if<uint64_t>(&sample.value);
  return StrCat(
      sample.info.name, PrintLabels(sample.info.labels), " ",
      total != nullptr ? StrCat(*total) : PrintNumber(std::get<double>(sample.value)),
      "\n");
}

}  // namespace

double HistogramData::Mean() const {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

double HistogramData::Quantile(double q) const {
  CHECK(q >= 0 && q <= 1) << "quantile " << q;
  const double rank = q * static_cast<double>(count);
  double before = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto inside = static_cast<double>(buckets[i]);
    if (inside > 0 && before + inside >= rank) {
      const auto least = static_cast<double>(Histogram::LeastOf(i));
      const auto most = static_cast<double>(Histogram::LeastOf(i + 1) - 1);
      return least + (most - least) * (rank - before) / inside;
    }
    before += inside;
  }
  return 0;
}

HistogramData Histogram::data() const {
  HistogramData data;
  data.buckets = cells_.Sum();
  data.sum = data.buckets.back();
  data.buckets.pop_back();
  for (const uint64_t bucket : data.buckets) data.count += bucket;
  return data;
}

template <typename T>
T& MetricRegistry::Add(const MetricInfo& info) {
  CHECK(IsName(info.name)) << "metric name: " << info.name;
  for (const auto& [key, value] : info.labels) {
    CHECK(IsName(key)) << "label of " << info.name << ": " << key;
  }
  MutexLock lock(&mutex_);
  // Others of this name stand next to it; all are of one kind.
  const auto near = entries_.lower_bound(Key(info.name, {}));
  if (near != entries_.end() && near->first.first == info.name) {
    CHECK(std::holds_alternative<std::unique_ptr<T>>(near->second.metric))
        << "metric has two kinds: " << info.name;
  }
  const auto [entry, inserted] = entries_.try_emplace(Key(info.name, info.labels));
  if (inserted) entry->second = {info.help, std::make_unique<T>()};
  return *std::get<std::unique_ptr<T>>(entry->second.metric);
}

Counter& MetricRegistry::AddCounter(const MetricInfo& info) {
  return Add<Counter>(info);
}

Gauge& MetricRegistry::AddGauge(const MetricInfo& info) { return Add<Gauge>(info); }

Histogram& MetricRegistry::AddHistogram(const MetricInfo& info) {
  return Add<Histogram>(info);
}

std::vector<MetricSample> MetricRegistry::Snapshot() const {
  MutexLock lock(&mutex_);
  std::vector<MetricSample> samples;
  for (const auto& [key, entry] : entries_) {
    MetricSample& sample = samples.emplace_back();
    sample.info = {key.first, entry.help, key.second};
    if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&entry.metric)) {
      sample.value = (*counter)->value();
    } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&entry.metric)) {
      sample.value = (*gauge)->value();
    } else {
      sample.value = std::get<std::unique_ptr<Histogram>>(entry.metric)->data();
    }
  }
  return samples;
}

MetricRegistry& ProcessMetrics() {
  static auto* const registry = new MetricRegistry();
  return *registry;
}

std::string ToPrometheus(std::span<const MetricSample> samples) {
  constexpr std::array<std::string_view, 3> kTypes = {"counter", "gauge", "histogram"};
  std::string text;
  std::string_view last_name;
  for (const MetricSample& sample : samples) {
    const MetricInfo& info = sample.info;
    if (info.name != last_name) {
      const std::string help =
          absl::StrReplaceAll(info.help, {{"\\", "\\\\"}, {"\n", "\\n"}});
      absl::StrAppend(&text, "# HELP ", info.name, " ", help, "\n# TYPE ", info.name,
                      " ", ToAbsl(kTypes.at(sample.value.index())), "\n");
    }
    last_name = info.name;
    text += PrintSample(sample);
  }
  return text;
}

}  // namespace millrace::base
