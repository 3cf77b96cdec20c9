#include "millrace/cli/save_on_service.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/service_flags.h"
#include "millrace/client/save.h"
#include "millrace/ir/pipeline.h"

namespace millrace::cli {
namespace {

// A line on a terminal that is written over until it is taken away.
class ProgressLine {
 public:
  ProgressLine() : seen_(isatty(STDERR_FILENO) == 1), begin_(Now()) {}

  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  ~ProgressLine() {
    if (shown_) std::cerr << kToLineStart;
  }

  void Show(const client::SaveProgress& progress) {
    if (!seen_ || Now() < next_) return;
    next_ = Now() + absl::Milliseconds(200);
    shown_ = true;
    std::cerr << kToLineStart << ShowProgress(progress, Now() - begin_) << std::flush;
  }

 private:
  static constexpr char kToLineStart[] = "\r\x1b[K";

  static absl::Time Now() { return base::RealClock().Now(); }

  const bool seen_;
  const absl::Time begin_;
  absl::Time next_ = absl::InfinitePast();
  bool shown_ = false;
};

}  // namespace

std::string ShowProgress(const client::SaveProgress& progress, absl::Duration since) {
  if (progress.lanes == 0) return "waiting for the service";
  std::string line = base::StrCat("lane ", progress.done, " of ", progress.lanes, ", ",
                                  base::ToString(base::Bytes(progress.bytes)));
  const auto own = static_cast<double>(progress.done - progress.before);
  const auto left = static_cast<double>(progress.lanes - progress.done);
  if (own == 0) return line;
  const double seconds = absl::ToDoubleSeconds(since) / own * left;
  return line + absl::StrFormat(", %.0f s left", seconds);
}

absl::StatusOr<client::SaveProgress> SaveOnService(const ir::Pipeline& pipeline,
                                                   const SaveJob& job,
                                                   const SaveJobFlags& flags) {
  client::ConsumerOptions service;
  service.dispatcher = TRY(http::ReadAddress(flags.service));
  service.client = TRY(ClientOptionsOf(flags.flags));
  ProgressLine line;
  const auto show = [&](const client::SaveProgress& progress) {
    line.Show(progress);
    return false;
  };
  return client::Save(pipeline, {.folder = std::filesystem::absolute(job.folder),
                                 .format = job.format,
                                 .replace = job.replace,
                                 .seed = job.seed,
                                 .service = service,
                                 .interrupt = show});
}

}  // namespace millrace::cli
