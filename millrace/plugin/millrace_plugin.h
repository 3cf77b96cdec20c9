// Plug-ins: kernels and operators from a shared library, in C or in any language that
// can offer C functions. This file is the whole interface and needs nothing else; the
// page docs/plugins.md shows how to write, build and load one.
//
//   millrace --plugin ./words.so run pipeline.txt
//
// A plug-in exports one function, `millrace_plugin_entry`, that gives a description of
// what is in it: names, docs, arguments and functions. Millrace calls these functions;
// they call back through the pointers that they are given.
//
// Versions. MAJOR changes when something here changes its meaning or place: a plug-in
// of another MAJOR is refused. MINOR grows when fields are added, always at the end of
// a struct: a plug-in of the same or a smaller MINOR is taken, with zeros for what it
// does not know; one of a greater MINOR is refused. So a plug-in fills what it needs by
// name and leaves the rest zero; zero always means "as before". What stands in arrays
// that Millrace makes, and the room that a plug-in makes (MillraceType, -Value, -Field,
// -ArgumentValue and -Room), stays as it is within a MAJOR.
//
// Ownership and lifetime. The description, and all it points to, must stay as it is
// until the process ends: a library is never closed. What Millrace hands to a function
// (values, types, texts, callbacks) may be read until that function returns, and not
// changed; what a function hands to a callback is copied before the callback returns,
// but for memory from `allocate`. Of an operator, the state that `make` gave is the
// plug-in's own until `destroy`, which is called once, and not where `make` failed.
//
// Threads. All functions may be called from many threads at once, so there must be no
// unguarded globals; of one state, only one function at a time, though not always on
// the same thread. Kernels are pure: what comes out for a row depends on the values of
// that row and on the arguments alone. Operators depend, besides, on the rows that came
// before in their lane. Neither may depend on time, on random numbers, or on how rows
// are cut into calls: the same lane is cut otherwise another time, and may be computed
// again on another machine. Nothing may wait.
//
// Memory. Values are in row-major order, in the machine's byte order, aligned for their
// type; a bool is a byte that is 0 or 1. Results go into memory from `allocate`, which
// comes from the engine's pool, counts against its budget, and is not cleared; it is
// the plug-in's to fill until the next callback or until it returns. It begins at a
// multiple of 64 bytes, unless all rows have one shape that is known beforehand: these
// lie side by side, perhaps in the middle of a batch. Of no bytes it may be null.
//
// Errors. Functions give kMillraceOk or another of the codes below, and say why in
// MillraceError. A callback that does not give kMillraceOk (or gives null) has failed
// for reasons of Millrace's own, such as memory or the end of the pass: return any
// error at once, and Millrace goes on with the reason it knows. Never throw an
// exception or jump out of a function. What is given is checked before it is believed:
// a wrong type, size or count ends the pass with an error that names the plug-in.
#pragma once

// NOLINTBEGIN(modernize-*): this is C.
#include <stdint.h>

#define MILLRACE_PLUGIN_MAJOR 1
#define MILLRACE_PLUGIN_MINOR 0

#define MILLRACE_RANK_MAX 32   // Axes of a value, at most.
#define MILLRACE_UNKNOWN (-1)  // A size, or a number of axes, not known beforehand.

#define MILLRACE_PLUGIN_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// --- Codes and errors ---

enum {
  kMillraceOk = 0,
  kMillraceError = 1,     // All is wrong: the pass ends.
  kMillraceRowError = 2,  // Of kernels: the row `row` is wrong, the first that is.
};

typedef struct MillraceError {
  int64_t row;     // Among those of the call, from 0 on; of kMillraceRowError.
  char text[504];  // What is wrong and what to do; ends with a zero. Empty before.
} MillraceError;

// --- Values ---

enum {
  kMillraceBool = 0,
  kMillraceInt8 = 1,
  kMillraceInt16 = 2,
  kMillraceInt32 = 3,
  kMillraceInt64 = 4,
  kMillraceUint8 = 5,
  kMillraceUint16 = 6,
  kMillraceUint32 = 7,
  kMillraceUint64 = 8,
  kMillraceFloat16 = 9,
  kMillraceBFloat16 = 10,
  kMillraceFloat32 = 11,
  kMillraceFloat64 = 12,
  kMillraceBytes = 13,   // Texts of any bytes.
  kMillraceString = 14,  // Texts of valid UTF-8.
};

// What is known of a value before there is one.
typedef struct MillraceType {
  int32_t dtype;                     // One of the above.
  int32_t rank;                      // 0 for a single value; may be unknown.
  int64_t sizes[MILLRACE_RANK_MAX];  // `rank` of them; each may be unknown.
} MillraceType;

// The value of one field or operand in one row.
typedef struct MillraceValue {
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;    // `rank` of them.
  int64_t count;           // Their product: 1 for a single value.
  const void* data;        // `count` values; of texts, bytes that the offsets point to.
  const int64_t* offsets;  // Of texts, `count` + 1: text i is data[offsets[i]] up to,
                           // not including, data[offsets[i + 1]]. Otherwise null.
} MillraceValue;

// Where the value of one row is written.
typedef struct MillraceRoom {
  // What is asked for:
  int32_t rank;          // As the type says that was inferred; 0 needs no sizes.
  const int64_t* sizes;  // `rank` of them.
  int64_t text_bytes;    // Of texts: the bytes of all of them together.
  // What is given:
  void* data;        // Room for all values; of texts, for `text_bytes` bytes.
  int64_t* offsets;  // Of texts, room for count + 1, to be filled as in a value, from
                     // 0 up to text_bytes. Otherwise null.
} MillraceRoom;

// --- Arguments: what is written in a pipeline, such as `size=4` ---

enum {
  kMillraceBoolArgument = 0,
  kMillraceIntArgument = 1,
  kMillraceFloatArgument = 2,
  kMillraceTextArgument = 3,
};

typedef struct MillraceArgumentValue {
  int64_t integer;    // Of bools, 0 or 1, and of integers.
  double number;      // Of floats.
  const char* text;   // Of texts; ends with a zero. Null stands for "" in a default.
  int64_t text_size;  // Without that zero; not looked at in a default.
} MillraceArgumentValue;

typedef struct MillraceArgument {
  const char* name;
  const char* doc;
  int32_t type;
  int32_t required;                     // Not 0: there is no default.
  MillraceArgumentValue default_value;  // As by its type.
} MillraceArgument;

// --- Kernels: functions in an expression, such as `{code: soundex(.name)}` ---

typedef struct MillraceOperand {
  const char* name;
  const char* doc;
} MillraceOperand;

typedef struct MillraceKernelTypes {
  const MillraceType* operands;
  int64_t operand_count;
  const MillraceArgumentValue* arguments;  // In the order they were described.
} MillraceKernelTypes;

typedef struct MillraceKernelCall {
  int64_t rows;
  const MillraceValue* const* operands;  // operands[i][row].
  int64_t operand_count;
  const MillraceArgumentValue* arguments;
  const MillraceType* type;  // Of the result, as `infer` gave it.

  // Gives room for the result of the next row: once for every row, in their order.
  void* host;
  int32_t (*allocate)(void* host, MillraceRoom* room);
} MillraceKernelCall;

typedef struct MillraceKernel {
  const char* name;  // Letters a to z, digits and _; no other kernel has it.
  const char* doc;   // In sentences: `millrace list` shows it.
  int32_t version;   // To be raised whenever results change.
  int32_t can_fail;  // Not 0: it may give kMillraceRowError. Such a row can be left out
                     // with `ignore_errors`; others of the call are computed again.
  const MillraceOperand* operands;
  int64_t operand_count;
  int32_t variadic;  // Not 0: the last operand may come more than once.
  int32_t reserved;
  const MillraceArgument* arguments;
  int64_t argument_count;
  const void* context;  // Handed to its functions; for the plug-in to use.

  // Gives the type of the result, or says in `error` why there is none. Everything the
  // types and arguments tell is refused here, once, and not row by row.
  int32_t (*infer)(const void* context, const MillraceKernelTypes* types,
                   MillraceType* result, MillraceError* error);

  // Computes the result of all rows.
  int32_t (*compute)(const void* context, const MillraceKernelCall* call,
                     MillraceError* error);
} MillraceKernel;

// --- Operators: rows to rows, such as `%1 = run_lengths(%0, field="word")` ---

// What an operator says about itself, added up. Whoever says too little gets an error;
// whoever says too much pays for it.
enum {
  // A row that comes out depends on one that went in and on nothing before it: runs on
  // all threads. Each thread has a state, for scratch memory only, which serves rows of
  // any lane, also after an error; `finish` is not called.
  kMillraceRowWise = 1,
  kMillraceFewerRows = 2,    // Some rows have none that comes out.
  kMillraceMoreRows = 4,     // Some rows have several that come out.
  kMillraceAcrossLanes = 8,  // Must see the whole pass in one piece, on one thread.
                             // Otherwise each lane has a state of its own, and where
                             // lanes begin depends on the data and its files.
  kMillraceCanFail = 16,     // May call `bad_row`.
};

typedef struct MillraceField {
  const char* name;  // Of letters, digits and _, in steps joined by dots.
  MillraceType type;
} MillraceField;

typedef struct MillraceOperatorTypes {
  const MillraceArgumentValue* arguments;  // In the order they were described.
  const MillraceField* fields;             // Of the rows that come in.
  int64_t field_count;
} MillraceOperatorTypes;

// The rows of one call.
typedef struct MillraceRows {
  int64_t count;
  int64_t first;  // The number of the first of them, counted from 0 on in the lane; of
                  // one that is kMillraceRowWise, in the call.

  // Gives a field's values, `count` of them; `field` as in MillraceOperatorTypes. Null
  // when it failed. Fields that nobody asks for cost nothing.
  void* host;
  const MillraceValue* (*column)(void* host, int64_t field);
} MillraceRows;

// Where rows go.
typedef struct MillraceEmitter {
  void* host;

  // Begins to give so many rows; those begun before are passed on. `from` has for each
  // the number of the row that it comes from: its identity is made of that one's, so it
  // decides what is drawn for it later. These may be rows of this call, and the
  // rows_held before them (in `finish`: the last rows_held). From each comes one row at
  // most, unless there are kMillraceMoreRows.
  int32_t (*begin)(void* host, int64_t rows, const int64_t* from);

  // Gives room for a field of the next of these rows; `field` counts what `infer`
  // added. A field that room is never asked for is the same as in the rows they come
  // from, and is not copied where these are all of a call.
  int32_t (*allocate)(void* host, int64_t field, MillraceRoom* room);

  // Says that a row of this call, by its number, is wrong. It is left out where the
  // pipeline ignores errors, and the pass ends otherwise. What rows before it give is
  // to be given before; nothing may be begun from it.
  int32_t (*bad_row)(void* host, int64_t row, const char* why);
} MillraceEmitter;

// Adds a field to the rows that come out.
typedef struct MillraceSpec {
  void* host;
  void (*add)(void* host, const char* name, const MillraceType* type);
} MillraceSpec;

typedef struct MillraceOperator {
  const char* name;  // As of kernels; no other operator has it.
  const char* doc;
  int32_t version;  // To be raised whenever results change.
  int32_t traits;   // As above.
  const MillraceArgument* arguments;
  int64_t argument_count;
  const void* context;  // Handed to its functions; for the plug-in to use.

  // Gives how many rows before those of a call it may still give rows from: they are
  // kept for it, and memory is set aside for as many. Null for none.
  int64_t (*rows_held)(const void* context, const MillraceArgumentValue* arguments);

  // Adds the fields that come out, or says in `error` why there are none. Everything
  // the types and arguments tell is refused here, once.
  int32_t (*infer)(const void* context, const MillraceOperatorTypes* types,
                   const MillraceSpec* out, MillraceError* error);

  // Begins a lane.
  int32_t (*make)(const void* context, const MillraceOperatorTypes* types, void** state,
                  MillraceError* error);

  // Takes the next rows.
  int32_t (*push)(void* state, const MillraceRows* rows, const MillraceEmitter* out,
                  MillraceError* error);

  // The lane has ended: gives what was held back. Null where there is nothing.
  int32_t (*finish)(void* state, const MillraceEmitter* out, MillraceError* error);

  void (*destroy)(void* state);
} MillraceOperator;

// --- The plug-in ---

typedef struct MillracePlugin {
  int32_t major;  // These two stay first in all versions.
  int32_t minor;
  int64_t plugin_bytes;  // How large this is, and the structs that are listed.
  int64_t operand_bytes;
  int64_t argument_bytes;
  int64_t kernel_bytes;
  int64_t operator_bytes;
  const MillraceKernel* kernels;
  int64_t kernel_count;
  const MillraceOperator* operators;
  int64_t operator_count;
} MillracePlugin;

// What a MillracePlugin begins with.
#define MILLRACE_PLUGIN_HEAD                                                     \
  MILLRACE_PLUGIN_MAJOR, MILLRACE_PLUGIN_MINOR, (int64_t)sizeof(MillracePlugin), \
      (int64_t)sizeof(MillraceOperand), (int64_t)sizeof(MillraceArgument),       \
      (int64_t)sizeof(MillraceKernel), (int64_t)sizeof(MillraceOperator)

// What a plug-in exports.
typedef const MillracePlugin* MillracePluginEntry(void);
MILLRACE_PLUGIN_EXPORT const MillracePlugin* millrace_plugin_entry(void);

#ifdef __cplusplus
}  // extern "C"
#endif
// NOLINTEND(modernize-*)
