#include "millrace/adapters/python/pipeline.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/python/plain.h"

namespace millrace::python {
namespace {

Pipeline Range(int64_t stop) {
  return Pipeline::Make("range", {{"stop", Argument{stop}}}, {});
}

// What is thrown by a call, as "CODE: message".
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "";
}

Pipeline Doubled(const Pipeline& input) {
  Tracer tracer("map", {}, {input});
  const int64_t field = tracer.Field("value");
  const int64_t two = tracer.Literal(int64_t{2}, true);
  const int64_t product = tracer.Call("multiply", {field, two}, {});
  const auto function =
      std::make_shared<const Function>(tracer.Build({{"x", product}}));
  return Pipeline::Make("map", {{"function", Argument{function}}}, {input});
}

TEST(PipelineTest, IsBuiltOperatorByOperator) {
  const Pipeline pipeline =
      Pipeline::Make("batch", {{"size", Argument{int64_t{3}}}}, {Doubled(Range(10))});
  EXPECT_EQ(pipeline.Operator(), "batch");
  EXPECT_EQ(pipeline.Rows(), 4);
  EXPECT_TRUE(pipeline.Batches());
  EXPECT_FALSE(pipeline.IsRandom());
  ASSERT_EQ(pipeline.Fields().size(), 1U);
  EXPECT_EQ(pipeline.Fields()[0].name, "x");
  EXPECT_EQ(pipeline.Fields()[0].dtype, "int64");
  EXPECT_EQ(pipeline.Fields()[0].shape, Axes(std::vector<int64_t>{-1}));
  EXPECT_EQ(pipeline.Inputs()[0].Operator(), "map");
  EXPECT_THAT(pipeline.Shown(), testing::HasSubstr("{x: .value * 2}"));
  EXPECT_THAT(pipeline.Explain(), testing::HasSubstr("lanes"));
}

TEST(PipelineTest, ReadsItsOwnText) {
  const Attachment array = Attachment::Of(TextList{.shape = {2}, .texts = {"a", "b"}});
  const Pipeline pipeline = Pipeline::Make(
      "from_arrays",
      {{"names", Argument{std::vector<Argument>{Argument{std::string("t")}}}},
       {"arrays", Argument{std::vector<Argument>{
                      Argument{std::make_shared<const Attachment>(array)}}}}},
      {});
  const Pipeline again = Pipeline::Parse(pipeline.Text(), pipeline.Attachments());
  EXPECT_EQ(again.Fingerprint(), pipeline.Fingerprint());
  EXPECT_EQ(again.Attachments()[0].Hash(), array.Hash());
  EXPECT_EQ(Attachment(std::string(array.content())).Hash(), array.Hash());
}

TEST(PipelineTest, InputsThatWereBuiltApartDrawApart) {
  const Pipeline shuffled =
      Pipeline::Make("shuffle", {{"window", Argument{int64_t{5}}}}, {Range(10)});
  const Pipeline zipped = Pipeline::Make("concat", {}, {shuffled, shuffled});
  EXPECT_THAT(zipped.Text(), testing::HasSubstr("range#2"));
  EXPECT_THAT(zipped.Text(), testing::HasSubstr("shuffle#3"));
}

TEST(PipelineTest, ErrorsHaveCodesAndMessages) {
  EXPECT_THAT(ErrorOf([] { Pipeline::Make("btch", {}, {Range(3)}); }),
              testing::HasSubstr("did you mean batch"));
  EXPECT_THAT(ErrorOf([] { Pipeline::Parse("%0 = oops(", {}); }),
              testing::StartsWith("INVALID_ARGUMENT: "));
  EXPECT_THAT(ErrorOf([] { Tracer("map", {}, {Range(3)}).Field("vale"); }),
              testing::HasSubstr("did you mean"));
}

TEST(PipelineTest, TracersTellTypes) {
  Tracer tracer("map", {}, {Range(3)});
  EXPECT_EQ(tracer.Fields()[0].name, "value");
  const int64_t weak = tracer.Literal(0.5, true);
  EXPECT_TRUE(tracer.TypeOf(weak).weak);
  std::vector<float> numbers = {1, 2, 3};
  const int64_t array = tracer.Literal(
      Array{.dtype = "float32", .shape = {3}, .data = numbers.data()}, false);
  EXPECT_EQ(tracer.TypeOf(array).dtype, "float32");
  EXPECT_EQ(tracer.TypeOf(array).shape, Axes(std::vector<int64_t>{3}));
  EXPECT_THAT(
      ErrorOf([&] { tracer.Literal(Array{.dtype = "complex64", .shape = {}}, false); }),
      testing::HasSubstr("use a type of numbers"));
}

TEST(PipelineTest, PacksRows) {
  const PackedRows packed = PackRows(
      {{{"x", Plain(int64_t{1})}, {"t", "a"}}, {{"x", Plain(int64_t{2})}, {"t", "b"}}});
  EXPECT_EQ(packed.names, (std::vector<std::string>{"x", "t"}));
  EXPECT_EQ(packed.values.size(), 2U);
  EXPECT_THAT(ErrorOf([] {
                PackRows({{{"x", Plain(int64_t{1})}}, {{"y", Plain(int64_t{2})}}});
              }),
              testing::HasSubstr("row 1 has no field x"));
}

TEST(PipelineTest, TheCatalogIsJsonOfEverything) {
  EXPECT_THAT(CatalogJson(),
              testing::AllOf(testing::HasSubstr("\"name\":\"read_parquet\""),
                             testing::HasSubstr("\"name\":\"map_python\""),
                             testing::HasSubstr("\"name\":\"resize\"")));
}

}  // namespace
}  // namespace millrace::python
