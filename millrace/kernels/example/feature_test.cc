#include "millrace/kernels/example/feature.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string EntryOf(const std::string& feature) {
  return Field(1, "name") + Field(2, feature);
}

// The values of a feature of this kind, or the error.
template <typename T>
absl::StatusOr<std::vector<T>> ValuesIn(const std::string& entry, FeatureKind kind) {
  const absl::StatusOr<Feature> feature = ReadFeature(entry, entry);
  if (!feature.ok()) return feature.status();
  EXPECT_EQ(feature->kind, kind);
  std::vector<T> values;
  for (const std::string_view list : feature->lists) {
    absl::Status appended = AppendValues(list, entry, values);
    if (!appended.ok()) return appended;
  }
  return values;
}

TEST(FeatureTest, ReadsPackedAndSingleNumbers) {
  const std::string single = Field(3, NumberField(1, 5) + NumberField(1, 300));
  EXPECT_THAT(*ValuesIn<int64_t>(EntryOf(single), FeatureKind::kInts),
              ElementsAre(5, 300));
  const std::string mixed = Field(3, NumberField(1, 5) + Field(1, PackedInts({-1, 7})) +
                                         Field(9, "?") + NumberField(1, 8));
  EXPECT_THAT(*ValuesIn<int64_t>(EntryOf(mixed), FeatureKind::kInts),
              ElementsAre(5, -1, 7, 8));
  const std::string floats =
      Field(2, "\x0D" + PackedFloats({1.5F}) + Field(1, PackedFloats({2.5F, 3.5F})));
  EXPECT_THAT(*ValuesIn<float>(EntryOf(floats), FeatureKind::kFloats),
              ElementsAre(1.5F, 2.5F, 3.5F));
}

TEST(FeatureTest, ReadsTexts) {
  EXPECT_THAT(
      *ValuesIn<std::string_view>(EntryOf(Texts({"a", "", "bc"})), FeatureKind::kTexts),
      ElementsAre("a", "", "bc"));
}

TEST(FeatureTest, JoinsListsInPieces) {
  const std::string pieces = Ints({1}) + Ints({2, 3});
  EXPECT_THAT(*ValuesIn<int64_t>(EntryOf(pieces), FeatureKind::kInts),
              ElementsAre(1, 2, 3));
  // Also where the entry has two values.
  EXPECT_THAT(
      *ValuesIn<int64_t>(EntryOf(Ints({1})) + Field(2, Ints({4})), FeatureKind::kInts),
      ElementsAre(1, 4));
}

TEST(FeatureTest, TakesTheLastKind) {
  EXPECT_THAT(*ValuesIn<int64_t>(EntryOf(Floats({1}) + Ints({2})), FeatureKind::kInts),
              ElementsAre(2));
  EXPECT_THAT(*ValuesIn<float>(EntryOf(Ints({2}) + Floats({1})), FeatureKind::kFloats),
              ElementsAre(1));
}

TEST(FeatureTest, KnowsAFeatureWithoutKind) {
  EXPECT_THAT(ReadFeature(EntryOf(""), EntryOf(""))->lists, IsEmpty());
  EXPECT_THAT(ReadFeature("", "")->lists, IsEmpty());
  const std::string empty = EntryOf(Ints({}));
  EXPECT_EQ(ReadFeature(empty, empty)->lists.size(), 1U);
}

TEST(FeatureTest, ReadsListsOfFeatures) {
  const std::string entry = EntryOf(StepsOf({Ints({1}), "", Ints({2, 3})}));
  const absl::StatusOr<std::vector<Feature>> features = ReadFeatureList(entry, entry);
  ASSERT_THAT(features, base::IsOk());
  ASSERT_EQ(features->size(), 3U);
  EXPECT_THAT((*features)[1].lists, IsEmpty());
  EXPECT_EQ((*features)[2].kind, FeatureKind::kInts);
}

TEST(FeatureTest, TellsWhatIsDamaged) {
  const auto error = [](const std::string& feature, auto value, FeatureKind kind) {
    return ValuesIn<decltype(value)>(EntryOf(feature), kind).status().ToString();
  };
  EXPECT_THAT(error(Field(2, Field(1, "12345")), 0.0F, FeatureKind::kFloats),
              HasSubstr("packed floats end inside of one at byte 12"));
  EXPECT_THAT(error(Field(3, Field(1, "\x05\xFF")), int64_t{0}, FeatureKind::kInts),
              HasSubstr("a number does not end at byte 13"));
  EXPECT_THAT(error("\x1A\x09", int64_t{0}, FeatureKind::kInts),
              HasSubstr("reaches beyond"));
  EXPECT_THAT(error(Field(1, "\x0A\x09"), std::string_view(), FeatureKind::kTexts),
              HasSubstr("reaches beyond"));
}

TEST(FeatureTest, ReadsPlainOnesTheQuickWay) {
  std::string feature = Ints({5, 300});
  std::string_view content = feature;
  ASSERT_TRUE(TakePlainContent(content, FeatureKind::kInts));
  int64_t ints[2] = {};
  EXPECT_TRUE(ReadPacked(content, 2, ints));
  EXPECT_THAT(ints, ElementsAre(5, 300));
  EXPECT_FALSE(ReadPacked(content, 1, ints));
  EXPECT_FALSE(ReadPacked(content.substr(1), 2, ints));
  float one = 0;
  EXPECT_TRUE(ReadPacked(PackedFloats({1.5F}), 1, &one));
  EXPECT_EQ(one, 1.5F);
  EXPECT_FALSE(ReadPacked("123", 1, &one));
  for (const std::string& odd : {Floats({1}), Ints({}), Ints({1}) + Ints({2}),
                                 Field(3, NumberField(1, 5)), std::string()}) {
    content = odd;
    EXPECT_FALSE(TakePlainContent(content, FeatureKind::kInts));
  }
}

}  // namespace
}  // namespace millrace::kernels
