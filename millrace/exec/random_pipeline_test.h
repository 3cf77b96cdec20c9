// For tests: draws pipelines over the whole catalog, as text. The same generator gives
// the same pipeline. Rows have integer fields; some are computed, drawn, filtered,
// shuffled and batched, in any order that has a meaning. Every exact rewrite but those
// of images has something to do in some of them. In some, rows fail, and are left out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"

namespace millrace::exec {

// Text made of parts that draw: braces evaluate them in the order they are written in,
// with every compiler.
struct InOrder : std::string {
  template <typename... Parts>
  explicit InOrder(const Parts&... parts) : std::string(base::StrCat(parts...)) {}
};

class RandomPipeline {
 public:
  // `fails`: one of the operators divides by zero on some rows, if they come to it.
  explicit RandomPipeline(base::Generator generator, bool fails = false)
      : draw_(generator), fails_(fails) {}

  // Gives a pipeline's text.
  std::string Text() {
    Add(InOrder{"range(start=", Number(-50, 50), ", stop=", Number(0, 1200),
                ", step=", Number(1, 4), ")"});
    fields_ = {"value"};
    forgiven_ = Number(0, 2) == 0 && !fails_;
    if (Number(0, 6) == 0) Add(InOrder{"global_shuffle(", Input(), Seed(), ")"});
    const int64_t operators = Number(0, 8);
    const int64_t fails_at = fails_ ? Number(0, operators + 1) : -1;
    for (int64_t i = 0; i <= operators; ++i) {
      if (i == fails_at) AddFailingAmongFilters();
      if (i < operators) AddOperator();
    }
    if (forgiven_) AddForgiven();
    return text_;
  }

  // How often batches were made of rows, and of batches.
  int batchings() const { return batchings_; }

 private:
  int64_t Number(int64_t low, int64_t high) { return draw_.Integer(low, high); }

  void Add(const std::string& call) {
    text_ += InOrder{"%", nodes_++, " = ", call, "\n"};
  }

  std::string Input() const { return InOrder{"%", nodes_ - 1}; }

  void AddOperator() {
    switch (Number(0, 15)) {
      case 14:
        return AddCache();
      case 13:
        return AddAcross();
      case 12:
        return AddBranches();
      case 0:
      case 1:
      case 2:
        return AddMap();
      case 3:
        return Add(InOrder{"filter(", Input(), ", predicate={", Condition(), "})"});
      case 4:
        return Add(
            InOrder{"shuffle(", Input(), ", window=", Number(1, 300), Seed(), ")"});
      case 5:
        return AddBatch();
      case 6:
      case 7:
        return AddByPlace();
      case 8:
        return AddFields();
      case 9:
        return AddPlainMap();
      case 10:
        return AddPlainFilters();
      default:  // One that changes nothing.
        return AddNoOp();
    }
  }

  // Looks at rows of all lanes, or gives others than come.
  void AddAcross() {
    switch (Number(0, 8)) {
      case 0:
        return Add(InOrder{"take_while(", Input(), ", predicate={sum(", Field(),
                           ") % 97 != ", Number(0, 97), "})"});
      case 1:
        return Add(InOrder{"unique(", Input(), ")"});
      case 2:
        return AddScan();
      case 3:
        return Add(InOrder{"resample(", Input(), ", label={sum(", Field(),
                           ") % 2}, target=[1.0, ", Number(1, 4), ".0]",
                           Number(0, 2) == 0 ? "" : ", initial=[1.0, 1.0]", Seed(),
                           ")"});
      case 4:
        return AddFlatMap();
      default:
        return AddLists();
    }
  }

  void AddScan() {
    const std::string name = InOrder{"s", nodes_};
    Add(InOrder{"scan(", Input(), ", state=\"{n: int64}\", initial=[", Number(-3, 4),
                "], function={", Identity(), ", ", name, ": ", Field(),
                " + .\"state.n\", \"state.n\": .\"state.n\" * 3 + sum(", Field(),
                ")})"});
    fields_.push_back(name);
  }

  // Takes batches apart as unbatch does, if there are any.
  void AddFlatMap() {
    if (batchings_ == 0) return;
    Add(InOrder{"flat_map(", Input(), ", function={", Identity(), "})"});
    --batchings_;
    short_batches_ = false;
  }

  // Rows of several rows, which are no batches: their number may differ.
  void AddLists() {
    if (batchings_ == 2 || short_batches_) return;
    ++batchings_;
    short_batches_ = true;
    const std::string lane = Number(0, 2) == 0 ? "true" : "false";
    switch (Number(0, 3)) {
      case 0:
        return Add(InOrder{"window(", Input(), ", size=", Number(1, 20),
                           ", shift=", Number(1, 20), ", stride=", Number(1, 4),
                           ", per_lane=", lane, ")"});
      case 1:
        return Add(InOrder{"group_by(", Input(), ", key={sum(", Field(), ") % ",
                           Number(1, 9), "}, size=", Number(1, 20), ", per_lane=", lane,
                           ")"});
      default:
        return Add(InOrder{"bucket(", Input(), ", length={sum(", Field(), ") % ",
                           Number(1, 99), "}, up_to=[10, 50], sizes=[", Number(1, 20),
                           "], group=", Number(1, 4), ", per_lane=", lane, ")"});
    }
  }

  // Makes one stream of several.
  void AddCache() {
    if (branchings_ >= kBranchingsMax) return;
    ++branchings_;
    Add(InOrder{"cache(", Input(), ")"});
  }

  void AddBranches() {
    if (branchings_ >= kBranchingsMax) return;
    ++branchings_;
    const std::string input = Input();
    const int64_t kind = Number(0, 4);
    if (kind == 0) return Add(InOrder{"repeat(", input, ", count=", Number(0, 4), ")"});
    if (batchings_ > 0) return Add(InOrder{"concat(", input, ", ", input, ")"});
    Add(InOrder{"range(stop=", Number(0, 500), ")"});
    if (kind == 1) return AddZip(input);
    Add(InOrder{"map(", Input(), ", function={",
                absl::StrJoin(fields_, ", ",
                              [](std::string* out, const std::string& field) {
                                *out += InOrder{field, ": .value * 7"};
                              }),
                "})"});
    if (kind == 2) return Add(InOrder{"concat(", input, ", ", Input(), ")"});
    Add(InOrder{"mix(", input, ", ", Input(), ", weights=[", Number(1, 4), ".0, 1.0]",
                Number(0, 2) == 0 ? "" : ", stop=\"first\"", Seed(), ")"});
  }

  void AddZip(const std::string& input) {
    const std::string field = InOrder{"z", nodes_};
    Add(InOrder{"rename(", Input(), ", from=[\"value\"], to=[\"", field, "\"])"});
    Add(InOrder{"zip(", input, ", ", Input(), ")"});
    fields_.push_back(field);
  }

  // Cannot fail, passes all fields on, and computes something from no row.
  void AddPlainMap() {
    const std::string name = InOrder{"p", nodes_};
    Add(InOrder{"map(", Input(), ", function={", Identity(), ", ", name, ": ", Field(),
                " * (", Number(-9, 9), " + ", Number(-9, 9), ")})"});
    fields_.push_back(name);
  }

  // Cannot fail; often two, one after the other.
  void AddPlainFilters() {
    const int64_t count = Number(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      Add(InOrder{"filter(", Input(), ", predicate={sum(", Field(),
                  Number(0, 2) == 0 ? ") < " : ") > ", Number(0, 600), "})"});
    }
  }

  // Filters around it leave rows out that would fail, or do not see those that do.
  void AddFailingAmongFilters() {
    if (Number(0, 2) == 0) AddPlainMap();
    if (Number(0, 2) == 0) AddPlainFilters();
    AddFailing();
    if (Number(0, 2) == 0) AddPlainFilters();
  }

  void AddFailing() {
    const std::string quotient =
        InOrder{"100 // (", Field(), " % ", Number(4, 200), " - 3)"};
    if (Number(0, 2) == 0) {
      return Add(
          InOrder{"filter(", Input(), ", predicate={sum(", quotient, ") != 33})"});
    }
    const std::string name = InOrder{"e", nodes_};
    Add(InOrder{"map(", Input(), ", function={", Identity(), ", ", name, ": ", quotient,
                "})"});
    fields_.push_back(name);
  }

  void AddNoOp() {
    switch (Number(0, 4)) {
      case 0:
        return Add(InOrder{"filter(", Input(), ", predicate={true})"});
      case 2:
        return Add(InOrder{"ignore_errors(", Input(), ", report=2)"});
      case 1:
        return Add(InOrder{"prefetch(", Input(), ", count=", Number(0, 9), ")"});
      default:
        return Add(InOrder{"map(", Input(), ", function={", Identity(), "})"});
    }
  }

  // What failed before is forgiven; what comes then does not fail.
  void AddForgiven() {
    Add(InOrder{"ignore_errors(", Input(), ", report=", Number(0, 20), ")"});
    forgiven_ = false;
    const int64_t operators = Number(0, 3);
    for (int64_t i = 0; i < operators; ++i) AddOperator();
  }

  void AddByPlace() {
    switch (Number(0, 4)) {
      case 0:
        return Add(InOrder{"take(", Input(), ", count=", Number(0, 1500), ")"});
      case 1:
        return Add(InOrder{"skip(", Input(), ", count=", Number(0, 300), ")"});
      case 2:
        return Add(InOrder{"shard(", Input(), ", shards=3, index=", Number(0, 3), ")"});
      default:
        if (batchings_ > 0) return;  // A field without a leading axis.
        Add(InOrder{"enumerate(", Input(), ", field=\"n", nodes_, "\")"});
        fields_.push_back(InOrder{"n", nodes_ - 1});
    }
  }

  void AddFields() {
    const std::string kept = fields_[Number(0, static_cast<int64_t>(fields_.size()))];
    const std::string renamed = InOrder{"r", nodes_};
    Add(InOrder{"select(", Input(), ", fields=[\"", kept, "\"])"});
    Add(InOrder{"rename(", Input(), ", from=[\"", kept, "\"], to=[\"", renamed,
                "\"])"});
    fields_ = {renamed};
  }

  // Batches of batches need batches of one size.
  void AddBatch() {
    const bool again = batchings_ > 0 && Number(0, 3) == 0;
    if (!again && (batchings_ == 2 || short_batches_)) return;
    if (!again) ++batchings_;
    const std::string first = Number(0, 4) == 0 ? "padded_batch" : "batch";
    short_batches_ = Number(0, 2) == 0;
    Add(InOrder{again ? "rebatch" : first, "(", Input(), ", size=", Number(1, 40),
                ", drop_remainder=", short_batches_ ? "false" : "true", ")"});
    // What looks at several batches sees the short one too.
    if (Number(0, 3) == 0) {
      Add(InOrder{"shuffle(", Input(), ", window=", Number(1, 9), ")"});
    }
  }

  std::string Seed() {
    return Number(0, 2) == 0 ? std::string() : InOrder{", seed=", Number(0, 3)};
  }

  std::string Field() {
    return InOrder{".", fields_[Number(0, static_cast<int64_t>(fields_.size()))]};
  }

  std::string Identity() const {
    return absl::StrJoin(fields_, ", ", [](std::string* out, const std::string& field) {
      *out += InOrder{field, ": .", field};
    });
  }

  // An integer for each value of a row. Some rows are wrong for it where that is
  // forgiven later.
  std::string Expression(int depth) {
    if (depth == 0) return Number(0, 3) == 0 ? InOrder{Number(-9, 9)} : Field();
    const auto part = [&] { return InOrder{"(", Expression(depth - 1), ")"}; };
    static constexpr std::array<const char*, 3> kSigns = {" + ", " - ", " * "};
    switch (Number(0, 6)) {
      case 0:
        return forgiven_ ? InOrder{part(), " // (", Field(), " % ", Number(5, 99), ")"}
                         : InOrder{part(), " // ", Number(1, 9)};
      case 1:
        return InOrder{"where(", part(), " < ",  part(), ", ",
                       part(),   ", ",   part(), ")"};
      case 2:
        return InOrder{Field(), " + integers(0, ", Number(1, 100), ")"};
      default:
        return InOrder{part(), kSigns[Number(0, 3)], part()};
    }
  }

  // One bool for a row, also when the row is a batch.
  std::string Condition() {
    if (Number(0, 4) == 0) return InOrder{"uniform(0.0, 1.0) < 0.", Number(3, 9)};
    return InOrder{"sum(", Expression(1), " + ",  Field(),
                   ") % ", Number(2, 6),  " != 0"};
  }

  void AddMap() {
    std::vector<std::string> names;
    std::vector<std::string> results;
    const int64_t count = Number(1, 4);
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(InOrder{"f", nodes_, "_", i});
      results.push_back(InOrder{names.back(), ": ", Expression(2), " + ", Field()});
    }
    if (Number(0, 2) == 0) {  // Rows keep a number to be told apart by.
      names.push_back(fields_[0]);
      results.push_back(InOrder{fields_[0], ": .", fields_[0]});
    }
    Add(InOrder{"map(", Input(), ", function={", absl::StrJoin(results, ", "), "}",
                Seed(), ")"});
    fields_ = names;
  }

  static constexpr int kBranchingsMax = 2;

  base::Generator draw_;
  bool fails_;
  std::string text_;
  std::vector<std::string> fields_;
  int nodes_ = 0;
  int batchings_ = 0;
  int branchings_ = 0;
  bool short_batches_ = false;  // The last may have fewer rows.
  bool forgiven_ = false;       // Rows may be wrong for what is drawn.
};

}  // namespace millrace::exec
