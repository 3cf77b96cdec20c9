#include "millrace/ops/define.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

struct ProbeArgs {
  bool flag = true;
  int64_t count = 3;
  double ratio = 0.25;
  std::string mode = "fast";
  std::optional<int64_t> most;
};

ProbeArgs* seen = nullptr;

class Probe final : public Operator {
 public:
  Probe(const ProbeArgs& args, const LaneContext&) { *seen = args; }

  absl::Status Push(core::Block, Emitter&) override { return absl::OkStatus(); }
};

OperatorDef ProbeDef() {
  return Define<Probe, ProbeArgs>("probe")
      .Doc("Shows what it is given.")
      .Arg("flag", &ProbeArgs::flag, "A flag.")
      .Arg("count", &ProbeArgs::count, "A count.", AtLeast(1), AtMost(9), Required())
      .Arg("ratio", &ProbeArgs::ratio, "A ratio.")
      .Arg("mode", &ProbeArgs::mode, "A mode.")
      .Arg("most", &ProbeArgs::most, "A limit.", Seed())
      .Traits({.row_wise = true})
      .Random([](const ProbeArgs& args) { return args.flag; })
      .NoOp([](const ProbeArgs& args, const core::Spec&) {
        return args.count == 1 ? std::string("one") : std::string();
      })
      .Infer([](const ProbeArgs& args,
                const core::Spec& in) -> absl::StatusOr<core::Spec> {
        if (args.ratio > 1) return absl::InvalidArgumentError("ratio above 1");
        return in;
      })
      .Count([](const ProbeArgs& args, const ir::Cardinality&) {
        return ir::Cardinality::Known(args.count);
      });
}

TEST(DefineTest, DefaultsAreThoseOfTheStruct) {
  const OperatorDef def = ProbeDef();
  EXPECT_EQ(def.schema.arguments[0].default_value, ir::Value(true));
  EXPECT_FALSE(def.schema.arguments[1].default_value.has_value());  // Required.
  EXPECT_EQ(def.schema.arguments[2].default_value, ir::Value(0.25));
  EXPECT_EQ(def.schema.arguments[3].default_value, ir::Value("fast"));
  EXPECT_EQ(def.schema.arguments[4].default_value, ir::Value());
}

TEST(DefineTest, TypesAndOptionsReachTheSchema) {
  const OperatorDef def = ProbeDef();
  EXPECT_EQ(def.schema.name, "probe");
  EXPECT_EQ(def.schema.doc, "Shows what it is given.");
  EXPECT_EQ(def.schema.inputs, 1);
  EXPECT_TRUE(def.schema.traits.row_wise);
  EXPECT_EQ(def.schema.arguments[1].type, ir::ArgumentType::kInt);
  EXPECT_EQ(def.schema.arguments[1].least, 1);
  EXPECT_EQ(def.schema.arguments[1].most, 9);
  EXPECT_TRUE(def.schema.arguments[4].none_allowed);
  EXPECT_TRUE(def.schema.arguments[4].is_seed);
}

TEST(DefineTest, AnOperatorIsMadeFromCheckedArguments) {
  ProbeArgs args;
  seen = &args;
  const OperatorDef def = ProbeDef();
  const ir::Arguments checked = *ir::CheckArguments(
      def.schema.arguments, {{"count", 5}, {"most", 2}, {"ratio", 1}, {"flag", false}});
  def.make(checked, {.pool = core::HeapPool(), .lane = {}});
  EXPECT_FALSE(args.flag);
  EXPECT_EQ(args.count, 5);
  EXPECT_EQ(args.ratio, 1.0);
  EXPECT_EQ(args.mode, "fast");
  EXPECT_EQ(args.most, 2);
}

TEST(DefineTest, RulesSeeTypedArguments) {
  const OperatorDef def = ProbeDef();
  const auto given = [&](const ir::Arguments& arguments) {
    return *ir::CheckArguments(def.schema.arguments, arguments);
  };
  const core::Spec spec;
  const ir::Arguments high = given({{"count", 5}, {"ratio", 1.5}});
  EXPECT_THAT(
      def.schema.infer({.arguments = high, .inputs = {&spec, 1}}).status().message(),
      HasSubstr("ratio above 1"));
  const ir::Arguments one = given({{"count", 1}, {"flag", false}});
  EXPECT_EQ(def.schema.noop_reason({.arguments = one, .inputs = {&spec, 1}}), "one");
  EXPECT_FALSE(def.schema.is_random(one));
  EXPECT_EQ(def.schema.cardinality(one, {}), ir::Cardinality::Known(1));
}

TEST(DefineTest, ListsOfTextsGoThereAndBack) {
  using Traits = ArgumentTraits<std::vector<std::string>>;
  const std::vector<std::string> texts = {"a", "", "b"};
  EXPECT_EQ(Traits::kType, ir::ArgumentType::kTexts);
  EXPECT_EQ(Traits::To(texts), ir::Value(ir::List{"a", "", "b"}));
  EXPECT_EQ(Traits::From(Traits::To(texts)), texts);
  EXPECT_EQ(Traits::From(ir::List{}), std::vector<std::string>());
}

TEST(DefineTest, ListsOfAttachmentsAreRead) {
  using Traits = ArgumentTraits<std::vector<ir::Attachment>>;
  const ir::Attachment a("a");
  const ir::Attachment b("b");
  EXPECT_EQ(Traits::kType, ir::ArgumentType::kAttachments);
  EXPECT_EQ(Traits::From(ir::List{a, b}), (std::vector<ir::Attachment>{a, b}));
}

}  // namespace
}  // namespace millrace::ops
