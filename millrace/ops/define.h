// How an operator describes itself. Its file ends with one function:
//
//   OperatorDef BatchDef() {
//     return Define<Batch, BatchArgs>("batch")
//         .Doc("Groups consecutive rows into one, along a new leading axis.")
//         .Arg("size", &BatchArgs::size, "Rows per batch.", AtLeast(1), BatchSize())
//         .Traits({.order_sensitive = true, .batching = true})
//         .Infer([](const BatchArgs& args, const core::Spec& in) {...})
//         .Count([](const BatchArgs& args, const ir::Cardinality& in) {...});
//   }
//
// Defaults are those of the argument struct. From this come argument checking, the text
// form, help, reference, the C++ and Python methods, and the conformance tests.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

// One of the operators that another is run as.
struct Step {
  std::string name;
  ir::Arguments arguments;
};

// Of operators that do not run themselves, but as others, one behind the other.
struct MadeOfOthers {};

struct OperatorDef;

// Sources of files, by how names end: ".csv". Those of one library, also what is added
// to it later.
using SourcesByEnding = std::map<std::string, OperatorDef, std::less<>>;

// An operator in the library: what it is, and how to make one that runs.
struct OperatorDef {
  ir::OperatorSchema schema;
  std::function<std::unique_ptr<Operator>(const ir::Arguments&, const LaneContext&)>
      make = {};
  std::function<std::unique_ptr<Source>(const ir::Arguments&, const SourceContext&)>
      make_source = {};
  std::function<std::unique_ptr<Merger>(const ir::Arguments&, const MergeContext&)>
      make_merger = {};
  std::function<std::vector<Step>(const ir::Arguments&)> steps = {};

  // Of sources of files: how their names end, without what compression adds.
  std::vector<std::string> endings = {};
  // Of such that must be given their fields: tells those that files have.
  std::function<absl::StatusOr<core::Spec>(const std::vector<std::string>& paths)>
      tell_fields = {};
  // Of one that runs as another, chosen by the names of files: completes itself.
  std::function<void(std::shared_ptr<const SourcesByEnding>, OperatorDef&)> choose = {};
  // Of one that writes files, in one of the library's formats: completes itself.
  std::function<void(std::shared_ptr<const SaveFormats>, OperatorDef&)> pick = {};
};

// Runs as nothing by itself: what it does with its inputs is how their lanes are cut.
struct ByLanes {};

// What may follow an argument's doc.
using ArgumentOption = std::function<void(ir::ArgumentSchema&)>;
ArgumentOption AtLeast(int64_t least);
ArgumentOption AtMost(int64_t most);
ArgumentOption Required();   // No default, although the struct has one.
ArgumentOption Seed();       // Counts in fingerprints only where something is drawn.
ArgumentOption BatchSize();  // Does not change which rows there are.
ArgumentOption Place();      // Says where results are kept.

// How a member of an argument struct is an argument: its type in the schema, and the
// way to and from plain data.
template <typename T>
struct ArgumentTraits;

template <>
struct ArgumentTraits<bool> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kBool;

  static bool From(const ir::Value& value) { return value.As<bool>(); }

  static ir::Value To(bool value) { return value; }
};

template <>
struct ArgumentTraits<int64_t> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kInt;

  static int64_t From(const ir::Value& value) { return value.As<int64_t>(); }

  static ir::Value To(int64_t value) { return value; }
};

template <>
struct ArgumentTraits<double> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kFloat;

  static double From(const ir::Value& value) { return value.As<double>(); }

  static ir::Value To(double value) { return value; }
};

template <>
struct ArgumentTraits<std::string> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kText;

  static std::string From(const ir::Value& value) { return value.As<std::string>(); }

  static ir::Value To(const std::string& value) { return value; }
};

template <>
struct ArgumentTraits<std::vector<std::string>> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kTexts;

  static std::vector<std::string> From(const ir::Value& value) {
    std::vector<std::string> texts;
    for (const ir::Value& item : value.As<ir::List>()) {
      texts.push_back(item.As<std::string>());
    }
    return texts;
  }

  static ir::Value To(const std::vector<std::string>& texts) {
    return ir::List(texts.begin(), texts.end());
  }
};

template <>
struct ArgumentTraits<std::vector<int64_t>> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kInts;

  static std::vector<int64_t> From(const ir::Value& value) {
    std::vector<int64_t> numbers;
    for (const ir::Value& item : value.As<ir::List>()) {
      numbers.push_back(item.As<int64_t>());
    }
    return numbers;
  }

  static ir::Value To(const std::vector<int64_t>& numbers) {
    return ir::List(numbers.begin(), numbers.end());
  }
};

template <>
struct ArgumentTraits<std::vector<double>> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kFloats;

  static std::vector<double> From(const ir::Value& value) {
    std::vector<double> numbers;
    for (const ir::Value& item : value.As<ir::List>()) {
      numbers.push_back(item.As<double>());
    }
    return numbers;
  }

  static ir::Value To(const std::vector<double>& numbers) {
    return ir::List(numbers.begin(), numbers.end());
  }
};

template <>
struct ArgumentTraits<std::vector<ir::Attachment>> {
  static constexpr ir::ArgumentType kType = ir::ArgumentType::kAttachments;

  static std::vector<ir::Attachment> From(const ir::Value& value) {
    std::vector<ir::Attachment> attachments;
    for (const ir::Value& item : value.As<ir::List>()) {
      attachments.push_back(item.As<ir::Attachment>());
    }
    return attachments;
  }
};

template <typename T>
struct ArgumentTraits<std::optional<T>> {
  static constexpr ir::ArgumentType kType = ArgumentTraits<T>::kType;

  static std::optional<T> From(const ir::Value& value) {
    if (value.is_none()) return std::nullopt;
    return ArgumentTraits<T>::From(value);
  }

  static ir::Value To(const std::optional<T>& value) {
    return value ? ArgumentTraits<T>::To(*value) : ir::Value();
  }
};

// The two kinds of functions of a row, told apart by type.
struct RowFunction {
  ir::Function function;

  const ir::Expression& operator*() const { return *function; }

  const ir::Expression* operator->() const { return function.get(); }
};

struct ValueFunction {
  ir::Function function;

  const ir::Expression& operator*() const { return *function; }

  const ir::Expression* operator->() const { return function.get(); }
};

template <typename T>
  requires std::same_as<T, RowFunction> || std::same_as<T, ValueFunction>
struct ArgumentTraits<T> {
  static constexpr ir::ArgumentType kType = std::same_as<T, RowFunction>
                                                ? ir::ArgumentType::kRowFunction
                                                : ir::ArgumentType::kValueFunction;

  static T From(const ir::Value& value) { return {value.As<ir::Function>()}; }
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename Runs, typename Args>
class Definition {
 public:
  explicit Definition(std::string name) { def_.schema.name = std::move(name); }

  Definition& Doc(std::string doc) {
    def_.schema.doc = std::move(doc);
    return *this;
  }

  template <typename T, typename... Options>
  Definition& Arg(const std::string& name, T Args::* member, const std::string& doc,
                  const Options&... options) {
    ir::ArgumentSchema schema = {.name = name,
                                 .type = ArgumentTraits<T>::kType,
                                 .doc = doc,
                                 .none_allowed = kIsOptional<T>};
    if constexpr (requires { ArgumentTraits<T>::To(Args{}.*member); }) {
      schema.default_value = ArgumentTraits<T>::To(Args{}.*member);
    }
    (options(schema), ...);
    def_.schema.arguments.push_back(std::move(schema));
    members_.push_back([name, member](const ir::Arguments& from, Args& to) {
      to.*member = ArgumentTraits<T>::From(from[name]);
    });
    return *this;
  }

  Definition& Traits(const ir::OperatorTraits& traits) {
    def_.schema.traits = traits;
    return *this;
  }

  // Gives arguments that were left out, by name, and that the data tells.
  Definition& Complete(
      std::function<absl::StatusOr<ir::Arguments>(const Args&)> complete) {
    const auto read = Reader();
    def_.schema.complete =
        [read, complete = std::move(complete)](
            const ir::Arguments& arguments) -> absl::StatusOr<ir::Arguments> {
      const ir::Arguments found = TRY(complete(read(arguments)));
      ir::Arguments all = arguments;
      for (const ir::Argument& argument : found.all()) {
        all.Set(argument.name, argument.value);
      }
      return all;
    };
    return *this;
  }

  // Gives the spec of what comes out of one input (none for sources).
  Definition& Infer(
      std::function<absl::StatusOr<core::Spec>(const Args&, const core::Spec&)> infer) {
    const auto read = Reader();
    def_.schema.infer = [read,
                         infer = std::move(infer)](const ir::OperatorTypes& types) {
      static const core::Spec nothing;
      return infer(read(types.arguments),
                   types.inputs.empty() ? nothing : types.inputs[0]);
    };
    return *this;
  }

  // The same of several inputs, so many at least.
  Definition& InferAll(int inputs, std::function<absl::StatusOr<core::Spec>(
                                       const Args&, absl::Span<const core::Spec>)>
                                       infer) {
    def_.schema.inputs = inputs;
    def_.schema.more_inputs = true;
    const auto read = Reader();
    def_.schema.infer = [read,
                         infer = std::move(infer)](const ir::OperatorTypes& types) {
      return infer(read(types.arguments), types.inputs);
    };
    return *this;
  }

  Definition& CountAll(
      std::function<ir::Cardinality(const Args&, absl::Span<const ir::Cardinality>)>
          count) {
    const auto read = Reader();
    def_.schema.cardinality = [read, count = std::move(count)](
                                  const ir::Arguments& arguments,
                                  absl::Span<const ir::Cardinality> inputs) {
      return count(read(arguments), inputs);
    };
    return *this;
  }

  // Gives how many rows come out.
  Definition& Count(
      std::function<ir::Cardinality(const Args&, const ir::Cardinality&)> count) {
    const auto read = Reader();
    def_.schema.cardinality = [read, count = std::move(count)](
                                  const ir::Arguments& arguments,
                                  absl::Span<const ir::Cardinality> inputs) {
      return count(read(arguments),
                   inputs.empty() ? ir::Cardinality::Known(0) : inputs[0]);
    };
    return *this;
  }

  // Of a positional operator: gives how many rows come out of so many rows from a place
  // of the pass on.
  Definition& CountOfRun(
      std::function<int64_t(const Args&, int64_t first, int64_t rows)> count) {
    const auto read = Reader();
    def_.schema.count_of_run = [read, count = std::move(count)](
                                   const ir::Arguments& arguments, int64_t first,
                                   int64_t rows) {
      return count(read(arguments), first, rows);
    };
    return *this;
  }

  // Says why it changes nothing with these arguments; empty when it does.
  Definition& NoOp(std::function<std::string(const Args&, const core::Spec&)> reason) {
    const auto read = Reader();
    def_.schema.noop_reason =
        [read, reason = std::move(reason)](const ir::OperatorTypes& types) {
          return reason(read(types.arguments), types.inputs[0]);
        };
    return *this;
  }

  // Tells whether it draws random numbers.
  Definition& Random(std::function<bool(const Args&)> random) {
    const auto read = Reader();
    def_.schema.is_random =
        [read, random = std::move(random)](const ir::Arguments& arguments) {
          return random(read(arguments));
        };
    return *this;
  }

  // Gives what it is run as. Requires: it is made of others.
  Definition& Steps(std::function<std::vector<Step>(const Args&)> steps) {
    static_assert(std::same_as<Runs, MadeOfOthers>);
    const auto read = Reader();
    def_.steps = [read, steps = std::move(steps)](const ir::Arguments& arguments) {
      return steps(read(arguments));
    };
    return *this;
  }

  // Names the files that it reads by their endings, as in ".csv".
  Definition& Endings(std::vector<std::string> endings) {
    def_.endings = std::move(endings);
    return *this;
  }

  // Tells the fields that files have. For sources that must be given them.
  Definition& TellFields(
      std::function<absl::StatusOr<core::Spec>(const std::vector<std::string>& paths)>
          tell) {
    def_.tell_fields = std::move(tell);
    return *this;
  }

  // Gives how many rows it holds back at once.
  Definition& Holds(std::function<int64_t(const Args&)> rows) {
    const auto read = Reader();
    def_.schema.rows_held = [read,
                             rows = std::move(rows)](const ir::Arguments& arguments) {
      return rows(read(arguments));
    };
    return *this;
  }

  // Tells whether it looks beyond a lane.
  Definition& AcrossLanes(std::function<bool(const Args&)> across) {
    const auto read = Reader();
    def_.schema.looks_across_lanes =
        [read, across = std::move(across)](const ir::Arguments& arguments) {
          return across(read(arguments));
        };
    return *this;
  }

  // Tells of one whose lanes may give runs of batches of one key.
  Definition& KeyedRuns(std::function<std::optional<ir::KeyedRuns>(const Args&)> runs) {
    def_.schema.keyed_runs = [read = Reader(),
                              runs = std::move(runs)](const ir::Arguments& arguments) {
      return runs(read(arguments));
    };
    return *this;
  }

  // Gives the rows that its function is called on, where these are not its input's.
  Definition& FunctionInput(
      std::function<absl::StatusOr<core::Spec>(const ir::Arguments&, const core::Spec&)>
          rows) {
    def_.schema.function_input = std::move(rows);
    return *this;
  }

  // Tells whether a row can be wrong for it.
  Definition& CanFail(std::function<bool(const Args&)> can_fail) {
    const auto read = Reader();
    def_.schema.can_fail =
        [read, can_fail = std::move(can_fail)](const ir::Arguments& arguments) {
          return can_fail(read(arguments));
        };
    return *this;
  }

  operator OperatorDef() const {
    OperatorDef def = def_;
    const auto read = Reader();
    if constexpr (std::derived_from<Runs, Source>) {
      def.schema.inputs = 0;
      def.schema.traits.source = true;
      def.make_source = [read](const ir::Arguments& arguments,
                               const SourceContext& context) {
        return std::make_unique<Runs>(read(arguments), context);
      };
    } else if constexpr (std::derived_from<Runs, Merger>) {
      def.make_merger = [read](const ir::Arguments& arguments,
                               const MergeContext& context) {
        return std::make_unique<Runs>(read(arguments), context);
      };
    } else if constexpr (!std::same_as<Runs, ByLanes> &&
                         !std::same_as<Runs, MadeOfOthers>) {
      def.make = [read](const ir::Arguments& arguments, const LaneContext& lane) {
        return std::make_unique<Runs>(read(arguments), lane);
      };
    }
    return def;
  }

 private:
  using Member = std::function<void(const ir::Arguments&, Args&)>;

  // Fills an argument struct from checked arguments. Copies the list: the rules made
  // from it outlive this object.
  std::function<Args(const ir::Arguments&)> Reader() const {
    return [members = members_](const ir::Arguments& arguments) {
      Args args;
      for (const Member& member : members) member(arguments, args);
      return args;
    };
  }

  OperatorDef def_;
  std::vector<Member> members_;
};

// Starts the description of an operator that runs as a `Runs`, made from (Args, lane).
template <typename Runs, typename Args>
Definition<Runs, Args> Define(std::string name) {
  return Definition<Runs, Args>(std::move(name));
}

// The spec of the rows that a function makes.
core::Spec ResultSpec(const ir::Expression& function);

}  // namespace millrace::ops
