#include "millrace/bench/image_pipeline.h"

#include <string>

#include "millrace/base/text.h"
#include "millrace/ir/literal.h"

namespace millrace::bench {

std::string ImagePipeline(const ImagePipelineOptions& options) {
  const std::string image =
      "flip_horizontal(random_resized_crop(decode_image(.jpg), height=224, width=224), "
      "uniform(0.0, 1.0) < 0.5)";
  const std::string result =
      options.floats
          ? base::StrCat("normalize(", image,
                         ", mean=[0.485, 0.456, 0.406], deviation=[0.229, 0.224, "
                         "0.225], layout=\"chw\")")
          : image;
  const std::string repeated =
      options.repeats == 1
          ? "%1 = prefetch(%0)\n"
          : base::StrCat("%1 = repeat(%0, count=", options.repeats, ")\n");
  return base::StrCat("%0 = read_tar(paths=[", ir::Quote(options.pattern),
                      "], fields=[\"jpg\", \"cls\"])\n", repeated,
                      "%2 = map(%1, function={image: ", result,
                      ", label: .cls})\n%3 = batch(%2, size=256)\n");
}

}  // namespace millrace::bench
