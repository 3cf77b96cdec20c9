#include "millrace/base/thread_cells.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"

namespace millrace::base {
namespace {

// Cells of different threads never share a cache line.
constexpr std::align_val_t kCacheLine{64};

// Set when the thread is ending and has handed its cells in.
constinit thread_local bool thread_ended = false;

}  // namespace

constinit Mutex ThreadCells::mutex;
constinit thread_local ThreadCells::Slots ThreadCells::slots_of_thread;

void ThreadCells::FreeCells::operator()(std::atomic<uint64_t>* cells) const {
  ::operator delete[](cells, kCacheLine);
}

// Made on a thread's first use of any cells; its destructor hands them in.
struct ThreadCells::Thread {
  ~Thread() {
    MutexLock lock(&mutex);
    for (size_t i = 0; i < slots_of_thread.size; ++i) {
      const Slot& slot = slots_of_thread.first[i];
      if (slot.cells == nullptr) continue;  // Room ahead: there may be no such object.
      ThreadCells* const object = process().objects[i];
      if (object != nullptr && object->owner_ == slot.owner) object->HandIn(slot.cells);
    }
    delete[] slots_of_thread.first;
    slots_of_thread = {};
    thread_ended = true;
  }
};

ThreadCells::Process& ThreadCells::process() {
  static auto* const process = new Process();  // Threads may end after main does.
  return *process;
}

ThreadCells::ThreadCells(size_t width) : width_(width), finished_(width, 0) {
  CHECK_GT(width, 0);
  MutexLock lock(&mutex);
  owner_ = ++process().owners;
  if (process().free_slots.empty()) {
    slot_ = process().objects.size();
    process().objects.push_back(this);
  } else {
    slot_ = process().free_slots.back();
    process().free_slots.pop_back();
    process().objects[slot_] = this;
  }
}

ThreadCells::~ThreadCells() {
  MutexLock lock(&mutex);
  process().objects[slot_] = nullptr;
  process().free_slots.push_back(slot_);
}

void ThreadCells::AddFirst(size_t index, uint64_t amount) {
  CHECK_LT(index, width_);
  MutexLock lock(&mutex);
  if (thread_ended) {
    finished_[index] += amount;
    return;
  }
  static thread_local Thread thread;
  static_cast<void>(thread);
  if (slot_ >= slots_of_thread.size) GrowSlots(slot_ + 1);
  living_.push_back(MakeCells());
  slots_of_thread.first[slot_] = {owner_, living_.back().get()};
  living_.back()[index].store(amount, std::memory_order_relaxed);
}

std::vector<uint64_t> ThreadCells::Sum() const {
  MutexLock lock(&mutex);
  std::vector<uint64_t> totals = finished_;
  for (const Cells& cells : living_) AddTo(totals, cells.get());
  return totals;
}

void ThreadCells::HandIn(const std::atomic<uint64_t>* cells) {
  AddTo(finished_, cells);
  std::erase_if(living_, [&](const Cells& each) { return each.get() == cells; });
}

void ThreadCells::AddTo(std::vector<uint64_t>& totals,
                        const std::atomic<uint64_t>* cells) {
  for (size_t i = 0; i < totals.size(); ++i) {
    totals[i] += cells[i].load(std::memory_order_relaxed);
  }
}

ThreadCells::Cells ThreadCells::MakeCells() const {
  const size_t bytes = (width_ * sizeof(std::atomic<uint64_t>) + 63) / 64 * 64;
  auto* const cells =
      static_cast<std::atomic<uint64_t>*>(::operator new[](bytes, kCacheLine));
  std::uninitialized_value_construct_n(cells, width_);
  return Cells(cells);
}

void ThreadCells::GrowSlots(size_t size) {
  Slots grown = {.first = nullptr, .size = std::max(size, 2 * slots_of_thread.size)};
  grown.first = new Slot[grown.size];
  std::copy_n(slots_of_thread.first, slots_of_thread.size, grown.first);
  delete[] slots_of_thread.first;
  slots_of_thread = grown;
}

}  // namespace millrace::base
