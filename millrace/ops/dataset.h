// Pipelines in C++: a source, then operators, each a method with named options.
//
//   auto pipeline = millrace::Range({.stop = 1000})
//                       .Shuffle({.window = 100})
//                       .Map([](Row row, Rng rng) {
//                         return Fields{{"x", row["value"] + rng.Normal(0.0, 1.0)}};
//                       })
//                       .Batch({.size = 32});
//
// Made from the operators' definitions; `make golden` writes it anew.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/dataset_base.h"

namespace millrace {

using ir::Expr;
using ir::Fields;
using ir::Rng;
using ir::Row;

struct BatchOptions {
  // Rows per batch. Must be given.
  int64_t size = {};
  // Leave out a last batch that is not full.
  bool drop_remainder = false;
};

struct BucketOptions {
  // The longest length of each bucket, rising; longer rows have one more bucket for
  // themselves. Must be given.
  std::vector<int64_t> up_to = {};
  // Rows per batch: one number for all buckets, or one for each. Must be given.
  std::vector<int64_t> sizes = {};
  // Batches of one bucket that come one after the other, so that as many consumers get
  // batches of like length in each round.
  int64_t group = 1;
  // Leave out batches at the end that are not full.
  bool drop_remainder = false;
  // What to fill up with; every padded field must be able to hold it.
  double pad_value = 0.0;
  // Pad the first axis to the longest length of the bucket, not of the batch, so that
  // there are few shapes.
  bool pad_to_bucket = false;
  // Do not pad: rows keep their lengths.
  bool ragged = false;
  // Begin anew with every lane, so that there can be many; each ends with batches that
  // are not full.
  bool per_lane = false;
};

struct CacheOptions {
  // The folder to keep rows in, made where it is missing; by default they are kept in
  // memory, for as long as the process lives.
  std::optional<std::string> path = {};
};

struct ChooseOptions {
  // When to end: with the first choice of an input that has ended, or with all, such
  // choices being passed over.
  std::string stop = "first";
};

struct DropOptions {
  // Their names. Must be given.
  std::vector<std::string> fields = {};
};

struct EnumerateOptions {
  // The name of the field.
  std::string field = "index";
  // The first number.
  int64_t start = 0;
};

struct FilterOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct FlatMapOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct FromArraysOptions {
  // The field of each array. Must be given.
  std::vector<std::string> names = {};
  // The arrays, with as many rows each; attachments as pipelines carry them. Must be
  // given.
  std::vector<ir::Attachment> arrays = {};
};

struct FromRowsOptions {
  // The fields. Must be given.
  std::vector<std::string> names = {};
  // For each field the values of all rows, one after another; attachments as pipelines
  // carry them. Must be given.
  std::vector<ir::Attachment> values = {};
  // For each field the shape of every row: int64[rows, axes]. Must be given.
  std::vector<ir::Attachment> shapes = {};
};

struct GlobalShuffleOptions {
  // By default the job's.
  std::optional<int64_t> seed = {};
};

struct GroupByOptions {
  // Rows in a full group; by default a group takes all rows of its key, and comes at
  // the end.
  std::optional<int64_t> size = {};
  // Leave out groups at the end that are not full.
  bool drop_remainder = false;
  // Group the rows of every lane for themselves, so that there can be many.
  bool per_lane = false;
};

struct IgnoreErrorsOptions {
  // How many rows may be left out in a pass before it fails; any number by default.
  std::optional<int64_t> budget = {};
  // How many of the errors are kept to be shown, the first ones.
  int64_t report = 10;
};

struct LoadOptions {
  // The folder. Must be given.
  std::string path = {};
  // The fields of the rows and their types. By default what was saved says.
  std::optional<std::string> fields = {};
  // Read what is still being saved, too, waiting for what is not there yet; for so many
  // seconds without a sign of whoever saves it. By default it must be complete.
  std::optional<double> wait = {};
};

struct MapOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct MixOptions {
  // How often each input's turn comes, relative to the others; by default equally
  // often.
  std::vector<double> weights = {};
  // When to end: with the first input that ends, or with all of them, the others going
  // on.
  std::string stop = "all";
  // By default the job's.
  std::optional<int64_t> seed = {};
};

struct PackOptions {
  // Items in a row. Must be given.
  int64_t size = {};
  // best_fit and first_fit keep sequences whole: each goes into the open row with the
  // least room that suffices, or into the first with room. split joins all of them and
  // cuts at every `size` items.
  std::string method = "best_fit";
  // Rows that are open at once; more of them leave less room unused.
  int64_t open = 256;
  // What to fill up with.
  double pad_value = 0.0;
  // The field of the sequences' numbers.
  std::string segments = "segment_ids";
  // The field of the items' places.
  std::string positions = "positions";
  // Leave out rows at the end that are not full.
  bool drop_remainder = false;
  // Begin anew with every lane, so that there can be many.
  bool per_lane = false;
};

struct PaddedBatchOptions {
  // Rows per batch. Must be given.
  int64_t size = {};
  // Leave out a last batch that is not full.
  bool drop_remainder = false;
  // What to fill up with; every padded field must be able to hold it.
  double pad_value = 0.0;
  // Round the size of padded axes up to a multiple of this; by default not.
  std::optional<int64_t> to_multiple_of = {};
};

struct PrefetchOptions {
  // How much to prefetch, as other systems ask; any value is taken, and none has an
  // effect.
  std::optional<int64_t> count = {};
};

struct RaggedBatchOptions {
  // Rows per batch. Must be given.
  int64_t size = {};
  // Leave out a last batch that is not full.
  bool drop_remainder = false;
};

struct RandomOptions {
  // What the numbers are drawn from. Left out, the job's seed.
  std::optional<int64_t> seed = {};
  // How many there are. Left out, 1,073,741,824.
  std::optional<int64_t> count = {};
};

struct RangeOptions {
  // The first number.
  int64_t start = 0;
  // Where to stop; not given itself. Must be given.
  int64_t stop = {};
  // From one number to the next; may be negative.
  int64_t step = 1;
};

struct ReadOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // Of files that have several, the fields to read and their types, as in "{id: int64,
  // name: string}". Left out, it is told by the data: of JSON and CSV by the first
  // 1,000 rows, of tar files by the first.
  std::optional<std::string> fields = {};
  // Of CSV, the names of all columns, in order. Left out, it is told by the header of
  // the first file.
  std::vector<std::string> columns = {};
};

struct ReadCsvOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // The columns to read and their types, as in "{id: int64, name: string}". Left out,
  // it is told by the first 1,000 rows.
  std::optional<std::string> fields = {};
  // The names of all columns, in order. Left out, it is told by the header of the first
  // file; without a header they are column0, column1, ...
  std::vector<std::string> columns = {};
  // Of the fields, those to read. Left out, all.
  std::vector<std::string> select = {};
  // Files begin with the names of their columns.
  bool header = true;
  // What stands between cells.
  std::string separator = ",";
  // What stands around cells that hold separators or ends of lines; empty where nothing
  // does.
  std::string quote = "\"";
  // What becomes of a value that is not there: "error", its row is wrong, or "default",
  // it is 0, of floats NaN, of texts empty, of arrays without items.
  std::string missing = "error";
};

struct ReadFilesOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
};

struct ReadFixedOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // The bytes of a row. Must be given.
  int64_t record_bytes = {};
  // Bytes at the beginning of each file that are no row.
  int64_t header_bytes = 0;
  // Bytes at the end of each file that are no row.
  int64_t footer_bytes = 0;
};

struct ReadFramesOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // The fields of the rows and their types. By default the first file says; all must
  // say the same.
  std::optional<std::string> fields = {};
};

struct ReadImagesOptions {
  // Folders that hold a folder for each class, or patterns such as train/*/*.jpg. Must
  // be given.
  std::vector<std::string> paths = {};
};

struct ReadJsonlOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // The fields to read and their types, as in "{id: int64, tags: string[?]}"; others
  // are passed over. Left out, it is told by the first 1,000 rows.
  std::optional<std::string> fields = {};
  // What becomes of a value that is not there: "error", its row is wrong, or "default",
  // it is 0, of floats NaN, of texts empty, of arrays without items.
  std::string missing = "error";
};

struct ReadTarOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
  // The fields to read, as in ["jpg", "cls"]; others are passed over. Must be given.
  std::vector<std::string> fields = {};
};

struct ReadTextOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
};

struct ReadTfrecordOptions {
  // The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt.
  // They are read sorted by name. Must be given.
  std::vector<std::string> paths = {};
};

struct RebatchOptions {
  // Rows per batch. Must be given.
  int64_t size = {};
  // Leave out a last batch that is not full.
  bool drop_remainder = false;
};

struct ReduceOptions {
  // The fields of the state: "{sum: int64}". Must be given.
  std::string state = {};
  // What its fields begin with, a number for each; by default 0. Texts are empty.
  std::vector<double> initial = {};
};

struct RenameOptions {
  // Their names. Must be given.
  std::vector<std::string> from = {};
  // Their new names, in the same order. Must be given.
  std::vector<std::string> to = {};
};

struct RepeatOptions {
  // How often; by default without end.
  std::optional<int64_t> count = {};
};

struct ResampleOptions {
  // How often each class is wanted, relative to the others. Must be given.
  std::vector<double> target = {};
  // How often each comes by itself, relative to the others; by default it is counted on
  // the way, and the first rows are kept by guess.
  std::vector<double> initial = {};
  // By default the job's.
  std::optional<int64_t> seed = {};
};

struct ScanOptions {
  // The fields of the state: "{sum: int64}". Must be given.
  std::string state = {};
  // What its fields begin with, a number for each; by default 0. Texts are empty.
  std::vector<double> initial = {};
};

struct SelectOptions {
  // Their names. Must be given.
  std::vector<std::string> fields = {};
};

struct ShardOptions {
  // How many shards there are. Must be given.
  int64_t shards = {};
  // Which of them; the first is 0. Must be given.
  int64_t index = {};
  // Rows that go to one shard before the next's turn.
  int64_t run = 1;
  // Leave out the last rows where they are not enough for all shards; the pass is then
  // one lane.
  bool whole_rounds = false;
};

struct ShuffleOptions {
  // Rows to choose the next one from. Must be given.
  int64_t window = {};
  // By default the job's.
  std::optional<int64_t> seed = {};
};

struct SkipOptions {
  // How many. Must be given.
  int64_t count = {};
};

struct TakeOptions {
  // How many. Must be given.
  int64_t count = {};
};

struct TakeWhileOptions {
  // For random numbers; by default the job's.
  std::optional<int64_t> seed = {};
};

struct UniqueOptions {
  // What must differ; by default any field will do.
  std::vector<std::string> fields = {};
  // Compare only with rows of the same lane, so that there can be many.
  bool per_lane = false;
};

struct WindowOptions {
  // Rows in a window. Must be given.
  int64_t size = {};
  // Rows from the beginning of a window to that of the next; by default its size, so
  // that none overlap.
  std::optional<int64_t> shift = {};
  // Rows from one in a window to the next.
  int64_t stride = 1;
  // Leave out windows at the end that are not full.
  bool drop_remainder = false;
  // Begin anew with every lane, so that there can be many.
  bool per_lane = false;
};

struct WriteRowsOptions {
  // The folder of the files; made where it is missing. Must be given.
  std::string path = {};
  // frames: any rows; arrow, parquet: for other programs too; tar: as WebDataset has
  // it.
  std::string format = "frames";
  // Stands in the names of the files, behind the number of the lane.
  std::string name = "";
};

class Dataset : public ops::DatasetBase {
 public:
  // Groups consecutive rows into one, along a new leading axis.
  Dataset Batch(const BatchOptions& options) const {
    return Dataset(Then("batch",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)}}));
  }

  // Makes batches of rows of about the same length, so that little is padded. Rows wait
  // in the bucket of their length until it is full.
  Dataset Bucket(const ir::ValueFunction& length,
      const BucketOptions& options) const {
    return Dataset(Then("bucket",
      {{"up_to", ops::ToValue(options.up_to)},
       {"sizes", ops::ToValue(options.sizes)},
       {"group", ops::ToValue(options.group)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)},
       {"pad_value", ops::ToValue(options.pad_value)},
       {"pad_to_bucket", ops::ToValue(options.pad_to_bucket)},
       {"ragged", ops::ToValue(options.ragged)},
       {"per_lane", ops::ToValue(options.per_lane)}},
      "length", length));
  }

  // Keeps the rows that come to it, so that later passes need not compute them again:
  // in memory, or in files. What stands before it gives the same rows, in the same
  // order and with the same draws, in every pass; so put random augmentation and
  // shuffles behind it. Rows are kept by chunks where all that stands before it works
  // row by row, and as far as there is room: what finds none is computed again. Files
  // of changed data or of another pipeline are never taken. It may be shared by
  // pipelines that begin alike.
  Dataset Cache(const CacheOptions& options = {}) const {
    return Dataset(Then("cache",
      {{"path", ops::ToValue(options.path)}}));
  }

  // Gives rows of its inputs in the order that the first input tells: each of its rows
  // is a number, 0 for the next row of the second input, 1 for that of the third, and
  // so on.
  Dataset Choose(const std::vector<Dataset>& others,
      const ChooseOptions& options = {}) const {
    return Dataset(ThenWith("choose",
      {{"stop", ops::ToValue(options.stop)}},
      {others.begin(), others.end()}));
  }

  // Gives the rows of the first input, then those of the next. All must have the same
  // fields, of the same types.
  Dataset Concat(const std::vector<Dataset>& others) const {
    return Dataset(ThenWith("concat",
      {},
      {others.begin(), others.end()}));
  }

  // Leaves these fields out.
  Dataset Drop(const DropOptions& options) const {
    return Dataset(Then("drop",
      {{"fields", ops::ToValue(options.fields)}}));
  }

  // Gives every row its number in the pass, as a field.
  Dataset Enumerate(const EnumerateOptions& options = {}) const {
    return Dataset(Then("enumerate",
      {{"field", ops::ToValue(options.field)},
       {"start", ops::ToValue(options.start)}}));
  }

  // Keeps the rows for which a condition holds.
  Dataset Filter(const ir::ValueFunction& predicate,
      const FilterOptions& options = {}) const {
    return Dataset(Then("filter",
      {{"seed", ops::ToValue(options.seed)}},
      "predicate", predicate));
  }

  // Makes several rows of each: a function gives lists of one length, and every item
  // becomes a row. Fields without an axis go into each of these rows.
  Dataset FlatMap(const ir::RowFunction& function,
      const FlatMapOptions& options = {}) const {
    return Dataset(Then("flat_map",
      {{"seed", ops::ToValue(options.seed)}},
      "function", function));
  }

  // Puts all rows of the pass in random order, not only those of a window, and holds
  // none of them in memory. Files must have an index (`millrace data index`); only
  // maps, filters and choices of fields may stand before it.
  Dataset GlobalShuffle(const GlobalShuffleOptions& options = {}) const {
    return Dataset(Then("global_shuffle",
      {{"seed", ops::ToValue(options.seed)}}));
  }

  // Makes one row of several rows with the same key: every field is the list of theirs.
  // A group is given when it is full; those that are not, at the end, in the order in
  // which they began.
  Dataset GroupBy(const ir::ValueFunction& key,
      const GroupByOptions& options = {}) const {
    return Dataset(Then("group_by",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)},
       {"per_lane", ops::ToValue(options.per_lane)}},
      "key", key));
  }

  // Leaves out rows that are corrupt or that a function before it fails on, and counts
  // them. Files that cannot be read are errors as ever.
  Dataset IgnoreErrors(const IgnoreErrorsOptions& options = {}) const {
    return Dataset(Then("ignore_errors",
      {{"budget", ops::ToValue(options.budget)},
       {"report", ops::ToValue(options.report)}}));
  }

  // Replaces every row by what a function makes of it.
  Dataset Map(const ir::RowFunction& function,
      const MapOptions& options = {}) const {
    return Dataset(Then("map",
      {{"seed", ops::ToValue(options.seed)}},
      "function", function));
  }

  // Gives the rows of its inputs in random turn, by weight; the rows of each stay in
  // their order.
  Dataset Mix(const std::vector<Dataset>& others,
      const MixOptions& options = {}) const {
    return Dataset(ThenWith("mix",
      {{"weights", ops::ToValue(options.weights)},
       {"stop", ops::ToValue(options.stop)},
       {"seed", ops::ToValue(options.seed)}},
      {others.begin(), others.end()}));
  }

  // Packs sequences into rows of one length, so that little is padded, with two more
  // fields: which sequence of its row an item is of, from 1 on, and its place in that.
  // Both are 0 where padded.
  Dataset Pack(const PackOptions& options) const {
    return Dataset(Then("pack",
      {{"size", ops::ToValue(options.size)},
       {"method", ops::ToValue(options.method)},
       {"open", ops::ToValue(options.open)},
       {"pad_value", ops::ToValue(options.pad_value)},
       {"segments", ops::ToValue(options.segments)},
       {"positions", ops::ToValue(options.positions)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)},
       {"per_lane", ops::ToValue(options.per_lane)}}));
  }

  // Groups consecutive rows into one, along a new leading axis. Rows of differing shape
  // are padded at the end of each axis, to the largest of the batch; texts are not.
  Dataset PaddedBatch(const PaddedBatchOptions& options) const {
    return Dataset(Then("padded_batch",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)},
       {"pad_value", ops::ToValue(options.pad_value)},
       {"to_multiple_of", ops::ToValue(options.to_multiple_of)}}));
  }

  // Changes nothing: the engine works ahead of the consumer by itself, as far as its
  // memory budget allows.
  Dataset Prefetch(const PrefetchOptions& options = {}) const {
    return Dataset(Then("prefetch",
      {{"count", ops::ToValue(options.count)}}));
  }

  // Groups consecutive rows into one, along a new leading axis. Rows of differing shape
  // stay as they are: values, and where each row begins.
  Dataset RaggedBatch(const RaggedBatchOptions& options) const {
    return Dataset(Then("ragged_batch",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)}}));
  }

  // Makes batches of another size, with the rows in the same order: as unbatch and
  // batch do.
  Dataset Rebatch(const RebatchOptions& options) const {
    return Dataset(Then("rebatch",
      {{"size", ops::ToValue(options.size)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)}}));
  }

  // Gives one row: the state that is left when a function has seen every row with the
  // state before it.
  Dataset Reduce(const ir::RowFunction& function,
      const ReduceOptions& options) const {
    return Dataset(Then("reduce",
      {{"state", ops::ToValue(options.state)},
       {"initial", ops::ToValue(options.initial)}},
      "function", function));
  }

  // Calls fields by other names.
  Dataset Rename(const RenameOptions& options) const {
    return Dataset(Then("rename",
      {{"from", ops::ToValue(options.from)},
       {"to", ops::ToValue(options.to)}}));
  }

  // Gives all rows again and again, each time reshuffled. Before a batch, batches go on
  // from one turn into the next; behind it, each turn ends with its own last batch.
  Dataset Repeat(const RepeatOptions& options = {}) const {
    return Dataset(Then("repeat",
      {{"count", ops::ToValue(options.count)}}));
  }

  // Leaves out rows at random, so that classes come as often as is wanted. The class
  // that is rarest beside what is wanted is kept whole.
  Dataset Resample(const ir::ValueFunction& label,
      const ResampleOptions& options) const {
    return Dataset(Then("resample",
      {{"target", ops::ToValue(options.target)},
       {"initial", ops::ToValue(options.initial)},
       {"seed", ops::ToValue(options.seed)}},
      "label", label));
  }

  // Replaces every row by what a function makes of it and of a state, which it hands on
  // to the next row. One row at a time.
  Dataset Scan(const ir::RowFunction& function,
      const ScanOptions& options) const {
    return Dataset(Then("scan",
      {{"state", ops::ToValue(options.state)},
       {"initial", ops::ToValue(options.initial)}},
      "function", function));
  }

  // Keeps these fields, in this order, and no others.
  Dataset Select(const SelectOptions& options) const {
    return Dataset(Then("select",
      {{"fields", ops::ToValue(options.fields)}}));
  }

  // Gives every n-th row of the pass, or run of rows.
  Dataset Shard(const ShardOptions& options) const {
    return Dataset(Then("shard",
      {{"shards", ops::ToValue(options.shards)},
       {"index", ops::ToValue(options.index)},
       {"run", ops::ToValue(options.run)},
       {"whole_rounds", ops::ToValue(options.whole_rounds)}}));
  }

  // Puts rows in random order: the chunks of the whole data are permuted, and rows are
  // mixed within a moving window. Behind operators that go by the order of rows, such
  // as take, chunks stay in theirs.
  Dataset Shuffle(const ShuffleOptions& options) const {
    return Dataset(Then("shuffle",
      {{"window", ops::ToValue(options.window)},
       {"seed", ops::ToValue(options.seed)}}));
  }

  // Leaves out the first rows of the pass.
  Dataset Skip(const SkipOptions& options) const {
    return Dataset(Then("skip",
      {{"count", ops::ToValue(options.count)}}));
  }

  // Gives the first rows of the pass and no others.
  Dataset Take(const TakeOptions& options) const {
    return Dataset(Then("take",
      {{"count", ops::ToValue(options.count)}}));
  }

  // Gives the rows up to the first for which a condition does not hold.
  Dataset TakeWhile(const ir::ValueFunction& predicate,
      const TakeWhileOptions& options = {}) const {
    return Dataset(Then("take_while",
      {{"seed", ops::ToValue(options.seed)}},
      "predicate", predicate));
  }

  // Takes batches apart: one row for each part along the leading axis.
  Dataset Unbatch() const {
    return Dataset(Then("unbatch",
      {}));
  }

  // Gives each row once: rows that came before, with the same fields, are left out.
  // Remembers 16 bytes of every row that it gives.
  Dataset Unique(const UniqueOptions& options = {}) const {
    return Dataset(Then("unique",
      {{"fields", ops::ToValue(options.fields)},
       {"per_lane", ops::ToValue(options.per_lane)}}));
  }

  // Gives rows of several consecutive rows each, which may overlap: every field is the
  // list of theirs. What stands in such a list is up to a map behind.
  Dataset Window(const WindowOptions& options) const {
    return Dataset(Then("window",
      {{"size", ops::ToValue(options.size)},
       {"shift", ops::ToValue(options.shift)},
       {"stride", ops::ToValue(options.stride)},
       {"drop_remainder", ops::ToValue(options.drop_remainder)},
       {"per_lane", ops::ToValue(options.per_lane)}}));
  }

  // Writes the rows of each lane to a file of its own, and gives one row for each: the
  // number of the lane, and how many rows it has. The file appears all at once; one
  // that is there already stays. Saving on a service is made of it.
  Dataset WriteRows(const WriteRowsOptions& options) const {
    return Dataset(Then("write_rows",
      {{"path", ops::ToValue(options.path)},
       {"format", ops::ToValue(options.format)},
       {"name", ops::ToValue(options.name)}}));
  }

  // Puts the rows of its inputs side by side: the first with the first, and so on,
  // until one input ends.
  Dataset Zip(const std::vector<Dataset>& others) const {
    return Dataset(ThenWith("zip",
      {},
      {others.begin(), others.end()}));
  }

  // Starts with any source, by name.
  static Dataset FromSource(const std::string& name,
                            const ir::Arguments& arguments) {
    return Dataset(Start(name, arguments));
  }

 private:
  explicit Dataset(absl::StatusOr<ir::Pipeline> pipeline)
      : DatasetBase(std::move(pipeline)) {}
};

// Gives the rows of arrays in memory: row i is index i of each array's leading axis.
inline Dataset FromArrays(const FromArraysOptions& options) {
  return Dataset::FromSource("from_arrays",
      {{"names", ops::ToValue(options.names)},
       {"arrays", ops::ToValue(options.arrays)}});
}

// Gives rows that are in memory, whose values may differ in shape from row to row.
// PackRows makes the arguments from rows.
inline Dataset FromRows(const FromRowsOptions& options) {
  return Dataset::FromSource("from_rows",
      {{"names", ops::ToValue(options.names)},
       {"values", ops::ToValue(options.values)},
       {"shapes", ops::ToValue(options.shapes)}});
}

// Reads what was saved in a folder, in whatever format, by `millrace save`.
inline Dataset Load(const LoadOptions& options) {
  return Dataset::FromSource("load",
      {{"path", ops::ToValue(options.path)},
       {"fields", ops::ToValue(options.fields)},
       {"wait", ops::ToValue(options.wait)}});
}

// Gives whole numbers drawn from all that int64 has, as the field `value`: others in
// every epoch.
inline Dataset Random(const RandomOptions& options) {
  return Dataset::FromSource("random",
      {{"seed", ops::ToValue(options.seed)},
       {"count", ops::ToValue(options.count)}});
}

// Gives the whole numbers from start up to stop, as the field `value`.
inline Dataset Range(const RangeOptions& options) {
  return Dataset::FromSource("range",
      {{"start", ops::ToValue(options.start)},
       {"stop", ops::ToValue(options.stop)},
       {"step", ops::ToValue(options.step)}});
}

// Reads files as the endings of their names say: .jsonl, .ndjson and .json (an object
// on every line), .csv, .tfrecord, .txt, .tar, .parquet, .arrow and .feather, and
// images as files; lines, records and tar files also compressed, as in .csv.gz.
inline Dataset Read(const ReadOptions& options) {
  return Dataset::FromSource("read",
      {{"paths", ops::ToValue(options.paths)},
       {"fields", ops::ToValue(options.fields)},
       {"columns", ops::ToValue(options.columns)}});
}

// Reads the rows of CSV files, as RFC 4180 has them; cells become fields by the names
// of their columns. A cell that is empty, not quoted and no text is missing. Empty
// lines are no rows.
inline Dataset ReadCsv(const ReadCsvOptions& options) {
  return Dataset::FromSource("read_csv",
      {{"paths", ops::ToValue(options.paths)},
       {"fields", ops::ToValue(options.fields)},
       {"columns", ops::ToValue(options.columns)},
       {"select", ops::ToValue(options.select)},
       {"header", ops::ToValue(options.header)},
       {"separator", ops::ToValue(options.separator)},
       {"quote", ops::ToValue(options.quote)},
       {"missing", ops::ToValue(options.missing)}});
}

// Reads whole files, a row each, as the fields `path` and `bytes`.
inline Dataset ReadFiles(const ReadFilesOptions& options) {
  return Dataset::FromSource("read_files",
      {{"paths", ops::ToValue(options.paths)}});
}

// Reads files whose rows all have the same length, as the field `record`. How many
// there are is told by a file's size, unless it is compressed.
inline Dataset ReadFixed(const ReadFixedOptions& options) {
  return Dataset::FromSource("read_fixed",
      {{"paths", ops::ToValue(options.paths)},
       {"record_bytes", ops::ToValue(options.record_bytes)},
       {"header_bytes", ops::ToValue(options.header_bytes)},
       {"footer_bytes", ops::ToValue(options.footer_bytes)}});
}

// Reads files of frames, as `millrace save` writes them: rows of any type, as they were
// in memory.
inline Dataset ReadFrames(const ReadFramesOptions& options) {
  return Dataset::FromSource("read_frames",
      {{"paths", ops::ToValue(options.paths)},
       {"fields", ops::ToValue(options.fields)}});
}

// Reads images that are sorted into folders, one folder a class, as the fields `image`
// (the file's bytes), `label` (the number of the class, by the sorted names of all) and
// `path`.
inline Dataset ReadImages(const ReadImagesOptions& options) {
  return Dataset::FromSource("read_images",
      {{"paths", ops::ToValue(options.paths)}});
}

// Reads files with a JSON object on every line. Members become fields; those of an
// object in an object are named by their path, as in `a.b`. A field of strings takes
// strings, and of anything else its JSON.
inline Dataset ReadJsonl(const ReadJsonlOptions& options) {
  return Dataset::FromSource("read_jsonl",
      {{"paths", ops::ToValue(options.paths)},
       {"fields", ops::ToValue(options.fields)},
       {"missing", ops::ToValue(options.missing)}});
}

// Reads tar files in WebDataset's layout: neighbours that share a name up to its first
// dot are one row, what follows the dot is the field. Fields `cls` and `index` are
// int64, `txt` is a string, others are bytes; the shared name is the field `__key__`.
inline Dataset ReadTar(const ReadTarOptions& options) {
  return Dataset::FromSource("read_tar",
      {{"paths", ops::ToValue(options.paths)},
       {"fields", ops::ToValue(options.fields)}});
}

// Reads the lines of text files, as the field `text`, without their ends.
inline Dataset ReadText(const ReadTextOptions& options) {
  return Dataset::FromSource("read_text",
      {{"paths", ops::ToValue(options.paths)}});
}

// Reads the rows of TFRecord files, as the field `record`. Checksums are checked.
inline Dataset ReadTfrecord(const ReadTfrecordOptions& options) {
  return Dataset::FromSource("read_tfrecord",
      {{"paths", ops::ToValue(options.paths)}});
}

}  // namespace millrace
