// Writes Arrow IPC and Parquet files: the interface's functions for that.
#pragma once

#include <cstdint>

#include "arrow/c/abi.h"

#include "millrace/adapters/arrow/interface.h"

namespace millrace::arrow_module {

int32_t OpenWriter(int32_t format, ArrowSchema* schema, const MillraceArrowSink* sink,
                   MillraceArrowWriter** out, MillraceArrowError* error);
int32_t WriteRows(MillraceArrowWriter* writer, ArrowArray* rows,
                  MillraceArrowError* error);
int32_t FinishFile(MillraceArrowWriter* writer, MillraceArrowError* error);
void CloseWriter(MillraceArrowWriter* writer);

}  // namespace millrace::arrow_module
