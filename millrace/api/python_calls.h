// What is said to a process that runs Python functions, and what it answers. Rows go
// through shared memory beside these; python/millrace/runner.py is the other side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace millrace::api {

// One request. Its bytes (a function, or a frame of rows) are in the memory that the
// caller writes to, from kPythonHeadBytes on.
struct PythonCall {
  std::string kind = "";      // "load" a function, "map" rows, "generate" some.
  std::string function = "";  // The hash of its content.
  int64_t bytes = 0;
  std::string fields = "";  // What comes out, as a spec; empty: whatever it is.
  uint64_t seed = 0;
  uint64_t epoch = 0;
  int64_t first_call = 0;              // Of its random calls.
  int64_t stream = 0;                  // Which generator; a new number begins one ...
  int64_t skip = 0;                    // ... and lets so many of its rows go by.
  int64_t process = 0;                 // Which of the processes is asked ...
  int64_t processes = 1;               // ... and how many there may be.
  std::vector<int64_t> released = {};  // Answers that nobody needs any more.
};

BOOST_DESCRIBE_STRUCT(PythonCall, (),
                      (kind, function, bytes, fields, seed, epoch, first_call, stream,
                       skip, process, processes, released))

// One answer. A frame of rows is in memory that the process made; its descriptor comes
// along the first time.
struct PythonAnswer {
  int64_t rows = 0;    // That were done, before an error where there is one.
  int64_t region = 0;  // Which memory, by number.
  int64_t region_bytes = 0;
  int64_t bytes = 0;        // Of the frame.
  std::string error = "";   // Of the row behind them: what was raised, and where.
  std::string fields = "";  // What came out, as a spec.
  int64_t draws = 0;        // Random calls of the row with the most.
  bool ended = false;       // Of a generator: it gives no more.

  // The user's own type of these rows, as that side writes it; empty for dicts, and
  // where the call said what comes out.
  std::string structure = "";
};

BOOST_DESCRIBE_STRUCT(PythonAnswer, (),
                      (rows, region, region_bytes, bytes, error, fields, draws, ended,
                       structure))

// The memory that the caller writes to begins with the number of the row in work, which
// the process writes, so that it is known where one dies.
inline constexpr int64_t kPythonHeadBytes = 64;

}  // namespace millrace::api
