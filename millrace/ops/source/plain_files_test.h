// For tests: makes sources that read files, reads them, and gives the rows as plain
// texts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

using PlainRow = std::map<std::string, std::string>;

struct PlainRows {
  std::vector<PlainRow> rows;
  std::vector<core::RowId> ids;
};

inline std::string PlainValue(const core::Column& column, int64_t row) {
  if (!core::IsVariable(column.dtype())) {
    return base::StrCat(column.As<int64_t>()[row]);
  }
  return std::string(column.Row(row)->TextAt(0));
}

inline PlainRows ToPlain(const std::vector<core::Block>& blocks) {
  PlainRows plain;
  for (const core::Block& block : blocks) {
    for (int64_t row = 0; row < block.rows(); ++row) {
      PlainRow values;
      for (const std::string& name : block.names()) {
        values[name] = PlainValue(*block.Find(name), row);
      }
      plain.rows.push_back(std::move(values));
      plain.ids.push_back(block.IdAt(row));
    }
  }
  return plain;
}

inline absl::StatusOr<std::unique_ptr<Source>> MakeFileSource(
    std::string_view call, const SourceContext& context) {
  const ir::Pipeline node =
      TRY(ir::Parse(base::StrCat("%0 = ", call), {}, DefaultLibrary().catalog()));
  return DefaultLibrary().MakeSource(node, context);
}

// The rows that are to be read of a split.
inline lanes::RowRange WholeSplit(const lanes::Manifest& manifest, int64_t split) {
  return {split, 0, manifest.splits[split].rows.value_or(lanes::kRowsMax)};
}

// Lists and reads everything that a source gives.
inline absl::StatusOr<PlainRows> ReadPlain(std::string_view call,
                                           BadRows& bad_rows = NoBadRows()) {
  const std::unique_ptr<Source> source =
      TRY(MakeFileSource(call, {.pool = core::HeapPool()}));
  const lanes::Manifest manifest = TRY(source->List());
  TRY(lanes::Check(manifest));
  std::vector<core::Block> blocks;
  for (int64_t split = 0; split < std::ssize(manifest.splits); ++split) {
    for (core::Block& block :
         TRY(ReadAll(*source, WholeSplit(manifest, split), bad_rows))) {
      blocks.push_back(std::move(block));
    }
  }
  return ToPlain(blocks);
}

// One field of all rows.
inline absl::StatusOr<std::vector<std::string>> ReadField(
    std::string_view call, const std::string& field, BadRows& bad_rows = NoBadRows()) {
  const PlainRows plain = TRY(ReadPlain(call, bad_rows));
  std::vector<std::string> values;
  values.reserve(plain.rows.size());
  for (const PlainRow& row : plain.rows) values.push_back(row.at(field));
  return values;
}

// read_text(paths=["a"]) and the like.
inline std::string Call(std::string_view source, std::string_view path,
                        std::string_view more = "") {
  return base::StrCat(source, "(paths=[\"", path, "\"]", more, ")");
}

// Writes the index of a file beside it.
inline void AddIndex(const std::string& path, storage::RowFormat format) {
  const storage::BlobStore& files = storage::ProcessFiles();
  const storage::BlobInfo info = *files.Find(path);
  const auto index =
      storage::BuildIndex(**files.Open(info), *storage::MakeScanner(format));
  CHECK(index.ok()) << index.status();
  CHECK(storage::SaveIndex(files, info, format, *index).ok());
}

// The spec of a source.
inline absl::StatusOr<std::string> SpecOf(const std::string& call) {
  const ir::Pipeline node =
      TRY(ir::Parse(base::StrCat("%0 = ", call), {}, DefaultLibrary().catalog()));
  return node.spec().ToString();
}

// A field of every row, as Tensor prints it.
inline absl::StatusOr<std::vector<std::string>> Values(
    const std::string& call, const std::string& field,
    BadRows& bad_rows = NoBadRows()) {
  const std::unique_ptr<Source> source =
      TRY(MakeFileSource(call, {.pool = core::HeapPool()}));
  const lanes::Manifest manifest = TRY(source->List());
  std::vector<std::string> values;
  for (int64_t split = 0; split < std::ssize(manifest.splits); ++split) {
    for (const core::Block& block :
         TRY(ReadAll(*source, WholeSplit(manifest, split), bad_rows))) {
      for (int64_t row = 0; row < block.rows(); ++row) {
        values.push_back(TRY(block.Find(field)->Row(row)).ToString());
      }
    }
  }
  return values;
}

}  // namespace millrace::ops
