// What an operator is, as far as a pipeline's graph is concerned: name, arguments,
// traits, typing and counting rules. Its code is elsewhere (`ops`). Checking, parsing,
// help, reference and Python methods are made from this.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// How many rows there are, as far as is known without reading.
class Cardinality {
 public:
  static Cardinality Known(int64_t rows) { return {Kind::kKnown, rows}; }

  static Cardinality Unknown() { return {Kind::kUnknown, 0}; }

  static Cardinality Infinite() { return {Kind::kInfinite, 0}; }

  bool known() const { return kind_ == Kind::kKnown; }

  bool infinite() const { return kind_ == Kind::kInfinite; }

  // Requires: known().
  int64_t rows() const {
    CHECK(known());
    return rows_;
  }

  // "1000", "unknown", "infinite".
  std::string ToString() const;

  friend bool operator==(const Cardinality&, const Cardinality&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Cardinality& cardinality);

 private:
  enum class Kind : uint8_t { kKnown, kUnknown, kInfinite };

  Cardinality(Kind kind, int64_t rows) : kind_(kind), rows_(rows) {}

  Kind kind_;
  int64_t rows_;
};

struct OperatorTraits {
  bool source = false;           // Has no input; reads or makes rows.
  bool row_wise = false;         // A row out depends on one row in alone.
  bool order_sensitive = false;  // What comes out depends on the order of the input.
  bool positional = false;  // Goes by a row's place in the pass: many lanes only where
                            // the rows of each are known beforehand.
  bool changes_cardinality = false;  // Rows out may be fewer or more than rows in.
  bool batching = false;             // Groups rows; what does not fill one is a tail.
  bool reorders = false;             // Shuffles: chunks are permuted, lanes cut for it.
  bool draws = false;                // Draws random numbers for a lane, not for a row.
  bool permutes_all = false;         // Shuffles by reading rows in another order.
  bool keeps_fields = false;    // Passes fields on; reads only what functions read.
  bool stacks_runs = false;     // Batches are rows as they come: a row's place is known
                                // before the row is.
  bool fills_places = false;    // Can write results to where they are wanted.
  bool unstacks = false;        // Takes batches apart: identities must fit their rows.
  bool waits = false;           // For others, such as processes: the consumer, who may
                                // be interrupted, never runs it himself.
  bool ignores_errors = false;  // Rows that are wrong before it are left out: its
                                // argument budget says how many may be.
  bool sinks = false;  // Writes its lane's rows away, and gives one row for all of
                       // them; lanes are cut as if it were not there.
  // What makes one stream of several; lanes begin anew behind these.
  bool repeats = false;       // Of one input again and again, `count` times or forever.
  bool concatenates = false;  // Of its inputs one after the other.
  bool merges = false;        // Of all its inputs, row by row.
  bool caches = false;        // Of its input, computed once and kept.

  bool branches() const { return repeats || concatenates || merges || caches; }
};

// Of an operator that makes batches by key (buckets): so many batches of one key come
// one after the other, and rows that fill no such run may be joined with those of other
// lanes.
struct KeyedRuns {
  int64_t group = 1;                // Batches in a run.
  std::vector<int64_t> sizes = {};  // Rows per batch, by key.
};

struct OperatorTypes {
  const Arguments& arguments;
  absl::Span<const core::Spec> inputs;
};

struct OperatorSchema {
  std::string name;
  std::string doc;
  int version = 1;  // Raised when results change.
  int inputs = 1;
  bool more_inputs = false;  // That many, or more.
  std::vector<ArgumentSchema> arguments = {};
  OperatorTraits traits = {};

  // Fills in arguments that were left out and that the data tells: of a source, the
  // fields of its rows. Asked once, where a pipeline is made; what it fills in stands
  // in the text form, so that nobody who reads that needs the data again.
  std::function<absl::StatusOr<Arguments>(const Arguments&)> complete =
      [](const Arguments& arguments) { return arguments; };

  // Gives the rows that its function is called on, of what is known of its arguments
  // then: by default those of the first input.
  std::function<absl::StatusOr<core::Spec>(const Arguments&, const core::Spec&)>
      function_input = [](const Arguments&, const core::Spec& input) { return input; };

  // Gives the spec of the rows that come out, or why there is none.
  std::function<absl::StatusOr<core::Spec>(const OperatorTypes&)> infer = {};

  // Gives how many rows come out.
  std::function<Cardinality(const Arguments&, absl::Span<const Cardinality>)>
      cardinality = {};

  // Of positional ones: how many rows come out of the `rows` rows that have the places
  // from `first` on.
  std::function<int64_t(const Arguments&, int64_t first, int64_t rows)> count_of_run =
      {};

  // Says why it changes nothing, given its arguments; empty when it does.
  std::function<std::string(const OperatorTypes&)> noop_reason =
      [](const OperatorTypes&) { return std::string(); };

  // Whether it draws random numbers, given its arguments.
  std::function<bool(const Arguments&)> is_random = [](const Arguments&) {
    return false;
  };

  // How many rows it holds back at once, given its arguments, as far as these tell;
  // windows of shuffles and batches are known by themselves.
  std::function<int64_t(const Arguments&)> rows_held = [](const Arguments&) {
    return int64_t{0};
  };

  // Whether it looks beyond a lane, given its arguments: the pass is then one lane.
  std::function<bool(const Arguments&)> looks_across_lanes = [](const Arguments&) {
    return false;
  };

  // Of one whose lanes may give runs, given its arguments. Where these are joined
  // elsewhere it does not look beyond a lane.
  std::function<std::optional<KeyedRuns>(const Arguments&)> keyed_runs =
      [](const Arguments&) { return std::optional<KeyedRuns>(); };

  // Whether a row can be wrong for it, given its arguments: such a row is an error, or
  // left out where errors are ignored.
  std::function<bool(const Arguments&)> can_fail = [](const Arguments&) {
    return false;
  };

  // Whether its nodes have call numbers of their own: sources, and what draws an order
  // or for a lane.
  bool numbered() const {
    return traits.source || traits.reorders || traits.merges || traits.draws;
  }
};

}  // namespace millrace::ir
