// What the fields of an Arrow schema are as fields of rows: the tree of types is
// flattened to its leaves, each with a dotted name, a type, and the way to its values.
//
//   int32, float, bool, half float ...   as they are
//   date, time, timestamp, duration      int64, in the unit that the file counts in
//   utf8, binary, fixed-size binary      string, bytes
//   list, map, fixed-size list           an axis more: [?], or of that size
//   struct                               its fields, as `outer.inner`
//   dictionary                           its values
//
// A value, made once per file; others share it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/core/spec.h"

namespace millrace::arrow {

// How an array is laid out.
enum class Layout : uint8_t {
  kFixed,       // Values of `width` bytes.
  kBits,        // Bools, eight in a byte.
  kTexts,       // Offsets of 32 bits, and bytes.
  kLargeTexts,  // Offsets of 64 bits, and bytes.
  kFixedTexts,  // Texts of `width` bytes each.
  kList,        // Offsets of 32 bits into the child.
  kLargeList,   // Offsets of 64 bits.
  kFixedList,   // `width` values of the child each.
  kStruct,      // One of the children.
  kDictionary,  // Numbers of `width` bytes into the dictionary.
};

// One array on the way from a field to a leaf.
struct Step {
  Layout layout = Layout::kFixed;
  int64_t width = 0;
  bool is_signed = true;  // Of a dictionary's numbers.
  int64_t child = 0;      // The one to go on with.
};

// A leaf: a field of rows.
struct Leaf {
  core::FieldSpec spec;
  int64_t field = 0;        // The number of the file's field that it lies in.
  std::vector<Step> steps;  // From the field's array to the values.
};

// A field of a type that rows cannot have.
struct Refused {
  std::string name;
  std::string why;  // And what to do.
};

// All that can be read, in the schema's order, and what cannot.
struct Leaves {
  std::vector<Leaf> leaves;
  std::vector<Refused> refused = {};

  // Finds a leaf; null when there is none.
  const Leaf* Find(std::string_view name) const;

  core::Spec spec() const;
};

// Reads a schema, which is a struct of the file's fields. An error where names are
// absurd, or clash.
absl::StatusOr<Leaves> LeavesOf(const ArrowSchema& schema);

}  // namespace millrace::arrow
