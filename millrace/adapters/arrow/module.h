// The module that knows Apache Arrow (interface.h), opened when it is first needed. It
// is looked for where MILLRACE_ARROW_MODULE says, else beside the program and beside
// the library that this is part of. From any thread; stays open until the end.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow {

// Gives the module's functions. FailedPrecondition says what to do where there is none.
absl::StatusOr<const MillraceArrowFunctions*> OpenModule();

// The same for one file.
absl::StatusOr<const MillraceArrowFunctions*> OpenModuleAt(const char* path);

// What a function's kind and text say, about a file.
absl::Status ErrorOf(int32_t kind, const MillraceArrowError& error,
                     std::string_view path);

// What the module gave, closed at the end.
struct FileCloser {
  const MillraceArrowFunctions* module;

  void operator()(MillraceArrowFile* file) const { module->close_file(file); }
};

struct PartCloser {
  const MillraceArrowFunctions* module;

  void operator()(MillraceArrowPart* part) const { module->close_part(part); }
};

struct WriterCloser {
  const MillraceArrowFunctions* module;

  void operator()(MillraceArrowWriter* writer) const { module->close_writer(writer); }
};

using WriterHandle = std::unique_ptr<MillraceArrowWriter, WriterCloser>;
using FileHandle = std::unique_ptr<MillraceArrowFile, FileCloser>;
using PartHandle = std::unique_ptr<MillraceArrowPart, PartCloser>;

}  // namespace millrace::arrow
