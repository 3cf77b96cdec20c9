#include "millrace/worker/sharing.h"

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/core/allocator.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/exec/engine.h"
#include "millrace/transport/shared_host.h"
#include "millrace/worker/worker.h"

namespace millrace::worker {

exec::EngineOptions EngineOptionsOf(const WorkerOptions& options) {
  exec::EngineOptions engine = options.engine;
  engine.shares_memory = engine.shares_memory || options.shares_memory;
  return engine;
}

std::vector<bool> LastUses(const std::vector<delivery::ServerAction>& actions) {
  absl::flat_hash_set<delivery::Token> dropped;
  std::vector<bool> last(actions.size());
  for (size_t i = actions.size(); i-- > 0;) {
    if (const auto* drop = std::get_if<delivery::Drop>(&actions[i])) {
      dropped.insert(drop->token);
    } else if (const auto* batch = std::get_if<delivery::SendBatch>(&actions[i])) {
      last[i] = dropped.erase(batch->token) > 0;
    }
  }
  return last;
}

Sharing::Sharing(const WorkerOptions& options, exec::Engine& engine)
    : pool_(options.shares_memory ? core::MakeLargeSharedAllocator()
                                  : core::MakeHeapAllocator(),
            {}),
      host_(std::make_shared<transport::SharedHost>(
          transport::SharedHostOptions{.enabled = options.shares_memory,
                                       .lent_max = options.shared_memory_bytes,
                                       .trim = [this, &engine] {
                                         engine.TrimMemory();
                                         pool_.Trim();
                                       }})) {}

}  // namespace millrace::worker
