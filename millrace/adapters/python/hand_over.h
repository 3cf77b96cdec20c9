// Makes a block's columns what Python can own: arrays over the engine's memory where
// nobody else has it, so that whoever gets them may write there, and copies elsewhere.
// Memory that nobody here may write to is given as it is, to be read alone.
#pragma once

#include "absl/status/statusor.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/core/block.h"

namespace millrace::python {

// Requires: the caller keeps no other handle to the block.
absl::StatusOr<Rows> HandOver(core::Block block);

// The same, all of it in memory that no other process has.
absl::StatusOr<Rows> HandOverPrivate(core::Block block);

// The same without a copy of numbers: for those who only read, while the block's memory
// lives.
absl::StatusOr<Rows> View(const core::Block& block);

}  // namespace millrace::python
