// Both ends of calling Python functions in processes: how the package has them started,
// and what such a process needs to read rows and to write results. What is wrong is
// thrown as Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"

namespace millrace::python {

// Says how processes for Python functions are started, and how many there may be.
void ConfigureRunners(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment,
                      const std::string& hello, int processes);

// The fields that a spec's text has.
std::vector<FieldType> ParseFields(const std::string& text);

// Ends those that are free, and lists them.
void ClearRunners();
std::vector<int> RunnerPids();

// For a child that was forked from a process with such: lets go of them.
void AfterFork();

// What a function gives for the first row of a pipeline.
struct Sample {
  std::string fields = {};  // As a spec; nothing where there is no row.
  int64_t draws = 0;
  std::string structure = {};  // As api::PythonAnswer has it.
};

// How long to wait for a sample: `interrupt` is asked now and then, and where it says
// true, that is an Error.
struct SamplePatience {
  double seconds = 1e9;
  std::function<bool()> interrupt = nullptr;
};

// Calls a function on the first row of a pipeline, in a process as it will run.
Sample SampleFunction(const Engine& engine, const Pipeline& input,
                      const Attachment& function, const SamplePatience& patience);

// Begins a generator, in a process as it will run, and takes its first row.
Sample SampleGenerator(const Attachment& function, const SamplePatience& patience);

// --- In such a process ---

// Rows that came in shared memory: columns as an iterator gives them, over that memory,
// and the rows' identities, two numbers each.
struct ReceivedRows {
  Rows rows;
  std::vector<std::string> names;
  std::vector<std::pair<uint64_t, uint64_t>> ids = {};
};

// Requires: the owner keeps the bytes.
ReceivedRows ReadFrame(const void* data, int64_t bytes,
                       std::shared_ptr<const void> owner);

// A field of results: one array with the rows along its first axis, or each row's.
struct ResultColumn {
  std::string name;
  std::vector<Plain> values = {};  // One array where `stacked`.
  bool stacked = false;
};

// Results as they go into shared memory. They are not copied before CopyTo.
class ResultFrame {
 public:
  ResultFrame(int64_t rows, const std::vector<ResultColumn>& columns);
  ~ResultFrame();

  int64_t bytes() const;
  void CopyTo(void* data) const;

  // The spec of the rows: numbers of axes, and no sizes.
  std::string Fields() const;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace millrace::python
