// How a worker's batches are where readers on its machine can have them: the engine's
// memory can be mapped by others, and what is copied to be sent is in such memory, too.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "millrace/core/pool.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/exec/engine.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_writer.h"
#include "millrace/worker/worker.h"

namespace millrace::worker {

// An engine's, such that memory can be shared where that is wanted.
exec::EngineOptions EngineOptionsOf(const WorkerOptions& options);

// Whether each of these actions sends a block for the last time: it is dropped behind
// that, and the reader can have it alone.
std::vector<bool> LastUses(const std::vector<delivery::ServerAction>& actions);

class Sharing {
 public:
  // The engine outlives all streams.
  Sharing(const WorkerOptions& options, exec::Engine& engine);

  // Where what is copied to be sent goes. Thread-safe.
  core::Pool& pool() { return pool_; }

  std::shared_ptr<transport::SharedWriter> WriterOver(
      const std::shared_ptr<transport::Channel>& stream) const {
    return std::make_shared<transport::SharedWriter>(host_, stream);
  }

 private:
  core::Pool pool_;
  const std::shared_ptr<transport::SharedHost> host_;
};

}  // namespace millrace::worker
