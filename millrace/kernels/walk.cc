#include "millrace/kernels/walk.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/shape.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kShortRun = 64;   // Below this a run costs more to start than to do.
constexpr int64_t kTiledRun = 512;  // About as long as a run of tiles is made.

// Writes out `count` values `times` times, one after the other.
std::vector<std::byte> Tiled(const Values& values, int64_t count, int64_t times) {
  CHECK(values.offsets == nullptr);
  std::vector<std::byte> tile(times * count * values.value_bytes);
  std::byte* out = tile.data();
  for (int64_t i = 0; i < times * count; ++i) {
    const Values value = values.From(i % count * values.step);
    std::memcpy(out, value.data, values.value_bytes);
    out += values.value_bytes;
  }
  return tile;
}

}  // namespace

void Walk::AddAxis(int64_t size, const Sizes& steps) {
  CHECK_EQ(steps.size(), operands_);
  CHECK_GE(size, 0);
  count_ *= size;
  if (size == 1) return;
  bool joined = !axes_.empty();
  for (int i = 0; i < operands_ && joined; ++i) {
    joined = axes_.back().steps[i] == size * steps[i];
  }
  if (joined) {
    axes_.back() = {.size = axes_.back().size * size, .steps = steps};
  } else {
    axes_.push_back({.size = size, .steps = steps});
  }
}

void Walk::AddBroadcastAxes(const core::Shape& result,
                            absl::Span<const core::Shape* const> shapes) {
  CHECK_EQ(shapes.size(), operands_);
  absl::InlinedVector<Sizes, 4> steps_of;
  for (const core::Shape* shape : shapes) steps_of.push_back(RowMajorSteps(*shape));
  for (int axis = 0; axis < result.rank(); ++axis) {
    Sizes steps;
    for (int i = 0; i < operands_; ++i) {
      const int own = axis - (result.rank() - shapes[i]->rank());
      const bool repeats = own < 0 || (*shapes[i])[own] == 1;
      steps.push_back(repeats ? 0 : steps_of[i][own]);
    }
    AddAxis(result[axis], steps);
  }
}

bool Walk::Advance(Sizes& index, absl::Span<Values> operands) const {
  for (size_t axis = index.size(); axis-- > 0;) {
    const Axis& here = axes_[axis];
    const bool wraps = ++index[axis] == here.size;
    const int64_t distance = wraps ? 1 - here.size : 1;
    for (int i = 0; i < operands_; ++i) {
      operands[i] = operands[i].From(distance * here.steps[i]);
    }
    if (!wraps) return true;
    index[axis] = 0;
  }
  return false;
}

int64_t Walk::Run(absl::Span<const Values> firsts, Loop loop, ValueWriter& out) const {
  CHECK_EQ(firsts.size(), operands_);
  if (count_ == 0) return 0;
  if (IsTiled(firsts)) return RunTiled(firsts, loop, out);
  absl::InlinedVector<Values, 4> operands(firsts.begin(), firsts.end());
  const int64_t run = axes_.empty() ? 1 : axes_.back().size;
  for (int i = 0; i < operands_; ++i) {
    operands[i].step = axes_.empty() ? 0 : axes_.back().steps[i];
  }
  Sizes index(axes_.empty() ? 0 : axes_.size() - 1);
  int64_t computed = 0;
  do {
    const int64_t now = loop(operands, run, out);
    computed += now;
    if (now < run) break;
  } while (Advance(index, absl::MakeSpan(operands)));
  return computed;
}

bool Walk::IsTiled(absl::Span<const Values> firsts) const {
  if (axes_.size() != 2 || axes_[1].size >= kShortRun) return false;
  if (count_ < 2 * kTiledRun) return false;
  for (int i = 0; i < operands_; ++i) {
    const bool goes_on = axes_[0].steps[i] == axes_[1].size * axes_[1].steps[i];
    const bool starts_again = axes_[0].steps[i] == 0 && firsts[i].offsets == nullptr;
    if (!goes_on && !starts_again) return false;
  }
  return true;
}

int64_t Walk::RunTiled(absl::Span<const Values> firsts, Loop loop,
                       ValueWriter& out) const {
  const int64_t tile = axes_[1].size;
  const int64_t times = kTiledRun / tile;
  const int64_t runs = axes_[0].size / times;
  std::vector<std::vector<std::byte>> tiles(operands_);
  absl::InlinedVector<Values, 4> operands(firsts.begin(), firsts.end());
  Sizes run_steps;
  for (int i = 0; i < operands_; ++i) {
    operands[i].step = axes_[1].steps[i];
    run_steps.push_back(times * axes_[0].steps[i]);
    if (axes_[0].steps[i] != 0 || operands[i].step == 0) continue;
    tiles[i] = Tiled(operands[i], tile, times);
    operands[i].data = tiles[i].data();
    operands[i].step = 1;
  }
  int64_t computed = 0;
  for (int64_t run = 0; run <= runs; ++run) {
    const int64_t size = run < runs ? times * tile : (axes_[0].size % times) * tile;
    const int64_t now = size == 0 ? 0 : loop(operands, size, out);
    computed += now;
    if (now < size) break;
    for (int i = 0; i < operands_; ++i) operands[i] = operands[i].From(run_steps[i]);
  }
  return computed;
}

Sizes RowMajorSteps(const core::Shape& shape) {
  Sizes steps(shape.rank());
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    steps[axis] = step;
    step *= shape[axis];
  }
  return steps;
}

}  // namespace millrace::kernels
