// For tests: collects what a stage gives.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {

class CollectedItems final : public Sink {
 public:
  void Accept(Item item) override { items_.push_back(std::move(item)); }

  void EndInput() override { ended_ = true; }

  bool HasRoom() const override { return has_room_; }

  void set_has_room(bool has_room) { has_room_ = has_room; }

  const std::vector<Item>& items() const { return items_; }

  bool ended() const { return ended_; }

  // The numbers of all blocks so far; batches are taken apart.
  std::vector<int64_t> values() const {
    std::vector<int64_t> values;
    for (const Item& item : items_) {
      if (item.block.rows() == 0) continue;
      const auto part = item.block.Find("value")->As<int64_t>();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

 private:
  std::vector<Item> items_;
  bool has_room_ = true;
  bool ended_ = false;
};

}  // namespace millrace::exec
