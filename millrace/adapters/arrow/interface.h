// What the module that knows Apache Arrow offers to Millrace: plain C, so that neither
// is tied to the other's compiler, library or release. The module is a shared library
// that is opened when a pipeline first needs it; it exports one function,
// `millrace_arrow_functions`, that gives the table below.
//
//   open_parquet ──► file ──► schema, groups, ranges      (reads the footer)
//   open_messages ─► file ──► schema                      (of the schema's message)
//                     └─► open_part(bytes in memory) ──► next(field, rows), next, ...
//   open_writer(format, schema) ──► write(rows), write, ..., finish
//
// A file may be used from any thread. Of a part, different fields may be decoded at the
// same time. Functions that can fail give 0 or the kind of the error. Nothing here
// waits, but for the opening of a Parquet file, through the callback it is given.
#pragma once

#include <cstdint>

#include "millrace/adapters/arrow/c_data.h"

extern "C" {

inline constexpr int32_t kMillraceArrowVersion = 2;

// Kinds of errors.
inline constexpr int32_t kMillraceArrowOk = 0;
inline constexpr int32_t kMillraceArrowData = 1;    // The file is broken, or too new.
inline constexpr int32_t kMillraceArrowRead = 2;    // The callback could not read.
inline constexpr int32_t kMillraceArrowMemory = 3;  // More than a sane file takes.

struct MillraceArrowError {
  char text[1000];  // Ends with a zero.
};

// Formats of files that are written.
inline constexpr int32_t kMillraceArrowIpc = 0;
inline constexpr int32_t kMillraceArrowParquet = 1;

struct MillraceArrowFile;
struct MillraceArrowPart;
struct MillraceArrowWriter;

// A file that can be read while a function runs.
struct MillraceArrowBytes {
  void* context;
  int64_t size;
  // Fills the room; gives how many bytes that were, negative when it failed.
  int64_t (*read)(void* context, int64_t offset, int64_t size, void* room);
};

struct MillraceArrowRange {
  int64_t offset;
  int64_t size;
};

// Stretches of a file that are in memory, rising and apart.
struct MillraceArrowPiece {
  int64_t offset;
  int64_t size;
  const void* data;
};

struct MillraceArrowMemoryFile {
  const MillraceArrowPiece* pieces;  // Copied.
  int64_t count;
  int64_t size;  // Of the whole file.
  void* owner;   // Of the bytes; released once nothing refers to them.
  void (*release)(void* owner);
};

// What is decoded of a file.
struct MillraceArrowPlan {
  int64_t group;
  int64_t batch_rows;  // About so many at a time.
};

// Where decoded values go. Memory may be freed from any thread, and after the part was
// closed.
struct MillraceArrowAllocator {
  void* context;
  // Gives memory aligned to 64 bytes, and what to free it by; null when there is none.
  void* (*allocate)(void* context, int64_t size, void** handle);
  void (*free)(void* handle);
};

// Where the bytes of a file that is written go, in order.
struct MillraceArrowSink {
  void* context;
  // Gives 0, or anything else when it failed.
  int32_t (*write)(void* context, const void* data, int64_t size);
};

struct MillraceArrowFunctions {
  int32_t version;
  const char* library;  // "Arrow 26.0.1".

  int32_t (*open_parquet)(const MillraceArrowBytes*, MillraceArrowFile**,
                          MillraceArrowError*);

  // Opens what a stream of messages begins with. Takes over the memory, also when it
  // fails; so does open_part.
  int32_t (*open_messages)(const MillraceArrowMemoryFile*, MillraceArrowFile**,
                           MillraceArrowError*);
  void (*close_file)(MillraceArrowFile*);

  int32_t (*schema)(const MillraceArrowFile*, ArrowSchema*, MillraceArrowError*);

  // Of Parquet files: row groups, the rows of one, and the bytes of a field in it once
  // they are decoded, as the file says.
  int64_t (*groups)(const MillraceArrowFile*);
  int64_t (*group_rows)(const MillraceArrowFile*, int64_t group);
  int64_t (*field_bytes)(const MillraceArrowFile*, int64_t group, int64_t field);

  // Of Parquet files: 0 where a row group says that a field has no null in it, else 1.
  int32_t (*may_have_nulls)(const MillraceArrowFile*, int64_t group, int64_t field);

  // Gives the stretches of the file that a field of a row group takes. Sets `count` to
  // how many there are; writes as many of them as there is room for.
  int32_t (*ranges)(const MillraceArrowFile*, int64_t group, int64_t field,
                    MillraceArrowRange* room, int64_t room_count, int64_t* count,
                    MillraceArrowError*);

  // Opens a row group, or the one record batch that follows the schema in messages.
  int32_t (*open_part)(const MillraceArrowFile*, const MillraceArrowMemoryFile*,
                       const MillraceArrowAllocator*, const MillraceArrowPlan*,
                       MillraceArrowPart**, MillraceArrowError*);

  // Decodes the next rows of a field, exactly so many unless it ends before.
  int32_t (*next)(MillraceArrowPart*, int64_t field, int64_t rows, ArrowArray*,
                  MillraceArrowError*);
  void (*close_part)(MillraceArrowPart*);

  // Begins a file of rows; a schema is a struct of the fields. Takes the schema over,
  // as write does the rows, also when it fails. The sink is used until close_writer.
  int32_t (*open_writer)(int32_t format, ArrowSchema*, const MillraceArrowSink*,
                         MillraceArrowWriter**, MillraceArrowError*);
  int32_t (*write)(MillraceArrowWriter*, ArrowArray*, MillraceArrowError*);

  // Writes the end of the file.
  int32_t (*finish)(MillraceArrowWriter*, MillraceArrowError*);
  void (*close_writer)(MillraceArrowWriter*);
};

using MillraceArrowEntry = const MillraceArrowFunctions*();

}  // extern "C"
