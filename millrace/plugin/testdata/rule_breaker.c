// For tests: a plug-in that breaks the rules it is told to break. The variable
// MILLRACE_RULE says which rule of descriptions; the argument `rule` of its kernel and
// its operators, which rule of what these do.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "millrace/plugin/millrace_plugin.h"

static int Is(const char* rule, const char* name) { return strcmp(rule, name) == 0; }

static int32_t Fail(int32_t code, const char* text, MillraceError* error) {
  snprintf(error->text, sizeof(error->text), "%s", text);
  return code;
}

// --- The kernel break_rules(x, rule=) ---

static int32_t InferBreaker(const void* context, const MillraceKernelTypes* types,
                            MillraceType* result, MillraceError* error) {
  (void)context;
  const char* const rule = types->arguments[0].text;
  *result = (MillraceType){.dtype = kMillraceInt64};
  if (Is(rule, "dtype")) result->dtype = 99;
  if (Is(rule, "rank")) result->rank = 40;
  if (Is(rule, "bool")) result->dtype = kMillraceBool;
  if (Is(rule, "offsets") || Is(rule, "utf8") || Is(rule, "no room")) {
    result->dtype = kMillraceString;
  }
  if (Is(rule, "texts")) *result = (MillraceType){kMillraceString, 1, {-1}};
  if (Is(rule, "size")) *result = (MillraceType){kMillraceInt64, 1, {-7}};
  if (Is(rule, "shape")) *result = (MillraceType){kMillraceInt64, 1, {2}};
  if (Is(rule, "huge") || Is(rule, "too huge") || Is(rule, "lists")) {
    *result = (MillraceType){kMillraceInt64, 1, {-1}};
  }
  if (Is(rule, "infer")) return Fail(kMillraceError, "no type pleases it", error);
  return Is(rule, "silent") ? kMillraceError : kMillraceOk;
}

// Lists of as many numbers, or texts, as the number says.
static int32_t GiveList(const MillraceKernelCall* call, int64_t number, int texts) {
  MillraceRoom room = {.rank = 1, .sizes = &number, .text_bytes = 2 * number};
  const int32_t code = call->allocate(call->host, &room);
  if (code != kMillraceOk) return code;
  for (int64_t i = 0; i < number && !texts; ++i) ((int64_t*)room.data)[i] = 10 * i;
  for (int64_t i = 0; i <= number && texts; ++i) room.offsets[i] = 2 * i;
  if (texts && number > 0) memset(room.data, 'a', (size_t)(2 * number));
  return kMillraceOk;
}

static int32_t GiveValue(const MillraceKernelCall* call, int64_t number,
                         const char* rule) {
  const int64_t three = 3;
  const int64_t huge = Is(rule, "huge") ? (int64_t)1 << 44 : (int64_t)1 << 62;
  MillraceRoom room = {.rank = 0, .text_bytes = Is(rule, "no room") ? -1 : 2};
  if (Is(rule, "shape")) room = (MillraceRoom){.rank = 1, .sizes = &three};
  if (Is(rule, "huge") || Is(rule, "too huge")) {
    room = (MillraceRoom){.rank = 1, .sizes = &huge};
  }
  if (Is(rule, "no sizes")) room.rank = 1;
  const int32_t code = call->allocate(call->host, &room);
  if (code != kMillraceOk) return Is(rule, "deaf") ? kMillraceOk : code;
  if (room.offsets != NULL) {
    room.offsets[0] = 0;
    room.offsets[1] = Is(rule, "offsets") ? 1 : 2;
    memcpy(room.data, "\xff\xfe", 2);
  } else if (call->type->dtype == kMillraceBool) {
    *(uint8_t*)room.data = 7;
  } else {
    *(int64_t*)room.data = number;
  }
  return kMillraceOk;
}

static int32_t ComputeBreaker(const void* context, const MillraceKernelCall* call,
                              MillraceError* error) {
  (void)context;
  const char* const rule = call->arguments[0].text;
  if (Is(rule, "all")) return Fail(kMillraceError, "all is wrong", error);
  if (Is(rule, "row")) return Fail(kMillraceRowError, "this one is wrong", error);
  const int64_t more = Is(rule, "few") ? -1 : Is(rule, "many") || Is(rule, "deaf");
  for (int64_t row = 0; row < call->rows + more; ++row) {
    const int64_t last = row < call->rows ? row : call->rows - 1;
    const int64_t number = *(const int64_t*)call->operands[0][last].data;
    const int lists = Is(rule, "lists");
    const int32_t code = lists || Is(rule, "texts") ? GiveList(call, number % 4, !lists)
                                                    : GiveValue(call, number, rule);
    if (code != kMillraceOk) return code;
  }
  return kMillraceOk;
}

// --- The kernel sum_up(x, ..., by=, scale=, negate=): what arguments come to ---

static int32_t InferAffine(const void* context, const MillraceKernelTypes* types,
                           MillraceType* result, MillraceError* error) {
  (void)types;
  (void)error;
  *result = *(const MillraceType*)context;
  return kMillraceOk;
}

static int32_t ComputeAffine(const void* context, const MillraceKernelCall* call,
                             MillraceError* error) {
  (void)context;
  (void)error;
  for (int64_t row = 0; row < call->rows; ++row) {
    double sum = (double)call->arguments[0].integer;
    for (int64_t i = 0; i < call->operand_count; ++i) {
      sum += (double)*(const int64_t*)call->operands[i][row].data;
    }
    MillraceRoom room = {.rank = 0};
    const int32_t code = call->allocate(call->host, &room);
    if (code != kMillraceOk) return code;
    const double sign = call->arguments[2].integer != 0 ? -1 : 1;
    *(double*)room.data = sign * sum * call->arguments[1].number;
  }
  return kMillraceOk;
}

// --- The operators keep, fewer, more and row_wise: the same functions, with other
// traits ---

typedef struct State {
  char rule[32];
  int64_t seen;
} State;

static int64_t HeldBy(const void* context, const MillraceArgumentValue* arguments) {
  (void)context;
  if (Is(arguments[0].text, "hold")) return -1;
  return Is(arguments[0].text, "lag") ? 2 : 0;
}

static int32_t InferPromises(const void* context, const MillraceOperatorTypes* types,
                             const MillraceSpec* out, MillraceError* error) {
  (void)context;
  const char* const rule = types->arguments[0].text;
  MillraceField field = types->fields[0];
  if (Is(rule, "retype")) field.type.dtype = kMillraceFloat32;
  if (Is(rule, "bad name")) field.name = "a..b";
  if (Is(rule, "no name")) field.name = NULL;
  if (Is(rule, "infer")) return Fail(kMillraceError, "no rows please it", error);
  out->add(out->host, field.name, &field.type);
  if (Is(rule, "same name")) out->add(out->host, field.name, &field.type);
  if (Is(rule, "unmade")) out->add(out->host, "extra", &field.type);
  return kMillraceOk;
}

static int32_t Make(const void* context, const MillraceOperatorTypes* types,
                    void** state, MillraceError* error) {
  (void)context;
  if (Is(types->arguments[0].text, "make")) {
    return Fail(kMillraceError, "cannot be made", error);
  }
  State* const made = calloc(1, sizeof(State));
  snprintf(made->rule, sizeof(made->rule), "%s", types->arguments[0].text);
  *state = made;
  return kMillraceOk;
}

static int32_t Give(const MillraceEmitter* out, int64_t from, int64_t times) {
  const int64_t numbers[2] = {from, from};
  return out->begin(out->host, times, numbers);
}

// Gives what a rule makes of one row.
static int32_t PushRow(const State* state, int64_t row, int64_t value,
                       const MillraceEmitter* out) {
  const char* const rule = state->rule;
  if (Is(rule, "drop") && row % 2 == 1) return kMillraceOk;
  if (Is(rule, "lag")) return row < 2 ? kMillraceOk : Give(out, row - 2, 1);
  if (Is(rule, "far")) return Give(out, row - 5, 1);
  if (Is(rule, "bad") && value % 3 == 0) {
    return out->bad_row(out->host, row, "threes are wrong");
  }
  const int32_t code = Give(out, row, Is(rule, "twice") ? 2 : 1);
  MillraceRoom room = {.rank = 0};
  if (Is(rule, "field")) return out->allocate(out->host, 99, &room);
  if (Is(rule, "bad after")) return out->bad_row(out->host, row, "too late");
  return code;
}

static int32_t Push(void* state, const MillraceRows* rows, const MillraceEmitter* out,
                    MillraceError* error) {
  State* const of = state;
  if (Is(of->rule, "push")) return Fail(kMillraceError, "takes no rows", error);
  MillraceRoom room = {.rank = 0};
  if (Is(of->rule, "no begin")) return out->allocate(out->host, 0, &room);
  const int64_t asked = Is(of->rule, "column") ? 99 : 0;
  const MillraceValue* const values = rows->column(rows->host, asked);
  if (values == NULL) return kMillraceError;
  for (int64_t i = 0; i < rows->count; ++i) {
    const int64_t at = Is(of->rule, "reverse") ? rows->count - 1 - i : i;
    const int64_t value = *(const int64_t*)values[at].data;
    const int32_t code = PushRow(of, rows->first + at, value, out);
    if (code != kMillraceOk) return code;
  }
  of->seen += rows->count;
  return kMillraceOk;
}

static int32_t Finish(void* state, const MillraceEmitter* out, MillraceError* error) {
  const State* const of = state;
  if (Is(of->rule, "finish")) return Fail(kMillraceError, "has no end", error);
  const int64_t first = of->seen > 2 ? of->seen - 2 : 0;
  for (int64_t row = first; row < of->seen && Is(of->rule, "lag"); ++row) {
    const int32_t code = Give(out, row, 1);
    if (code != kMillraceOk) return code;
  }
  return Is(of->rule, "late") ? Give(out, of->seen - 1, 1) : kMillraceOk;
}

// --- Descriptions ---

static const MillraceType kFloat64Type = {.dtype = kMillraceFloat64};
static const MillraceOperand kOperands[] = {{"x", "Numbers."}};
static const MillraceArgument kRule[] = {{.name = "rule",
                                          .doc = "What to break.",
                                          .type = kMillraceTextArgument,
                                          .default_value = {.text = "none"}}};
static const MillraceArgument kAffine[] = {
    {.name = "by", .doc = "To add.", .type = kMillraceIntArgument, .required = 1},
    {"scale", "To multiply by.", kMillraceFloatArgument, 0, {.number = 0.5}},
    {"negate", "To negate.", kMillraceBoolArgument, 0, {.integer = 0}}};

#define KERNEL(title)      \
  {.name = title,          \
   .doc = "Breaks rules.", \
   .version = 1,           \
   .operands = kOperands,  \
   .operand_count = 1,     \
   .arguments = kRule,     \
   .argument_count = 1,    \
   .infer = InferBreaker,  \
   .compute = ComputeBreaker}

#define OPERATOR(title, its_traits) \
  {.name = title,                   \
   .doc = "Breaks promises.",       \
   .version = 1,                    \
   .traits = its_traits,            \
   .arguments = kRule,              \
   .argument_count = 1,             \
   .rows_held = HeldBy,             \
   .infer = InferPromises,          \
   .make = Make,                    \
   .push = Push,                    \
   .finish = Finish,                \
   .destroy = free}

static MillraceKernel kernels[] = {KERNEL("break_rules"),
                                   {.name = "sum_up",
                                    .doc = "Adds up.",
                                    .version = 1,
                                    .operands = kOperands,
                                    .operand_count = 1,
                                    .variadic = 1,
                                    .arguments = kAffine,
                                    .argument_count = 3,
                                    .context = &kFloat64Type,
                                    .infer = InferAffine,
                                    .compute = ComputeAffine}};
static MillraceOperator operators[] = {
    OPERATOR("keep", 0), OPERATOR("fewer", kMillraceFewerRows | kMillraceCanFail),
    OPERATOR("more", kMillraceMoreRows),
    OPERATOR("row_wise", kMillraceRowWise | kMillraceCanFail)};

// As an older interface might have had them: without the last function.
enum { kOlderBytes = sizeof(MillraceOperator) - sizeof(void (*)(void*)) };

static _Alignas(8) char older[2 * kOlderBytes];

// The description with one rule broken.
static void Break(const char* rule, MillracePlugin* plugin) {
  if (Is(rule, "major")) plugin->major = 2;
  if (Is(rule, "minor")) plugin->minor = 7;
  if (Is(rule, "empty")) plugin->kernel_count = plugin->operator_count = 0;
  if (Is(rule, "count")) plugin->kernel_count = -1;
  if (Is(rule, "list")) plugin->operators = NULL;
  if (Is(rule, "bytes")) plugin->kernel_bytes = 0;
  if (Is(rule, "plugin bytes")) plugin->plugin_bytes = 1 << 20;
  if (Is(rule, "no name")) kernels[0].name = NULL;
  if (Is(rule, "name")) kernels[0].name = "Break Rules";
  if (Is(rule, "no doc")) operators[0].doc = "";
  if (Is(rule, "kernel taken")) kernels[0].name = "add";
  if (Is(rule, "operator taken")) operators[0].name = "batch";
  if (Is(rule, "twice")) operators[1].name = operators[0].name;
  if (Is(rule, "no compute")) kernels[0].compute = NULL;
  if (Is(rule, "no operand")) kernels[0].operand_count = 0;
  if (Is(rule, "no push")) operators[1].push = NULL;
  if (Is(rule, "traits")) operators[0].traits = 1 << 20;
  if (Is(rule, "wise across")) {
    operators[0].traits = kMillraceRowWise | kMillraceAcrossLanes;
  }
  static MillraceArgument argument[2];
  argument[0] = argument[1] = kRule[0];
  if (Is(rule, "argument")) argument[0].type = 9;
  if (Is(rule, "argument") || Is(rule, "arguments")) {
    kernels[0].arguments = argument;
    kernels[0].argument_count = 2;
  }
  if (Is(rule, "older")) {
    memcpy(older, &operators[0], kOlderBytes);
    memcpy(older + kOlderBytes, &operators[1], kOlderBytes);
    plugin->operators = (const MillraceOperator*)(void*)older;
    plugin->operator_bytes = kOlderBytes;
    plugin->operator_count = 2;
  }
}

const MillracePlugin* millrace_plugin_entry(void) {
  static MillraceKernel good_kernels[2];
  static MillraceOperator good_operators[4];
  static int asked = 0;
  if (!asked) {
    memcpy(good_kernels, kernels, sizeof(kernels));
    memcpy(good_operators, operators, sizeof(operators));
  }
  asked = 1;
  memcpy(kernels, good_kernels, sizeof(kernels));
  memcpy(operators, good_operators, sizeof(operators));
  static MillracePlugin plugin;
  plugin = (MillracePlugin){MILLRACE_PLUGIN_HEAD, .kernels = kernels, .kernel_count = 2,
                            .operators = operators, .operator_count = 4};
  const char* const rule = getenv("MILLRACE_RULE");
  if (rule != NULL && Is(rule, "nothing")) return NULL;
  if (rule != NULL) Break(rule, &plugin);
  return &plugin;
}
