// Engines and passes as Python uses them. Every call that may wait is meant to be made
// without Python's lock. What is wrong is thrown as Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"

namespace millrace::core {
class Block;
}  // namespace millrace::core

namespace millrace::exec {
class Engine;
class Iterator;
class RowOrigins;
}  // namespace millrace::exec

namespace millrace::lanes {
struct State;
}  // namespace millrace::lanes

namespace millrace::python {

// Threads, and bytes of memory, that this process may use by affinity and control
// group.
int AvailableThreads();
int64_t AvailableMemoryBytes();

struct EngineSettings {
  int threads = 1;  // 0: whoever calls Next does all the work.
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;
  bool shares_memory = false;  // Whether another process reads its blocks.
};

// A question to a Python function in this process, as api/python_calls.h has it, and
// the bytes that go with it.
struct HereQuestion {
  std::string text;
  void* data = nullptr;
  int64_t bytes = 0;
  std::shared_ptr<const void> owner = {};
};

struct HereAnswer {
  std::string text = {};
  std::vector<char> frame = {};  // Of rows; empty where there are none.
  bool raised = false;  // Something that ends the pass at once, as Ctrl-C does.
};

using AnswerHere = std::function<HereAnswer(const HereQuestion&)>;

struct PassSettings {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  bool any_order = false;                 // Else the logical one.
  std::optional<std::string> state = {};  // To go on from, as a Mark gives it.
  // A state of another pipeline over the same sources: lanes are cut alike.
  std::optional<std::string> cut_as = {};
  // Answers for Python functions, in the thread that calls Next; else processes do.
  // For engines without threads.
  AnswerHere here = nullptr;
  bool origins = false;  // Rows are to be found in their files: Iterator::Origins.
};

struct SaveSettings {
  std::string folder;
  std::string format;
  int64_t file_bytes = 0;
  bool replace = false;
  uint64_t seed = 0;
  // Told how many rows are saved, often; true ends it.
  std::function<bool(int64_t rows)> interrupt = nullptr;
};

// Where a row comes from.
struct Origin {
  std::optional<std::string> file = {};
  int64_t offset = 0;  // The byte where it begins, or its number.
  std::optional<std::string> key = {};
};

// Some rows, by column.
struct Rows {
  int64_t count = 0;
  std::vector<FieldColumn> columns = {};
  int64_t copied_bytes = 0;  // Because somebody else has the memory they were in.
};

class Here;
class Iterator;

// Threads and memory, shared by the passes in it. From any thread.
class Engine {
 public:
  explicit Engine(const EngineSettings& settings);

  std::unique_ptr<Iterator> Open(const Pipeline& pipeline,
                                 const PassSettings& settings) const;

  // The first row of a pipeline's epoch 0; nothing where there is none. `interrupt` as
  // an Iterator has it.
  std::optional<core::Block> FirstRow(const Pipeline& pipeline,
                                      std::function<bool()> interrupt) const;

  // Saves one pass in files; gives how many rows.
  int64_t Save(const Pipeline& pipeline, const SaveSettings& settings) const;

  int64_t UsedBytes() const;
  int64_t PeakBytes() const;

 private:
  std::shared_ptr<exec::Engine> inner_;
};

// The state of a pass as it was at some moment; written out only when asked for.
class Mark {
 public:
  explicit Mark(lanes::State state);

  std::string Json() const;

 private:
  std::shared_ptr<const lanes::State> state_;
};

// One pass. One thread uses it, but Cancel may come from any.
class Iterator {
 public:
  Iterator(std::shared_ptr<exec::Engine> engine, std::unique_ptr<exec::Iterator> inner,
           std::unique_ptr<Here> here, std::shared_ptr<const exec::RowOrigins> origins);
  ~Iterator();

  // Gives the next block's rows; nothing at the end. Arrays are the caller's to write
  // to: the engine's own memory where nobody else has it, else a copy.
  std::optional<Rows> Next();

  // Takes blocks without handing them over, at most so many; tells how many there were.
  int64_t Drain(int64_t blocks_max);

  // How many blocks Next has given.
  int64_t given() const { return given_; }

  // For each row in a row of the last block, which may be a batch of them: where it
  // comes from, or where all do that it was made of. Requires: opened with origins.
  std::vector<std::vector<Origin>> Origins(int64_t row) const;

  void Cancel();

  // Has a function asked, now and then, while Next waits: where it says true, Next
  // throws.
  void SetInterrupt(std::function<bool()> interrupt);

  Mark State() const;
  std::string Facts() const;   // JSON.
  std::string Report() const;  // For people: a table, the bottleneck, the remedy.
  int64_t Lanes() const;

 private:
  std::shared_ptr<exec::Engine> engine_;
  std::unique_ptr<Here> here_;
  std::unique_ptr<exec::Iterator> inner_;
  int64_t given_ = 0;
  const std::shared_ptr<const exec::RowOrigins> origins_;
  std::shared_ptr<const core::Block> last_ids_;  // Of the last block, without fields.
  const int process_;
};

}  // namespace millrace::python
