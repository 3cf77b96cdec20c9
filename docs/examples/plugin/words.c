// A plug-in for Millrace (docs/plugins.md): the kernel `soundex`, which gives names
// that sound alike one code, and the operator `run_lengths`, which makes one row of
// each run of rows with the same value.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "millrace/plugin/millrace_plugin.h"

// --- soundex: a letter and three digits for each text ---

// The digit of each letter a to z; 0: a vowel, parts equal digits; -: h and w, does
// not.
static const char kDigits[] = "0123012-02245501262301-202";

enum { kCodeSize = 4 };

static int LetterOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a';
  return -1;
}

// Writes the code of a text, and tells whether it has one.
static int WriteCode(const char* text, int64_t size, char* code) {
  int written = 0;
  char last = '0';
  for (int64_t i = 0; i < size && written < kCodeSize; ++i) {
    const int letter = LetterOf(text[i]);
    if (letter < 0) continue;
    const char digit = kDigits[letter];
    if (written == 0) {
      code[written++] = (char)('A' + letter);
    } else if (digit != '0' && digit != '-' && digit != last) {
      code[written++] = digit;
    }
    if (digit != '-') last = digit;
  }
  const int found = written > 0;
  while (written < kCodeSize) code[written++] = '0';
  return found;
}

static int32_t InferSoundex(const void* context, const MillraceKernelTypes* types,
                            MillraceType* result, MillraceError* error) {
  (void)context;
  *result = types->operands[0];  // As many codes as texts.
  result->dtype = kMillraceString;
  const int32_t dtype = types->operands[0].dtype;
  if (dtype == kMillraceString || dtype == kMillraceBytes) return kMillraceOk;
  snprintf(error->text, sizeof(error->text), "needs texts, such as names");
  return kMillraceError;
}

static int32_t ComputeSoundex(const void* context, const MillraceKernelCall* call,
                              MillraceError* error) {
  (void)context;
  for (int64_t row = 0; row < call->rows; ++row) {
    const MillraceValue* texts = &call->operands[0][row];
    MillraceRoom room = {.rank = texts->rank,
                         .sizes = texts->sizes,
                         .text_bytes = kCodeSize * texts->count};
    const int32_t code = call->allocate(call->host, &room);
    if (code != kMillraceOk) return code;
    for (int64_t i = 0; i <= texts->count; ++i) room.offsets[i] = kCodeSize * i;
    for (int64_t i = 0; i < texts->count; ++i) {
      const char* text = (const char*)texts->data + texts->offsets[i];
      const int64_t size = texts->offsets[i + 1] - texts->offsets[i];
      if (WriteCode(text, size, (char*)room.data + kCodeSize * i)) continue;
      error->row = row;
      snprintf(error->text, sizeof(error->text),
               "there is no letter a to z in the text, so it has no code");
      return kMillraceRowError;
    }
  }
  return kMillraceOk;
}

static const MillraceOperand kSoundexOperands[] = {
    {.name = "x", .doc = "Texts of any shape."},
};

static const MillraceKernel kKernels[] = {
    {.name = "soundex",
     .doc = "Gives the Soundex code of texts: those that sound alike in English have "
            "the same. A text without a letter is an error of the row.",
     .version = 1,
     .can_fail = 1,
     .operands = kSoundexOperands,
     .operand_count = 1,
     .infer = InferSoundex,
     .compute = ComputeSoundex},
};

// --- run_lengths: the last row of each run, and how many rows it had ---

enum { kField = 0, kInto = 1 };  // The arguments, in their order.

// What is known of a lane so far.
typedef struct Runs {
  int64_t field;   // Which one is compared.
  int64_t into;    // Which one the lengths are.
  int64_t seen;    // Rows of the lane.
  int64_t length;  // Rows of the run that goes on; 0 before the first row.
  char* value;     // What these have, as bytes.
  int64_t value_size;
  int64_t value_room;
  int64_t* ends;  // The last rows of runs that ended in a call, and their lengths.
  int64_t* lengths;
  int64_t ended;
  int64_t ended_room;
} Runs;

static int64_t FindField(const MillraceOperatorTypes* types, const char* name) {
  for (int64_t i = 0; i < types->field_count; ++i) {
    if (strcmp(types->fields[i].name, name) == 0) return i;
  }
  return -1;
}

static int32_t InferRuns(const void* context, const MillraceOperatorTypes* types,
                         const MillraceSpec* out, MillraceError* error) {
  (void)context;
  const char* const name = types->arguments[kField].text;
  const char* const into = types->arguments[kInto].text;
  const int64_t field = FindField(types, name);
  if (field < 0 || types->fields[field].type.rank != 0) {
    snprintf(error->text, sizeof(error->text),
             "argument field must name a field of single values, not %.100s", name);
    return kMillraceError;
  }
  if (FindField(types, into) >= 0) {
    snprintf(error->text, sizeof(error->text),
             "there is a field %.100s already; argument into can name another", into);
    return kMillraceError;
  }
  for (int64_t i = 0; i < types->field_count; ++i) {
    out->add(out->host, types->fields[i].name, &types->fields[i].type);
  }
  const MillraceType count = {.dtype = kMillraceInt64};
  out->add(out->host, into, &count);
  return kMillraceOk;
}

static int32_t OutOfMemory(MillraceError* error) {
  snprintf(error->text, sizeof(error->text), "there is no memory");
  return kMillraceError;
}

static int32_t MakeRuns(const void* context, const MillraceOperatorTypes* types,
                        void** state, MillraceError* error) {
  (void)context;
  Runs* const runs = calloc(1, sizeof(Runs));
  if (runs == NULL) return OutOfMemory(error);
  runs->field = FindField(types, types->arguments[kField].text);
  runs->into = types->field_count;  // Added behind all others.
  *state = runs;
  return kMillraceOk;
}

static void DestroyRuns(void* state) {
  Runs* const runs = state;
  free(runs->value);
  free(runs->ends);
  free(runs->lengths);
  free(runs);
}

// Makes room for so many ends of runs.
static int32_t ReserveEnds(Runs* runs, int64_t count) {
  if (count <= runs->ended_room) return kMillraceOk;
  const size_t bytes = (size_t)count * sizeof(int64_t);
  int64_t* const ends = realloc(runs->ends, bytes);
  if (ends != NULL) runs->ends = ends;
  int64_t* const lengths = realloc(runs->lengths, bytes);
  if (lengths != NULL) runs->lengths = lengths;
  if (ends == NULL || lengths == NULL) return kMillraceError;
  runs->ended_room = count;
  return kMillraceOk;
}

// The run that goes on ends with the row that was seen last.
static void EndRun(Runs* runs) {
  if (runs->length == 0) return;
  runs->ends[runs->ended] = runs->seen - 1;
  runs->lengths[runs->ended++] = runs->length;
  runs->length = 0;
}

static int32_t BeginRun(Runs* runs, const char* bytes, int64_t size) {
  if (size > runs->value_room) {
    char* const larger = realloc(runs->value, (size_t)size);
    if (larger == NULL) return kMillraceError;
    runs->value = larger;
    runs->value_room = size;
  }
  if (size > 0) memcpy(runs->value, bytes, (size_t)size);
  runs->value_size = size;
  return kMillraceOk;
}

// Gives a row for each run that ended: its last one, with the length as a field more.
static int32_t GiveEnded(Runs* runs, const MillraceEmitter* out) {
  int32_t code = out->begin(out->host, runs->ended, runs->ends);
  for (int64_t i = 0; i < runs->ended && code == kMillraceOk; ++i) {
    MillraceRoom room = {.rank = 0};
    code = out->allocate(out->host, runs->into, &room);
    if (code == kMillraceOk) memcpy(room.data, &runs->lengths[i], sizeof(int64_t));
  }
  runs->ended = 0;
  return code;
}

// The bytes of a single value.
static const char* BytesOf(const MillraceValue* value, int64_t* size) {
  static const int64_t kSizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  if (value->offsets == NULL) {
    *size = kSizes[value->dtype];
    return value->data;
  }
  *size = value->offsets[1] - value->offsets[0];
  return (const char*)value->data + value->offsets[0];
}

static int32_t PushRows(void* state, const MillraceRows* rows,
                        const MillraceEmitter* out, MillraceError* error) {
  Runs* const runs = state;
  const MillraceValue* const values = rows->column(rows->host, runs->field);
  if (values == NULL) return kMillraceError;
  if (ReserveEnds(runs, rows->count) != kMillraceOk) return OutOfMemory(error);
  for (int64_t row = 0; row < rows->count; ++row) {
    int64_t size = 0;
    const char* const bytes = BytesOf(&values[row], &size);
    const int same = runs->length > 0 && size == runs->value_size &&
                     (size == 0 || memcmp(bytes, runs->value, (size_t)size) == 0);
    if (!same) {
      EndRun(runs);
      if (BeginRun(runs, bytes, size) != kMillraceOk) return OutOfMemory(error);
    }
    ++runs->length;
    ++runs->seen;
  }
  return GiveEnded(runs, out);
}

static int32_t FinishRuns(void* state, const MillraceEmitter* out,
                          MillraceError* error) {
  (void)error;
  Runs* const runs = state;
  EndRun(runs);  // There is room for one if there was a row.
  return GiveEnded(runs, out);
}

// A run may have ended with the row before the call.
static int64_t RowsHeld(const void* context, const MillraceArgumentValue* arguments) {
  (void)context;
  (void)arguments;
  return 1;
}

static const MillraceArgument kRunsArguments[] = {
    {.name = "field",
     .doc = "The field whose values are compared.",
     .type = kMillraceTextArgument,
     .required = 1},
    {.name = "into",
     .doc = "The name of the field with the number of rows.",
     .type = kMillraceTextArgument,
     .default_value = {.text = "length"}},
};

static const MillraceOperator kOperators[] = {
    {.name = "run_lengths",
     .doc =
         "Makes one row of each run of rows that have the same value in a field: the "
         "last of them, with their number as a field more.",
     .version = 1,
     .traits = kMillraceFewerRows | kMillraceAcrossLanes,
     .arguments = kRunsArguments,
     .argument_count = 2,
     .rows_held = RowsHeld,
     .infer = InferRuns,
     .make = MakeRuns,
     .push = PushRows,
     .finish = FinishRuns,
     .destroy = DestroyRuns},
};

// --- What is in this library ---

static const MillracePlugin kPlugin = {MILLRACE_PLUGIN_HEAD, .kernels = kKernels,
                                       .kernel_count = 1, .operators = kOperators,
                                       .operator_count = 1};

const MillracePlugin* millrace_plugin_entry(void) { return &kPlugin; }
