#include "millrace/api/job_pipeline.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"

#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/text.h"

namespace millrace::api {
namespace {

using GetObjectText =
    absl::FunctionRef<absl::StatusOr<std::string>(const std::string& hash)>;

// Adds an object, and gives its name.
std::string Keep(std::string text, PackedPipeline& packed) {
  std::string hash = base::ToHex(base::Sha256Of(text));
  packed.objects.push_back({hash, std::move(text)});
  return hash;
}

AttachedBytes Cut(std::string_view content, PackedPipeline& packed) {
  AttachedBytes attached{.bytes = std::ssize(content)};
  for (int64_t begin = 0; begin < std::ssize(content); begin += kPieceBytes) {
    const std::string_view piece = content.substr(begin, kPieceBytes);
    attached.pieces.push_back(Keep(absl::Base64Escape(base::ToAbsl(piece)), packed));
  }
  return attached;
}

absl::Status CheckSize(int64_t bytes) {
  if (bytes >= 0 && bytes <= kAttachedBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "arrays and functions of a pipeline have ", bytes, " bytes, and at most ",
      kAttachedBytesMax,
      " travel to a service with it: save the rows in files that workers can read, "
      "and read those"));
}

absl::StatusOr<std::string> Join(const AttachedBytes& attached, GetObjectText get) {
  const int64_t pieces = (attached.bytes + kPieceBytes - 1) / kPieceBytes;
  std::string content;
  bool fits = std::ssize(attached.pieces) == pieces;
  for (const std::string& hash : attached.pieces) {
    std::string piece;
    const std::string text = TRY(get(hash));
    fits = fits && absl::Base64Unescape(text, &piece);
    fits = fits && std::ssize(content) + std::ssize(piece) <= attached.bytes;
    if (!fits) break;
    content += piece;
  }
  if (fits && std::ssize(content) == attached.bytes) return content;
  return absl::DataLossError("what stands beside a pipeline did not come whole");
}

}  // namespace

absl::StatusOr<PackedPipeline> PackPipeline(const ir::PipelineText& pipeline) {
  PackedPipeline packed;
  if (pipeline.attachments.all().empty()) {
    packed.hash = Keep(pipeline.text, packed);
    return packed;
  }
  int64_t bytes = 0;
  for (const auto& [hash, attachment] : pipeline.attachments.all()) {
    bytes += std::ssize(attachment.content());
  }
  TRY(CheckSize(bytes));
  JobPipeline job{.text = pipeline.text};
  for (const auto& [hash, attachment] : pipeline.attachments.all()) {
    job.attached.push_back(Cut(attachment.content(), packed));
  }
  packed.hash = Keep(ToJson(job), packed);
  return packed;
}

absl::StatusOr<ir::PipelineText> UnpackPipeline(const std::string& hash,
                                                GetObjectText get) {
  std::string text = TRY(get(hash));
  if (!text.starts_with('{')) return ir::PipelineText{std::move(text), {}};
  JobPipeline job = TRY(FromJson<JobPipeline>(text));
  int64_t bytes = 0;
  for (const AttachedBytes& attached : job.attached) {
    TRY(CheckSize(attached.bytes));
    bytes += attached.bytes;
    TRY(CheckSize(bytes));
  }
  ir::PipelineText pipeline{std::move(job.text), {}};
  for (const AttachedBytes& attached : job.attached) {
    pipeline.attachments.Add(ir::Attachment(TRY(Join(attached, get))));
  }
  return pipeline;
}

}  // namespace millrace::api
