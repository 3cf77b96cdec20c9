// Where the features of a tf.train.Example lie: each is an entry of a map, a message of
// a name and a value, and all entries that are asked for are found in one scan. As
// protobuf does, entries of maps that come in pieces are one map, and of two entries
// with one name the later counts. One thread; some five nanoseconds per entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "millrace/kernels/example/wire.h"

namespace millrace::kernels {

// The field of a record that has the map.
enum class EntriesOf : uint32_t {
  kFeatures = 1,      // Of an Example, and the context of a SequenceExample.
  kFeatureLists = 2,  // Of a SequenceExample.
};

// The part of a record that is one entry.
struct EntryPlace {
  int64_t begin = -1;
  int64_t end = -1;

  bool missing() const { return begin == -1 && end == -1; }
};

class EntryFinder {
 public:
  // Requires: the names outlive it and differ.
  EntryFinder(EntriesOf map, absl::Span<const std::string_view> names);

  // Finds the place of each name's entry. An error when the record is damaged.
  // Requires: as many places as names; the record outlives the next call, which
  // guesses that names come in the same order again.
  absl::Status Find(std::string_view record, absl::Span<EntryPlace> places);

 private:
  struct Seen {
    std::string_view header;  // As of PlainEntryHeader; empty of an odd entry.
    int64_t index = -1;       // Among the names asked for; -1 if nobody asked.
  };

  absl::Status FindIn(std::string_view map, std::string_view record,
                      absl::Span<EntryPlace> places);

  // Which of the names asked for this entry has: the n-th of a record.
  absl::StatusOr<int64_t> IndexOf(std::string_view entry, std::string_view record,
                                  size_t n);

  const EntriesOf map_;
  absl::flat_hash_map<absl::string_view, int64_t> indices_;
  std::vector<Seen> order_;  // In which entries came in the record before.
  size_t entries_ = 0;       // Of the record that is being looked at.
};

// What a plain entry begins with, up to the length of its value: the name, and the tag
// of the value. Entries as all writers make them are that, the length, and the value.
std::string PlainEntryHeader(std::string_view name);

// Leaves only the value of a plain entry that begins so. False where it is another.
inline bool TakePlainValue(std::string_view& entry, std::string_view header) {
  if (!BeginsWith(entry, header)) return false;
  entry.remove_prefix(header.size());
  return TakeLengthOfRest(entry);
}

// The name of any entry: the last of several, empty if it has none.
absl::StatusOr<std::string_view> NameOf(std::string_view entry,
                                        std::string_view record);

}  // namespace millrace::kernels
