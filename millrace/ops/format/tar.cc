// Rows as members of tar files, as WebDataset has them: `<key>.<field>` for each field,
// the key being the field `__key__`, or the row's number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/save_format.h"
#include "millrace/ops/source/tar_types.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/tar_writer.h"

namespace millrace::ops {
namespace {

// What read_tar gives back must be what was saved.
absl::Status CheckField(const core::FieldSpec& field) {
  const bool is_key = field.name == kTarKey;
  const core::DType wanted = is_key ? core::DType::kString : TarTypeOf(field.name);
  if (field.dtype == wanted && field.shape.is_scalar()) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "tar files cannot hold ", core::Spec({field}).ToString(), ": a field `",
      field.name, "` is read as one value of type ", core::Name(wanted),
      "; encode it, or give it another name, with map (numbers are `cls` or `index`, "
      "texts `txt`, all else bytes), or save in another format"));
}

absl::Status CheckTar(const core::Spec& spec) {
  for (const core::FieldSpec& field : spec.fields()) TRY(CheckField(field));
  const bool has_fields = std::ranges::any_of(
      spec.fields(), [](const core::FieldSpec& f) { return f.name != kTarKey; });
  if (has_fields) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "tar files cannot hold rows without fields besides __key__");
}

// The key is always there, behind all fields.
core::Spec KeyLast(const core::Spec& spec) {
  std::vector<core::FieldSpec> fields = spec.fields();
  std::erase_if(fields, [](const core::FieldSpec& f) { return f.name == kTarKey; });
  fields.push_back({std::string(kTarKey), core::DType::kString, {}});
  return core::Spec(std::move(fields));
}

class TarFile final : public RowsFile {
 public:
  TarFile(std::unique_ptr<storage::BlobWriter> file, int64_t first_row)
      : tar_(std::move(file)), number_(first_row) {}

  absl::Status Append(const core::Block& rows) override {
    const core::Column* const keys = rows.Find(kTarKey);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const std::string key = keys == nullptr ? absl::StrFormat("%09d", number_)
                                              : std::string(keys->TextAt(row));
      TRY(AddRow(rows, row, key));
      ++number_;
    }
    return absl::OkStatus();
  }

  int64_t bytes() const override { return bytes_; }

  absl::Status Publish() override { return tar_.Publish(); }

 private:
  // Neighbours of one key would become one row.
  absl::Status AddRow(const core::Block& rows, int64_t row, const std::string& key) {
    const std::string_view name = std::string_view(key).substr(key.rfind('/') + 1);
    if (key == last_key_ || name.empty() || name.find('.') != std::string_view::npos) {
      return absl::InvalidArgumentError(
          base::StrCat("row ", number_,
                       ": its __key__ must be other than that of the row before, "
                       "and have no dot: ",
                       key));
    }
    last_key_ = key;
    for (size_t i = 0; i < rows.columns().size(); ++i) {
      if (rows.names()[i] == kTarKey) continue;
      const std::string content = TRY(ContentOf(rows.columns()[i], row));
      TRY(tar_.Add(base::StrCat(key, ".", rows.names()[i]), content));
      bytes_ += kMemberBytes + static_cast<int64_t>(content.size());
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::string> ContentOf(const core::Column& column,
                                               int64_t row) {
    if (core::IsVariable(column.dtype())) return std::string(column.TextAt(row));
    const core::Tensor value = TRY(column.Row(row));
    return base::StrCat(value.As<int64_t>()[0]);
  }

  static constexpr int64_t kMemberBytes = 512 + 256;  // Head and padding, in the mean.

  storage::TarWriter tar_;
  int64_t number_;
  std::string last_key_;
  int64_t bytes_ = 0;
};

}  // namespace

SaveFormat TarFormat() {
  return {.name = "tar",
          .ending = ".tar",
          .doc = "As WebDataset reads it: bytes, texts `txt`, numbers `cls`",
          .check = CheckTar,
          .numbers_rows =
              [](const core::Spec& spec) { return spec.Find(kTarKey) == nullptr; },
          .read_as = KeyLast,
          .begin =
              [](std::unique_ptr<storage::BlobWriter> file,
                 const RowsFileContext& context) {
                return std::make_unique<TarFile>(std::move(file), context.first_row);
              }};
}

}  // namespace millrace::ops
