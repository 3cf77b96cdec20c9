#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/beside_peer.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/workload.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"

namespace millrace::bench {
namespace {

constexpr int64_t kImages = 64;
constexpr int64_t kHeight = 375;
constexpr int64_t kWidth = 500;

// Of noise: the work does not depend on what is in an image.
ir::Attachment Images() {
  base::Generator draw(base::RandomKey(1, 0, 0), {});
  std::vector<uint8_t> pixels(kImages * kHeight * kWidth * 3);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(draw.Next64());
  return ir::EncodeTensor(
      core::Tensor::FromValues<uint8_t>(pixels, {kImages, kHeight, kWidth, 3}));
}

absl::StatusOr<ir::Pipeline> Augmented() {
  const ir::Attachment images = Images();
  ir::Attachments attachments;
  attachments.Add(images);
  const std::string text = base::StrCat(
      "%0 = from_arrays(names=[\"image\"], arrays=[@", base::ToHex(images.hash()), "])",
      "%1 = map(%0, function={image: "
      "random_gaussian_blur(random_grayscale(color_jitter("
      "random_flip(random_resized_crop(.image, height=224, width=224, "
      "antialias=true)), "
      "brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, p=0.8), p=0.2), "
      "kernel_size=23, p=0.5)})\n%2 = batch(%1, size=64)");
  return ir::Parse(text, attachments, ops::DefaultLibrary().catalog());
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSimclr(const BenchOptions& options) {
  const ir::Pipeline pipeline = TRY(Augmented());
  exec::Engine engine(ImageEngine(options.threads));
  return BesidePeer(
      options,
      {.program = "simclr",
       .arguments = {base::StrCat(kImages), base::StrCat(options.threads)}},
      [&] { return PassRate(pipeline, engine, kImages); },
      {.name = "crop, flip, jitter, grey, blur (SimCLR)",
       .unit = "images/s",
       .limit_is = "torchvision v2 on tensors",
       .bar = 2.0});
}

}  // namespace millrace::bench
