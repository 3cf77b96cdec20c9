#include "millrace/ops/saved_set.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/types/span.h"

#include "millrace/base/json_text.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/json.h"
#include "millrace/codec/json_text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBytesMax = int64_t{1} << 30;

absl::Status Damaged(std::string_view how) {
  return absl::DataLossError(base::StrCat("list of saved files is damaged: ", how));
}

absl::StatusOr<std::string> TextOf(const codec::JsonValue& value) {
  std::string text(value.text);
  const std::optional<size_t> size = codec::UnescapeJson(value.text, text.data());
  if (value.kind != codec::JsonValue::Kind::kString || !size) {
    return Damaged("a text is none");
  }
  text.resize(*size);
  return text;
}

absl::StatusOr<SavedFile> FileOf(std::string_view name, const codec::JsonValue& rows) {
  SavedFile file = {.name = std::string(name)};
  const bool plain = !name.empty() && name.find('/') == std::string_view::npos;
  if (!plain || !absl::SimpleAtoi(base::ToAbsl(rows.text), &file.rows) ||
      file.rows < 0 || file.rows > lanes::kRowsMax) {
    return Damaged(base::StrCat("it says absurd things of a file: ", name));
  }
  return file;
}

absl::StatusOr<SavedSet> Parsed(std::string bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + codec::kJsonSlack);
  const std::string_view text = std::string_view(bytes).substr(0, size);
  std::vector<codec::JsonValue> values(4);
  codec::JsonPicker picker({"millrace", "format", "fields", "files"});
  TRY(picker.Pick(text, absl::MakeSpan(values)));
  if (values[0].text != "1") return Damaged("it is not of this version");
  if (values[3].kind != codec::JsonValue::Kind::kObject) return Damaged("no files");
  SavedSet saved = {
      .format = TRY(TextOf(values[1])), .fields = TRY(TextOf(values[2])), .files = {}};
  absl::Status status;
  codec::JsonPicker members({});
  TRY(members.ForEachMember(values[3].text,
                            [&](std::string_view name, const codec::JsonValue& rows) {
                              absl::StatusOr<SavedFile> file = FileOf(name, rows);
                              status.Update(file.status());
                              if (file.ok()) saved.files.push_back(*std::move(file));
                            }));
  TRY(status);
  return saved;
}

}  // namespace

std::string SavedSetPath(const std::string& folder) {
  return base::StrCat(folder, "/saved.json");
}

absl::Status WriteSavedSet(const storage::BlobStore& store, const std::string& folder,
                           const SavedSet& saved) {
  std::string text = base::StrCat(
      "{\"millrace\": 1,\n \"format\": ", base::JsonText(saved.format),
      ",\n \"fields\": ", base::JsonText(saved.fields), ",\n \"files\": {");
  std::string_view between = "\n  ";
  for (const SavedFile& file : saved.files) {
    text += base::StrCat(between, base::JsonText(file.name), ": ", file.rows);
    between = ",\n  ";
  }
  text += "}}\n";
  const std::unique_ptr<storage::BlobWriter> writer =
      TRY(store.Create(SavedSetPath(folder)));
  TRY(writer->Append(text));
  return writer->Publish(storage::Sync::kNow);
}

absl::StatusOr<SavedSet> ReadSavedSet(const storage::BlobStore& store,
                                      const std::string& folder) {
  const std::string path = SavedSetPath(folder);
  const absl::StatusOr<storage::BlobInfo> info = store.Find(path);
  if (absl::IsNotFound(info.status())) {
    return absl::NotFoundError(
        base::StrCat("nothing was saved there, or not to its end: ", folder,
                     " has no saved.json; check the spelling, or save it (again)"));
  }
  TRY(info.status());
  absl::StatusOr<SavedSet> saved =
      Parsed(TRY(storage::ReadWhole(store, *info, kBytesMax)));
  if (!saved.ok()) return base::Annotate(saved.status(), path);
  return saved;
}

}  // namespace millrace::ops
