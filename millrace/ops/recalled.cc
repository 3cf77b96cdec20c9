#include "millrace/ops/recalled.h"

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

absl::Status Recall(Source& source, const lanes::Manifest& listed) {
  TRY(lanes::Check(listed));
  auto* const recalls = dynamic_cast<Recalls*>(&source);
  if (recalls != nullptr) return recalls->Recall(listed);
  return lanes::CheckSame(listed, TRY(source.List()));
}

}  // namespace millrace::ops
