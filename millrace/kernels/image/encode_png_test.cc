#include "millrace/kernels/image/encode_png.h"

#include "absl/types/span.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/decode_png.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

TEST(EncodePngTest, LosesNothing) {
  for (const ImageSize size : {ImageSize{1, 1}, {40, 50}, {3, 700}}) {
    const Picture drawn = Draw(size, kColours, 255);
    Picture decoded = Blank(size);
    ASSERT_THAT(DecodePng(EncodePng(drawn.view()), absl::MakeSpan(decoded.pixels)),
                base::IsOk());
    EXPECT_EQ(decoded.pixels, drawn.pixels);
  }
}

TEST(EncodePngTest, TakesPartsOfImages) {
  const Picture drawn = Draw({40, 50});
  const Box box = {.top = 3, .left = 5, .height = 20, .width = 30};
  EXPECT_EQ(EncodePng(PartOf(drawn.view(), box)), EncodePng(Cut(drawn, box).view()));
}

TEST(EncodePngTest, RequiresColoursAndPixels) {
  EXPECT_DEATH(EncodePng(Draw({4, 4}, 1).view()), "");
  EXPECT_DEATH(EncodePng(Blank({0, 4}).view()), "");
}

}  // namespace
}  // namespace millrace::kernels
