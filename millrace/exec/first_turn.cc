#include "millrace/exec/first_turn.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

void FirstTurn::Expect(int64_t readers) {
  const base::MutexLock lock(&mutex_);
  left_ = readers;
}

bool FirstTurn::HasNoRows() const {
  const base::MutexLock lock(&mutex_);
  return left_ == 0 && !any_;
}

void FirstTurn::Begin() {
  const base::MutexLock lock(&mutex_);
  ++left_;
}

void FirstTurn::End(bool any) {
  const base::MutexLock lock(&mutex_);
  --left_;
  any_ = any_ || any;
}

// Notes whether rows pass by.
class FirstTurn::WatchedRows final : public ops::RowsSink {
 public:
  explicit WatchedRows(ops::RowsSink& next) : next_(next) {}

  absl::Status Give(core::Block block) override {
    any_ = any_ || block.rows() > 0;
    return next_.Give(std::move(block));
  }

  absl::Status LeaveOut(const ops::BadRow& row) override { return next_.LeaveOut(row); }

  bool any() const { return any_; }

 private:
  ops::RowsSink& next_;
  bool any_ = false;
};

class FirstTurn::WatchedReader final : public ops::FindingReader {
 public:
  WatchedReader(std::shared_ptr<FirstTurn> turn, std::unique_ptr<ops::Reader> reader)
      : turn_(std::move(turn)), reader_(std::move(reader)) {}

  absl::Status Fetch() override { return reader_->Fetch(); }

  absl::StatusOr<bool> FetchNow() override { return reader_->FetchNow(); }

  std::shared_ptr<ops::FetchAhead> Ahead() override { return reader_->Ahead(); }

  int64_t ahead() const override { return reader_->ahead(); }

  absl::StatusOr<std::optional<ops::FoundWork>> Find() override {
    std::optional<ops::FoundWork> work = TRY(reader_->Find());
    if (!work) {
      if (!std::exchange(ended_, true)) turn_->End(false);
      return std::nullopt;
    }
    turn_->Begin();
    return (*std::move(work))
        .GivenBy([turn = turn_](ops::FoundWork found, ops::RowsSink& sink) {
          WatchedRows rows(sink);
          absl::Status status = std::move(found)(rows);
          turn->End(rows.any() || !status.ok());
          return status;
        });
  }

 private:
  const std::shared_ptr<FirstTurn> turn_;
  const std::unique_ptr<ops::Reader> reader_;
  bool ended_ = false;
};

std::unique_ptr<ops::Reader> FirstTurn::Watched(std::shared_ptr<FirstTurn> turn,
                                                std::unique_ptr<ops::Reader> reader) {
  return std::make_unique<WatchedReader>(std::move(turn), std::move(reader));
}

}  // namespace millrace::exec
