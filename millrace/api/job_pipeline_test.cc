#include "millrace/api/job_pipeline.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/text.h"

namespace millrace::api {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::SizeIs;

ir::PipelineText With(const std::string& content) {
  ir::PipelineText pipeline{"millrace 1\n", {}};
  pipeline.attachments.Add(ir::Attachment(content));
  return pipeline;
}

// What a dispatcher keeps.
class Kept {
 public:
  explicit Kept(const PackedPipeline& packed) {
    for (const PutObject& object : packed.objects) texts[object.hash] = object.text;
  }

  absl::StatusOr<ir::PipelineText> Unpack(const std::string& hash) {
    return UnpackPipeline(
        hash, [this](const std::string& name) -> absl::StatusOr<std::string> {
          const auto found = texts.find(name);
          if (found == texts.end()) return absl::NotFoundError(name);
          return found->second;
        });
  }

  // Keeps a job in place of another; gives its hash.
  std::string Put(const JobPipeline& job) {
    const std::string text = ToJson(job);
    const std::string hash = base::ToHex(base::Sha256Of(text));
    texts[hash] = text;
    return hash;
  }

  std::map<std::string, std::string> texts;
};

TEST(JobPipelineTest, APlainOneIsItsText) {
  const PackedPipeline packed = PackPipeline({"millrace 1\n", {}}).value();
  ASSERT_THAT(packed.objects, SizeIs(1));
  EXPECT_EQ(packed.objects[0].text, "millrace 1\n");
  EXPECT_EQ(packed.objects[0].hash, packed.hash);
  EXPECT_EQ(Kept(packed).Unpack(packed.hash)->text, "millrace 1\n");
}

TEST(JobPipelineTest, BytesOfAnyKindComeBackAsTheyWere) {
  std::string content;
  for (int i = 0; i < 256; ++i) content.push_back(static_cast<char>(i));
  ir::PipelineText pipeline = With(content);
  pipeline.attachments.Add(ir::Attachment(""));
  const PackedPipeline packed = PackPipeline(pipeline).value();
  const ir::PipelineText again = Kept(packed).Unpack(packed.hash).value();
  EXPECT_EQ(again.text, pipeline.text);
  EXPECT_EQ(again.attachments.all(), pipeline.attachments.all());
}

TEST(JobPipelineTest, LargeOnesAreCutIntoPieces) {
  const std::string content(2 * kPieceBytes + 1, 'x');
  const PackedPipeline packed = PackPipeline(With(content)).value();
  ASSERT_THAT(packed.objects, SizeIs(4));  // Three, and what names them.
  for (const PutObject& object : packed.objects) {
    EXPECT_LE(std::ssize(object.text), kPieceBytes * 4 / 3 + 4);
  }
  const ir::PipelineText again = Kept(packed).Unpack(packed.hash).value();
  EXPECT_THAT(again.attachments.Find(ir::Attachment(content).hash()), IsOk());
}

TEST(JobPipelineTest, WhatIsTooLargeIsRefusedWithTheRemedy) {
  const std::string content(kAttachedBytesMax + 1, 'x');
  EXPECT_THAT(PackPipeline(With(content)),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("have 67108865 bytes, and at most 67108864 travel")));
}

TEST(JobPipelineTest, SizesAreCheckedBeforeAnythingIsFetched) {
  Kept kept(PackedPipeline{});
  for (const int64_t bytes : {kAttachedBytesMax + 1, int64_t{-1}}) {
    const std::string hash = kept.Put({"", {{bytes, {"missing"}}}});
    EXPECT_THAT(kept.Unpack(hash), StatusIs(StatusCode::kInvalidArgument));
  }
  const std::string both = kept.Put(
      {"", {{kAttachedBytesMax, {"missing"}}, {kAttachedBytesMax, {"missing"}}}});
  EXPECT_THAT(kept.Unpack(both), StatusIs(StatusCode::kInvalidArgument));
}

TEST(JobPipelineTest, PiecesThatDoNotFitAreAnError) {
  Kept kept(PackPipeline(With("abc")).value());
  const std::string piece = base::ToHex(base::Sha256Of("YWJj"));
  ASSERT_TRUE(kept.texts.contains(piece));
  for (const AttachedBytes& wrong :
       {AttachedBytes{2, {piece}}, AttachedBytes{4, {piece}},
        AttachedBytes{3, {piece, piece}}, AttachedBytes{3, {}}}) {
    EXPECT_THAT(kept.Unpack(kept.Put({"", {wrong}})),
                StatusIs(StatusCode::kDataLoss, HasSubstr("did not come whole")));
  }
  kept.texts[piece] = "no base64!";
  EXPECT_THAT(kept.Unpack(kept.Put({"", {{3, {piece}}}})),
              StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(kept.Unpack(kept.Put({"", {{3, {"missing"}}}})),
              StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace::api
