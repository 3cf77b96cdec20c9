#include "millrace/plugin/load.h"

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/shared_library.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ops/library.h"
#include "millrace/plugin/plugged_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::plugin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What loading says of a description that breaks a rule.
std::string Refusal(const std::string& rule) {
  ops::Library library = ops::Library::BuiltIn();
  const size_t kernels = library.catalog().kernels().size();
  const size_t operators = library.catalog().operators().size();
  const absl::Status status = LoadBreaking(rule, library);
  EXPECT_EQ(library.catalog().kernels().size(), kernels) << rule;
  EXPECT_EQ(library.catalog().operators().size(), operators) << rule;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(base::StrCat("plug-in ", ModulePath("rule_breaker.so"), ": ")));
  return std::string(status.message());
}

TEST(LoadTest, AddsKernelsAndOperators) {
  ops::Library library = ops::Library::BuiltIn();
  ASSERT_THAT(LoadPlugin(ModulePath("words.so"), library), base::IsOk());
  EXPECT_THAT(library.catalog().FindKernel("soundex"), base::IsOk());
  const auto found = library.catalog().FindOperator("run_lengths");
  ASSERT_THAT(found, base::IsOk());
  EXPECT_TRUE((*found)->traits.changes_cardinality);
  EXPECT_TRUE((*found)->traits.order_sensitive);
  EXPECT_EQ((*found)->arguments.size(), 2U);
  EXPECT_EQ((*found)->arguments[0].default_value, std::nullopt);
}

TEST(LoadTest, APluginLoadedTwiceMeetsItself) {
  ops::Library library = ops::Library::BuiltIn();
  ASSERT_THAT(LoadPlugin(ModulePath("words.so"), library), base::IsOk());
  EXPECT_THAT(LoadPlugin(ModulePath("words.so"), library),
              base::StatusIs(absl::StatusCode::kAlreadyExists,
                             HasSubstr("there is another kernel soundex, built in or "
                                       "of a plug-in; give it another name")));
}

TEST(LoadTest, SaysWhatAFileIsNot) {
  ops::Library library = ops::Library::BuiltIn();
  const storage::TemporaryFolder folder;
  EXPECT_THAT(
      LoadPlugin(folder / "none.so", library),
      base::StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is no such file")));
  const std::string text = folder.Write("text.so", "not a library");
  EXPECT_THAT(LoadPlugin(text, library),
              base::StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(text)));
  const std::string plain =
      base::LibraryOf(reinterpret_cast<const void*>(&std::getenv));
  EXPECT_THAT(LoadPlugin(plain, library),
              base::StatusIs(absl::StatusCode::kFailedPrecondition,
                             HasSubstr("no plug-in: it does not export")));
}

TEST(LoadTest, AnotherVersionIsRefusedWithBothVersionsAndTheRemedy) {
  EXPECT_THAT(Refusal("major"),
              AllOf(HasSubstr("built for version 2.0 of the plug-in interface, and "
                              "this Millrace has 1.0; build it with this Millrace's "
                              "millrace_plugin.h, or use a Millrace that has 2.0")));
  EXPECT_THAT(Refusal("minor"), HasSubstr("built for version 1.7"));
}

TEST(LoadTest, AnOlderDescriptionIsReadWithZerosForTheRest) {
  ops::Library library = ops::Library::BuiltIn();
  ASSERT_THAT(LoadBreaking("older", library), base::IsOk());
  EXPECT_THAT(library.catalog().FindOperator("keep"), base::IsOk());
  const auto second = library.catalog().FindOperator("fewer");
  ASSERT_THAT(second, base::IsOk());
  EXPECT_EQ((*second)->doc, "Breaks promises.");
  EXPECT_FALSE(library.catalog().FindOperator("more").ok());
}

struct Broken {
  std::string rule;
  std::string said;
};

TEST(LoadTest, SaysWhatIsWrongWithADescription) {
  const std::vector<Broken> all = {
      {"nothing", "its millrace_plugin_entry gives nothing"},
      {"empty", "it has no kernel and no operator"},
      {"count", "its description is broken: -1 kernels"},
      {"list", "its description is broken: 4 operators"},
      {"bytes", "begin it with MILLRACE_PLUGIN_HEAD"},
      {"plugin bytes", "begin it with MILLRACE_PLUGIN_HEAD"},
      {"no name", "a name of its kernels is missing"},
      {"name", "a name of its kernels is Break Rules; use letters a to z"},
      {"no doc", "there is no doc of keep in its operators"},
      {"kernel taken", "there is another kernel add, built in or"},
      {"operator taken", "there is another operator batch, built in or"},
      {"twice", "there is another operator keep, built in or"},
      {"no compute", "kernel break_rules: it lacks the function infer or compute"},
      {"no operand", "kernel break_rules: it has no operand"},
      {"no push", "operator fewer: it lacks the function infer or push"},
      {"traits", "operator keep: its traits are none that there are"},
      {"wise across", "so it cannot be kMillraceAcrossLanes"},
      {"argument", "argument rule is of the type 9, which is none"},
      {"arguments", "kernel break_rules: there are two arguments rule"},
  };
  for (const Broken& broken : all) {
    EXPECT_THAT(Refusal(broken.rule), HasSubstr(broken.said)) << broken.rule;
  }
}

}  // namespace
}  // namespace millrace::plugin
