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
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

#include "millrace/base/json_text.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/json.h"
#include "millrace/codec/json_text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/glob.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBytesMax = int64_t{1} << 30;
constexpr char kFilePattern[] = "/rows-[0-9][0-9][0-9][0-9][0-9][0-9]*";

absl::Status Damaged(std::string_view how) {
  return absl::DataLossError(base::StrCat("list of saved files is damaged: ", how));
}

// Members of an object that is all of a file.
class Members {
 public:
  static absl::StatusOr<Members> Of(std::string bytes, std::vector<std::string> names) {
    Members members;
    const size_t size = bytes.size();
    bytes.resize(size + codec::kJsonSlack);
    members.bytes_ = std::make_unique<const std::string>(std::move(bytes));
    members.values_.resize(names.size());
    codec::JsonPicker picker(std::move(names));
    TRY(picker.Pick(std::string_view(*members.bytes_).substr(0, size),
                    absl::MakeSpan(members.values_)));
    return members;
  }

  const codec::JsonValue& operator[](size_t place) const { return values_[place]; }

  absl::StatusOr<std::string> TextAt(size_t place) const {
    const codec::JsonValue& value = values_[place];
    std::string text(value.text);
    const std::optional<size_t> size = codec::UnescapeJson(value.text, text.data());
    if (value.kind != codec::JsonValue::Kind::kString || !size) {
      return Damaged("a text is none");
    }
    text.resize(*size);
    return text;
  }

  absl::StatusOr<int64_t> CountAt(size_t place) const {
    int64_t count = 0;
    const bool read = absl::SimpleAtoi(base::ToAbsl(values_[place].text), &count);
    if (!read || count < 0 || count > lanes::kRowsMax) return Damaged("absurd number");
    return count;
  }

 private:
  std::unique_ptr<const std::string> bytes_;  // Which values point into.
  std::vector<codec::JsonValue> values_;
};

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
  const Members members =
      TRY(Members::Of(std::move(bytes), {"millrace", "format", "fields", "files"}));
  if (members[0].text != "1") return Damaged("it is not of this version");
  if (members[3].kind != codec::JsonValue::Kind::kObject) return Damaged("no files");
  SavedSet saved = {
      .format = TRY(members.TextAt(1)), .fields = TRY(members.TextAt(2)), .files = {}};
  absl::Status status;
  codec::JsonPicker files({});
  TRY(files.ForEachMember(members[3].text,
                          [&](std::string_view name, const codec::JsonValue& rows) {
                            absl::StatusOr<SavedFile> file = FileOf(name, rows);
                            status.Update(file.status());
                            if (file.ok()) saved.files.push_back(*std::move(file));
                          }));
  TRY(status);
  return saved;
}

absl::StatusOr<UnfinishedSet> ParsedUnfinished(std::string bytes) {
  const Members members =
      TRY(Members::Of(std::move(bytes), {"millrace", "format", "fields", "name",
                                         "ending", "lanes", "beats", "failed"}));
  if (members[0].text != "1") return Damaged("it is not of this version");
  UnfinishedSet saving = {.format = TRY(members.TextAt(1)),
                          .fields = TRY(members.TextAt(2)),
                          .name = TRY(members.TextAt(3)),
                          .ending = TRY(members.TextAt(4)),
                          .lanes = TRY(members.CountAt(5)),
                          .beats = TRY(members.CountAt(6)),
                          .failed = TRY(members.TextAt(7))};
  const bool plain = (saving.name + saving.ending).find('/') == std::string::npos;
  if (!plain) return Damaged("its files are in other folders");
  return saving;
}

absl::Status Write(const storage::BlobStore& store, const std::string& path,
                   const std::string& text, storage::Sync sync) {
  const std::unique_ptr<storage::BlobWriter> writer = TRY(store.Create(path));
  TRY(writer->Append(text));
  return writer->Publish(sync);
}

// The file and what it says; errors name it.
template <typename Set>
absl::StatusOr<Set> Read(const storage::BlobStore& store, const std::string& path,
                         absl::StatusOr<Set> (*parse)(std::string),
                         const absl::Status& missing) {
  const absl::StatusOr<storage::BlobInfo> info = store.Find(path);
  if (absl::IsNotFound(info.status())) return missing;
  TRY(info.status());
  absl::StatusOr<Set> set = parse(TRY(storage::ReadWhole(store, *info, kBytesMax)));
  if (!set.ok()) return base::Annotate(set.status(), path);
  return set;
}

}  // namespace

std::string SavedFileName(int64_t number, const std::string& name,
                          const std::string& ending) {
  return base::StrCat(absl::StrFormat("rows-%06d", number), name.empty() ? "" : "-",
                      name, ending);
}

std::string SavedSetPath(const std::string& folder) {
  return base::StrCat(folder, "/saved.json");
}

std::string UnfinishedSetPath(const std::string& folder) {
  return base::StrCat(folder, "/saving.json");
}

std::string SaveStatePath(const std::string& folder) {
  return base::StrCat(folder, "/saving-state.json");
}

absl::Status ClearSavedSet(const storage::BlobStore& store, const std::string& folder,
                           bool replace) {
  const bool complete = store.Find(SavedSetPath(folder)).ok();
  const bool begun = store.Find(SaveStatePath(folder)).ok();
  if ((complete || begun) && !replace) {
    return absl::AlreadyExistsError(base::StrCat(
        complete ? "something was saved there before: "
                 : "something is being saved there by a service: ",
        folder, "; give another folder, or say that it is to be replaced"));
  }
  TRY(store.Remove(SavedSetPath(folder)));
  TRY(store.Remove(SaveStatePath(folder)));
  TRY(store.Remove(UnfinishedSetPath(folder)));
  const auto old = store.List({base::StrCat(storage::Escape(folder), kFilePattern)});
  if (absl::IsNotFound(old.status())) return absl::OkStatus();
  TRY(old.status());
  for (const storage::BlobInfo& file : *old) TRY(store.Remove(file.path));
  return absl::OkStatus();
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
  return Write(store, SavedSetPath(folder), text, storage::Sync::kNow);
}

// Who reads it needs it only while it is written again and again.
absl::Status WriteUnfinishedSet(const storage::BlobStore& store,
                                const std::string& folder,
                                const UnfinishedSet& saving) {
  const std::string text =
      base::StrCat("{\"millrace\": 1,\n \"format\": ", base::JsonText(saving.format),
                   ",\n \"fields\": ", base::JsonText(saving.fields),
                   ",\n \"name\": ", base::JsonText(saving.name),
                   ",\n \"ending\": ", base::JsonText(saving.ending),
                   ",\n \"lanes\": ", saving.lanes, ",\n \"beats\": ", saving.beats,
                   ",\n \"failed\": ", base::JsonText(saving.failed), "}\n");
  return Write(store, UnfinishedSetPath(folder), text, storage::Sync::kLater);
}

absl::StatusOr<SavedSet> ReadSavedSet(const storage::BlobStore& store,
                                      const std::string& folder) {
  const absl::Status missing = absl::NotFoundError(
      base::StrCat("nothing was saved there, or not to its end: ", folder,
                   " has no saved.json; check the spelling, or save it (again)"));
  return Read(store, SavedSetPath(folder), &Parsed, missing);
}

absl::StatusOr<UnfinishedSet> ReadUnfinishedSet(const storage::BlobStore& store,
                                                const std::string& folder) {
  const absl::Status missing =
      absl::NotFoundError(base::StrCat("nothing is being saved there: ", folder));
  return Read(store, UnfinishedSetPath(folder), &ParsedUnfinished, missing);
}

}  // namespace millrace::ops
