// A pipeline as it travels to a service: things that are kept by the hash of what they
// are. A plain one is its text. Where arrays or functions stand beside it, it is a
// JobPipeline, as JSON, which names their bytes in pieces: a request carries only so
// much, and JSON only text. Pure.
//
//   const PackedPipeline packed = TRY(PackPipeline(ir::Print(pipeline)));
//   for (const PutObject& object : packed.objects) …      // Kept; its name is
//   settings.pipeline = packed.hash;
//   ...
//   const ir::PipelineText text = TRY(UnpackPipeline(hash, get));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include <boost/describe.hpp>

#include "millrace/api/service.h"
#include "millrace/ir/text.h"

namespace millrace::api {

// All bytes beside one pipeline together, and those of a piece.
inline constexpr int64_t kAttachedBytesMax = int64_t{64} << 20;
inline constexpr int64_t kPieceBytes = int64_t{4} << 20;

// Bytes beside a pipeline's text.
struct AttachedBytes {
  int64_t bytes = 0;
  std::vector<std::string> pieces = {};  // Hashes of their text, which is base64.

  bool operator==(const AttachedBytes&) const = default;
};

BOOST_DESCRIBE_STRUCT(AttachedBytes, (), (bytes, pieces))

struct JobPipeline {
  std::string text = {};
  std::vector<AttachedBytes> attached = {};

  bool operator==(const JobPipeline&) const = default;
};

BOOST_DESCRIBE_STRUCT(JobPipeline, (), (text, attached))

struct PackedPipeline {
  std::string hash = {};  // Of the last object.
  std::vector<PutObject> objects = {};
};

// Fails where there is more beside it than kAttachedBytesMax.
absl::StatusOr<PackedPipeline> PackPipeline(const ir::PipelineText& pipeline);

// Gets what PackPipeline made. The bytes are named by their content when it is parsed,
// so that others than those that were meant are never used.
absl::StatusOr<ir::PipelineText> UnpackPipeline(
    const std::string& hash,
    absl::FunctionRef<absl::StatusOr<std::string>(const std::string& hash)> get);

}  // namespace millrace::api
