// Arrow's C data interface: how tables are handed over between programs that share no
// code. These two structs are a public, frozen ABI; the names and members are Arrow's.
// Whoever takes an array releases it, once.
#pragma once

#include <cstdint>

// The name is Arrow's too: where its own headers are read, these are left out.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

extern "C" {

// The type of a column, as a format text, with its parts.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

// The values of a column: of its buffers only the beginnings are told, how long they
// are follows from the type.
struct ArrowArray {
  int64_t length;
  int64_t null_count;  // -1: not counted.
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_DATA_INTERFACE
