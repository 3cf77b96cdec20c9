// The kernel that reads a file named in a row. It stands here and not with the other
// kernels since those know no files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {
namespace {

constexpr int64_t kFileBytesMax = int64_t{2} << 30;

absl::StatusOr<ir::ValueType> InferReadFile(const ir::KernelTypes& types) {
  const ir::ValueType& path = types.operands[0];
  if (!core::IsVariable(path.dtype) || !path.shape.is_scalar()) {
    return absl::InvalidArgumentError(
        base::StrCat("the path must be one text, not ", ir::ToString(path)));
  }
  return ir::ValueType{.dtype = core::DType::kBytes, .shape = {}};
}

// A row may name a file that is not there; all else is wrong with the world.
absl::StatusOr<storage::BlobInfo> Find(const storage::BlobStore& store,
                                       const std::string& path) {
  absl::StatusOr<storage::BlobInfo> info = store.Find(path);
  if (absl::IsNotFound(info.status()) || absl::IsInvalidArgument(info.status())) {
    return absl::InvalidArgumentError(info.status().message());
  }
  if (info.ok() && info->bytes > kFileBytesMax) {
    return absl::InvalidArgumentError(base::StrCat(
        "file is too long to be a field: ", path, " has ", info->bytes, " bytes"));
  }
  return info;
}

absl::StatusOr<core::Tensor> ReadFile(const storage::BlobStore& store,
                                      const std::string& path, core::Pool& pool) {
  const storage::BlobInfo info = TRY(Find(store, path));
  const std::unique_ptr<storage::Blob> file = TRY(store.Open(info));
  core::Buffer content = TRY(pool.Allocate(info.bytes));
  if (info.bytes > 0) TRY(file->Read(0, content.MutableAs<std::byte>()));
  core::Buffer offsets = TRY(pool.AllocateFor<int64_t>(2));
  offsets.MutableAs<int64_t>()[0] = 0;
  offsets.MutableAs<int64_t>()[1] = info.bytes;
  return core::Tensor::Texts(core::DType::kBytes, {}, std::move(offsets),
                             std::move(content));
}

// Names are below the root, where one is given; those that begin with a slash are not.
std::string PathOf(const std::string& root, std::string_view name) {
  if (root.empty() || name.starts_with('/')) return std::string(name);
  return base::StrCat(root, "/", name);
}

absl::StatusOr<core::Column> RunReadFile(const ir::KernelCall& call) {
  const auto& root = call.arguments["root"].As<std::string>();
  return kernels::RowByRow(call, [&](int64_t row) -> absl::StatusOr<core::Tensor> {
    const core::Tensor name = TRY(kernels::RowOf(call.operands[0], row));
    return ReadFile(storage::ProcessFiles(), PathOf(root, name.TextAt(0)), call.pool);
  });
}

}  // namespace

ir::KernelSchema ReadFileKernel() {
  return {
      .name = "read_file",
      .doc =
          "Reads the file that a row names. A file that is not there is an error of "
          "the row. A cache behind it does not notice when such a file changes.",
      .operands = {{"path", "The file's path: one text."}},
      .arguments = {{.name = "root",
                     .type = ir::ArgumentType::kText,
                     .doc = "The folder that paths begin in, but for those that "
                            "begin with a slash.",
                     .default_value = ""}},
      .reads_files = true,
      .fails = ir::Fails::kOnData,
      .infer = InferReadFile,
      .run = RunReadFile};
}

}  // namespace millrace::ops
