#include "millrace/worker/sharing.h"

#include <cstddef>
#include <memory>
#include <set>
#include <variant>
#include <vector>

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

std::set<size_t> LastUses(const std::vector<delivery::ServerAction>& actions) {
  std::set<delivery::Token> dropped;
  std::set<size_t> last;
  for (size_t i = actions.size(); i-- > 0;) {
    if (const auto* drop = std::get_if<delivery::Drop>(&actions[i])) {
      dropped.insert(drop->token);
    } else if (const auto* batch = std::get_if<delivery::SendBatch>(&actions[i])) {
      if (dropped.erase(batch->token) > 0) last.insert(i);
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
