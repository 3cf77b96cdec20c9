#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/beside_peer.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/literal.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::bench {
namespace {

constexpr int64_t kRecords = 200'000;
constexpr int kInts = 6;
constexpr int kFloats = 2;
constexpr int kFloatsEach = 16;
constexpr int kTexts = 2;

std::string Record(base::Generator& draw) {
  std::vector<kernels::NamedFeature> features;
  features.reserve(kInts + kFloats + kTexts);
  for (int i = 0; i < kInts; ++i) {
    features.emplace_back(base::StrCat("int", i),
                          kernels::Ints({draw.Integer(0, 100'000)}));
  }
  for (int i = 0; i < kFloats; ++i) {
    std::vector<float> values(kFloatsEach);
    for (float& value : values) value = draw.UniformFloat();
    features.emplace_back(base::StrCat("float", i), kernels::Floats(values));
  }
  for (int i = 0; i < kTexts; ++i) {
    features.emplace_back(
        base::StrCat("text", i),
        kernels::Texts({base::StrCat("word", draw.Integer(0, 1000))}));
  }
  return kernels::ExampleOf(features);
}

// What is asked for: the kernel that reads it, and the shape.
struct Wanted {
  std::string name;
  std::string kernel;
  std::string shape;
};

std::vector<Wanted> AllWanted() {
  std::vector<Wanted> all;
  const auto add = [&](int count, const std::string& name, const std::string& shape) {
    for (int i = 0; i < count; ++i) {
      all.push_back(
          {base::StrCat(name, i), base::StrCat("example_", name, "s"), shape});
    }
  };
  add(kInts, "int", "[]");
  add(kFloats, "float", base::StrCat("[", kFloatsEach, "]"));
  add(kTexts, "text", "[]");
  return all;
}

// Rows are kept in memory by the first pass, as the peer has them: what counts is the
// parsing.
std::string Parsing(const std::string& path) {
  const std::vector<Wanted> all = AllWanted();
  const std::string names =
      absl::StrJoin(all, ", ", [](std::string* out, const Wanted& wanted) {
        out->append(ir::Quote(wanted.name));
      });
  std::vector<std::string> results;
  results.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    results.push_back(base::StrCat(all[i].name, ": ", all[i].kernel,
                                   "(.record, example_features(.record, names=[", names,
                                   "]), index=", i, ", name=", ir::Quote(all[i].name),
                                   ", shape=", all[i].shape, ")"));
  }
  return base::StrCat("%0 = read_tfrecord(paths=[", ir::Quote(path),
                      "])\n%1 = cache(%0)\n%2 = map(%1, function={",
                      absl::StrJoin(results, ", "), "})\n%3 = batch(%2, size=1024)\n");
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunExample(const BenchOptions& options) {
  base::Generator draw(base::RandomKey(3, 0, 0), {});
  const RowFile file =
      TRY(MakeRowFile(base::StrCat(options.folder, "/examples.tfrecord"), "", kRecords,
                      [&](int64_t) { return TfrecordFrame(Record(draw)); }));
  exec::Engine engine({.threads = options.threads});
  const std::string pipeline = Parsing(file.path);
  return BesidePeer(options,
                    {.program = "parse_example",
                     .arguments = {file.path, base::StrCat(options.threads)}},
                    [&] { return PassRate(pipeline, engine, kRecords); },
                    {.name = "Example, 10 features, rows in memory",
                     .unit = "rows/s",
                     .limit_is = "tf.io.parse_example",
                     .bar = 3.0});
}

}  // namespace millrace::bench
