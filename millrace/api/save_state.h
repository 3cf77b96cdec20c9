// How far a save on a service is, as its folder says (`saving-state.json`), for whoever
// goes on with it. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe.hpp>

namespace millrace::api {

// A lane whose file is there.
struct SavedLane {
  int64_t lane = 0;
  int64_t rows = 0;
  int64_t bytes = 0;

  bool operator==(const SavedLane&) const = default;
};

BOOST_DESCRIBE_STRUCT(SavedLane, (), (lane, rows, bytes))

struct SaveState {
  int64_t millrace = 1;       // The version of this.
  std::string name = {};      // Stands in the names of its files.
  std::string pipeline = {};  // Its fingerprint, without writing.
  std::string format = {};
  int64_t seed = 0;
  std::string state = {};  // Of the job; empty: it has not begun.
  std::vector<SavedLane> lanes = {};

  bool operator==(const SaveState&) const = default;
};

BOOST_DESCRIBE_STRUCT(SaveState, (),
                      (millrace, name, pipeline, format, seed, state, lanes))

}  // namespace millrace::api
