#include "millrace/ops/library.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/pool.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"

namespace millrace::ops {
namespace {

TEST(LibraryTest, HasTheBuiltInOperatorsAndKernels) {
  const ir::Catalog& catalog = DefaultLibrary().catalog();
  for (const char* name : {"range", "map", "filter", "shuffle", "batch"}) {
    EXPECT_TRUE(catalog.operators().contains(name)) << name;
  }
  EXPECT_TRUE(catalog.kernels().contains("add"));
  EXPECT_TRUE(catalog.kernels().contains("uniform"));
}

TEST(LibraryTest, PipelinesStayValidWhenTheLibraryMoves) {
  Library library = Library::BuiltIn();
  const ir::Pipeline pipeline =
      *ir::Parse("%0 = range(stop=3) %1 = batch(%0, size=2)", {}, library.catalog());
  const Library moved = std::move(library);
  EXPECT_EQ(&pipeline.schema(), *moved.catalog().FindOperator("batch"));
  EXPECT_NE(moved.Make(pipeline, {.pool = core::HeapPool(), .lane = {}}), nullptr);
}

TEST(LibraryTest, EveryArgumentAndKernelIsDocumented) {
  for (const auto& [name, kernel] : DefaultLibrary().catalog().kernels()) {
    EXPECT_FALSE(kernel.doc.empty()) << name;
    for (const ir::OperandSchema& operand : kernel.operands) {
      EXPECT_FALSE(operand.doc.empty()) << name << "." << operand.name;
    }
    for (const ir::ArgumentSchema& argument : kernel.arguments) {
      EXPECT_FALSE(argument.doc.empty()) << name << "." << argument.name;
    }
  }
}

TEST(LibraryTest, MostOperatorsRunThemselves) {
  const ir::Pipeline range =
      *ir::Parse("%0 = range(stop=3)", {}, DefaultLibrary().catalog());
  EXPECT_TRUE(DefaultLibrary().StepsOf(range).empty());
}

}  // namespace
}  // namespace millrace::ops
