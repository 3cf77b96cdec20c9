// For tests: what has a hash, kept in memory, as a dispatcher keeps it.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {

class KeptObjects {
 public:
  // How plans reach them. They outlive it.
  Objects Access() {
    return {.get = [this](const std::string& hash) { return Get(hash); },
            .put =
                [this](const std::string& hash, const std::string& text) {
                  if (refuses_) return absl::UnavailableError("nothing is kept now");
                  texts_[hash] = text;
                  return absl::OkStatus();
                }};
  }

  // Keeps a text, and gives its hash.
  std::string Put(const std::string& text) {
    const std::string hash = base::ToHex(base::Sha256Of(text));
    texts_[hash] = text;
    return hash;
  }

  absl::StatusOr<std::string> Get(const std::string& hash) {
    ++gets_;
    const auto found = texts_.find(hash);
    if (found != texts_.end()) return found->second;
    return absl::NotFoundError(base::StrCat("nothing has the hash ", hash));
  }

  // A job that nobody has listed yet.
  api::WorkerJob JobOf(const std::string& operators) {
    api::WorkerJob job{.job = 3, .incarnation = 1};
    job.pipeline = Put(base::StrCat("millrace 1\n", operators));
    job.seed = 5;
    return job;
  }

  void RefuseToKeep() { refuses_ = true; }

  int gets() const { return gets_; }

 private:
  std::map<std::string, std::string> texts_;
  int gets_ = 0;
  bool refuses_ = false;
};

}  // namespace millrace::worker
