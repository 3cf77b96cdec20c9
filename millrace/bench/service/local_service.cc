#include "millrace/bench/service/local_service.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/service/kernels.h"
#include "millrace/client/consumer.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/worker/worker.h"

namespace millrace::bench {

absl::StatusOr<std::unique_ptr<worker::Worker>> StartWorker(
    const http::Address& dispatcher, const LocalServiceOptions& options) {
  worker::WorkerOptions worker{.dispatcher = dispatcher};
  worker.engine.threads = options.worker_threads;
  worker.server.stream.sums = options.sums;
  worker.library = &ServiceLibrary();
  worker.engine.memory_bytes = options.memory_bytes;
  worker.shares_memory = options.shares_memory;
  return worker::Worker::Start(worker);
}

absl::StatusOr<std::unique_ptr<client::Consumer>> OpenJob(
    const http::Address& dispatcher, const Reading& reading) {
  const ir::Pipeline pipeline =
      TRY(ir::Parse(reading.pipeline, {}, ServiceLibrary().catalog()));
  client::ConsumerOptions options{.dispatcher = dispatcher};
  options.settings = reading.settings;
  options.consumer = reading.consumer;
  options.state = reading.state;
  options.library = &ServiceLibrary();
  options.open_within = absl::Minutes(1);
  return client::Consumer::Open(pipeline, options);
}

absl::StatusOr<std::unique_ptr<LocalService>> LocalService::Start(
    const LocalServiceOptions& options) {
  std::unique_ptr<LocalService> service(new LocalService());
  service->loop_ = TRY(dispatcher::Loop::Start(service->store_, {}));
  service->server_ = TRY(dispatcher::Serve({}, *service->loop_));
  for (int i = 0; i < options.workers; ++i) {
    service->workers_.push_back(TRY(StartWorker(service->address(), options)));
  }
  return service;
}

absl::StatusOr<std::unique_ptr<client::Consumer>> LocalService::Read(Reading reading) {
  if (reading.settings.name.empty()) {
    reading.settings.name = base::StrCat("job ", ++jobs_);
  }
  return OpenJob(address(), reading);
}

}  // namespace millrace::bench
