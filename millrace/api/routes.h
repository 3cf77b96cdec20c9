// The calls of a dispatcher, as one list: its server answers these, and its OpenAPI
// page says so.
#pragma once

#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"

namespace millrace::api {

inline constexpr auto kDispatcherRoutes = Routes(
    Route<OpenJob, OpenedJob>{"POST", "/v1/jobs/open",
                              "A consumer opens a job, or waits for it to begin."},
    Route<ConsumerBeat, ConsumerNews>{
        "POST", "/v1/consumers/beat",
        "A consumer tells what it needs, and hears which workers run it."},
    Route<WorkerBeat, WorkerNews>{
        "POST", "/v1/workers/beat",
        "A worker joins or tells what it runs, and hears what it is to run."},
    Route<PutObject, Nothing>{"POST", "/v1/objects",
                              "Keeps a pipeline or listing by its hash."},
    Route<GetObject, Object>{"POST", "/v1/objects/get", "Gives what was kept."},
    Route<GetStatus, ServiceStatus>{"GET", "/v1/status", "Tells how the service is."},
    Route<ListJobs, JobList>{"GET", "/v1/jobs", "Tells which jobs there are."},
    Route<ListWorkers, WorkerList>{"GET", "/v1/workers",
                                   "Tells which workers there are."},
    Route<ListNotices, NoticeList>{"GET", "/v1/notices",
                                   "Tells what has happened lately."});

}  // namespace millrace::api
