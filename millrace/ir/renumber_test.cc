#include "millrace/ir/renumber.h"

#include <cstddef>

#include "gtest/gtest.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

TEST(RenumberTest, MovesEveryNumberAndNothingElse) {
  const Catalog& catalog = TestCatalog();
  const Pipeline pipeline = *Parse(
      "%0 = range(stop=9) %1 = map(%0, function={x: uniform(0.0, 1.0), "
      "y: uniform(0.0, 1.0)}) %2 = shuffle(%1, window=3)",
      {}, catalog);
  const Pipeline moved = *Renumbered(pipeline, 10, catalog);
  EXPECT_EQ(moved.NextCallNumber(), pipeline.NextCallNumber() + 10);
  EXPECT_EQ(moved.spec(), pipeline.spec());
  EXPECT_NE(Print(moved).text, Print(pipeline).text);
  for (size_t i = 0; i < pipeline.Nodes().size(); ++i) {
    const Pipeline was = pipeline.Nodes()[i];
    const Pipeline is = moved.Nodes()[i];
    EXPECT_EQ(is.name(), was.name());
    const bool numbered = was.call_number() != kNoCallNumber;
    EXPECT_EQ(is.call_number(), numbered ? was.call_number() + 10 : kNoCallNumber);
  }
  // And the other way round it is the same pipeline.
  EXPECT_EQ(Renumbered(pipeline, 0, catalog)->fingerprint(), pipeline.fingerprint());
}

}  // namespace
}  // namespace millrace::ir
