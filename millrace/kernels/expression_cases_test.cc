// Expressions and what they give for three rows, as text: `testdata/*.golden`. A case
// is a list of expressions, one a line; behind each stands its type, and its value for
// each row, or why there is none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/evaluate.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;

// Three rows: i, f, b, t (a text), d (a date), j (JSON), l (a list), w (words), p (an
// image of 2 by 2 pixels).
core::Block Rows() {
  const auto column = [](DType dtype, core::Tensors rows) {
    return *core::FromRows(dtype, std::move(rows), core::HeapPool());
  };
  const auto list = [](std::vector<int64_t> values) {
    return Tensor::FromValues<int64_t>(values, {std::ssize(values)});
  };
  const auto words = [](std::vector<std::string> texts) {
    return Tensor::FromTexts(texts, {std::ssize(texts)});
  };
  const auto image = [](uint8_t first) {
    std::vector<uint8_t> pixels;
    for (int i = 0; i < 12; ++i) pixels.push_back(static_cast<uint8_t>(first + 20 * i));
    return Tensor::FromValues<uint8_t>(pixels, {2, 2, 3});
  };
  std::vector<core::RowId> ids = {{0, 0}, {0, 1}, {0, 2}};
  return core::Block(
             3, core::FieldNames{"i", "f", "b", "t", "d", "j", "l", "w", "p"},
             {ScalarRows<int64_t>({0, -3, 70}), ScalarRows<double>({0.5, -2.25, 1e9}),
              ScalarRows<bool>({true, false, true}),
              TextRows({"Hello, World", "", "42"}),
              TextRows({"2024-02-29", "1999-12-31", "soon"}),
              TextRows({R"({"a": {"b": [1, 2.5]}, "s": "x\ty", "n": null})",
                        R"({"a": {"b": []}, "k.d": true})", R"({"a": 1,})"}),
              column(DType::kInt64, {list({3, 1, 2}), list({}), list({5, 5})}),
              column(DType::kString, {words({"a", "bc"}), words({}), words({"d"})}),
              column(DType::kUint8, {image(0), image(5), image(35)})})
      .WithIds(*core::IdColumn(ids, core::HeapPool()));
}

core::Spec RowsSpec() {
  constexpr int64_t kAny = core::kUnknownSize;
  return core::Spec({{"i", DType::kInt64, {}},
                     {"f", DType::kFloat64, {}},
                     {"b", DType::kBool, {}},
                     {"t", DType::kString, {}},
                     {"d", DType::kString, {}},
                     {"j", DType::kString, {}},
                     {"l", DType::kInt64, {kAny}},
                     {"w", DType::kString, {kAny}},
                     {"p", DType::kUint8, {2, 2, 3}}});
}

// "[1, 2]" without the type, or why the row is wrong.
std::string ShownRow(const ir::Expression& expression, const core::Block& row) {
  const absl::StatusOr<core::Column> value =
      EvaluateValue(expression, row, {.seed = 1}, core::HeapPool());
  if (!value.ok()) return base::StrCat("! ", value.status().message());
  const absl::StatusOr<Tensor> tensor = value->Row(0);
  if (!tensor.ok()) return "(ragged)";
  const std::string text = tensor->ToString();
  const size_t shaped = text.find("] [");
  return text.substr(shaped == std::string::npos ? text.find(' ') + 1 : shaped + 2);
}

std::string ShownLine(const std::string& line) {
  const absl::StatusOr<ir::Expression> expression =
      ir::ParseExpression(base::StrCat("{", line, "}"), RowsSpec(), AllKernels());
  if (!expression.ok()) return base::StrCat("! ", expression.status().message());
  const core::Block rows = Rows();
  std::vector<std::string> values;
  for (int64_t row = 0; row < rows.rows(); ++row) {
    values.push_back(ShownRow(*expression, rows.Slice(row, 1)));
  }
  const ir::ValueType& type = expression->type_of(expression->results()[0]);
  return base::StrCat(ir::ToString(type), ": ", absl::StrJoin(values, " | "));
}

TEST(ExpressionCasesTest, ValuesAreWhatTheyWere) {
  for (const char* file : {"arithmetic.golden", "image.golden", "text.golden"}) {
    EXPECT_THAT(base::CheckGolden(
                    base::SourcePath(base::StrCat("millrace/kernels/testdata/", file)),
                    [](const base::GoldenCase& the_case) {
                      std::vector<std::string> shown;
                      for (const auto line : absl::StrSplit(the_case.before, '\n')) {
                        shown.push_back(ShownLine(std::string(line)));
                      }
                      return absl::StrJoin(shown, "\n");
                    }),
                base::IsOk());
  }
}

}  // namespace
}  // namespace millrace::kernels
