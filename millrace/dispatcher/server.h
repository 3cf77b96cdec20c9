// The dispatcher's face: its calls (api/routes.h) by HTTP + JSON, its OpenAPI page at
// /v1/openapi.json, and /healthz, /readyz and /metrics. Threads are the HTTP server's
// and the loop's.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/server.h"
#include "millrace/dispatcher/loop.h"

namespace millrace::dispatcher {

// Serves until what it gives is dropped. The loop outlives it.
absl::StatusOr<std::unique_ptr<http::Server>> Serve(const http::ServerOptions& options,
                                                    Loop& loop);

}  // namespace millrace::dispatcher
