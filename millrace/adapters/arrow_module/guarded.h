// What Arrow throws or returns, as a kind and a text.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>

#include "arrow/status.h"

#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow_module {

inline int32_t Fail(int32_t kind, const char* text, MillraceArrowError* error) {
  std::strncpy(error->text, text, sizeof(error->text) - 1);
  error->text[sizeof(error->text) - 1] = '\0';
  return kind;
}

inline int32_t Fail(const arrow::Status& status, MillraceArrowError* error) {
  if (status.ok()) return kMillraceArrowOk;
  const int32_t kind =
      status.IsOutOfMemory() ? kMillraceArrowMemory : kMillraceArrowData;
  return Fail(kind, status.message().c_str(), error);
}

// Runs what may throw, and be wrong.
template <typename Work>
int32_t Guarded(MillraceArrowError* error, const Work& work) {
  try {
    return Fail(work(), error);
  } catch (const std::bad_alloc&) {
    return Fail(kMillraceArrowMemory, "there is not enough memory", error);
  } catch (const std::exception& thrown) {
    return Fail(kMillraceArrowData, thrown.what(), error);
  }
}

}  // namespace millrace::arrow_module
