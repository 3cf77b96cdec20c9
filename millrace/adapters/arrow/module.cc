#include "millrace/adapters/arrow/module.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/adapters/arrow/interface.h"
#include "millrace/base/mutex.h"
#include "millrace/base/shared_library.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::arrow {
namespace {

constexpr char kVariable[] = "MILLRACE_ARROW_MODULE";
constexpr char kName[] = "libmillrace_arrow.so";

// Where the module may be: beside the program, and beside the library we are in.
std::vector<std::string> Places() {
  const char* const set = std::getenv(kVariable);  // NOLINT(concurrency-*)
  if (set != nullptr) return {set};
  std::vector<std::string> places;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) places.push_back(program.parent_path() / kName);
  const std::string here = base::LibraryOf(reinterpret_cast<const void*>(&OpenModule));
  if (!here.empty()) {
    const std::string place =
        std::filesystem::absolute(here, ignored).parent_path() / kName;
    if (places.empty() || places[0] != place) places.push_back(place);
  }
  return places;
}

absl::StatusOr<const MillraceArrowFunctions*> FindModule() {
  const std::vector<std::string> places = Places();
  for (const std::string& place : places) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored)) return OpenModuleAt(place.c_str());
  }
  return absl::FailedPreconditionError(base::StrCat(
      "reading Parquet and Arrow files needs Millrace's module ", kName,
      ", which is not at ", absl::StrJoin(places, " or "),
      "; build Millrace where Arrow's C++ library or the Python package pyarrow is "
      "installed, or set ",
      kVariable, " to the module's path"));
}

struct Opened {
  base::Mutex mutex;
  const MillraceArrowFunctions* module ABSL_GUARDED_BY(mutex) = nullptr;
};

}  // namespace

absl::StatusOr<const MillraceArrowFunctions*> OpenModuleAt(const char* path) {
  const absl::StatusOr<base::SharedLibrary> library = base::SharedLibrary::Open(path);
  if (!library.ok()) {
    return absl::FailedPreconditionError(base::StrCat(
        "the module for Parquet and Arrow files cannot be loaded: ",
        library.status().message(),
        "; build Millrace anew with the Arrow or pyarrow that is installed now"));
  }
  auto* const entry = library->Find<MillraceArrowEntry>("millrace_arrow_functions");
  if (entry == nullptr) {
    return absl::FailedPreconditionError(
        base::StrCat(path, " is not Millrace's module for Parquet and Arrow files"));
  }
  const MillraceArrowFunctions* const module = entry();
  if (module->version != kMillraceArrowVersion) {
    return absl::FailedPreconditionError(
        base::StrCat(path, " is of another version of Millrace (its interface is ",
                     module->version, ", not ", kMillraceArrowVersion, ")"));
  }
  return module;
}

absl::StatusOr<const MillraceArrowFunctions*> OpenModule() {
  static Opened& opened = *new Opened;  // Never destroyed.
  const base::MutexLock lock(&opened.mutex);
  if (opened.module == nullptr) opened.module = TRY(FindModule());
  return opened.module;
}

absl::Status ErrorOf(int32_t kind, const MillraceArrowError& error,
                     std::string_view path) {
  const std::string text =
      base::StrCat("Arrow cannot read it: ", error.text, "; file ", path);
  return kind == kMillraceArrowMemory ? absl::ResourceExhaustedError(text)
                                      : absl::DataLossError(text);
}

}  // namespace millrace::arrow
