#include "millrace/bench/workload.h"

#include <vector>

namespace millrace::bench {

const std::vector<Workload>& Workloads() {
  static const auto& workloads = *new std::vector<Workload>{
      {"engine", "small_rows", RunSmallRows},
      {"engine", "images", RunImages},
      {"engine", "records", RunRecords},
      {"engine", "shuffle", RunShuffle},
      {"engine", "memory", RunMemory},
      {"engine", "meters", RunMeters},
      {"engine", "scaling", RunScaling},
      {"breadth", "parquet", RunParquet},
      {"breadth", "jsonl", RunJsonl},
      {"breadth", "csv", RunCsv},
      {"breadth", "example", RunExample},
      {"breadth", "simclr", RunSimclr},
      {"breadth", "pack", RunPack},
      {"service", "stream", RunServiceStream},
      {"service", "workers", RunServiceWorkers},
      {"service", "lanes", RunServiceLanes},
      {"service", "heartbeats", RunServiceHeartbeats},
      {"service", "visits", RunServiceVisits},
      {"service", "recovery", RunServiceRecovery},
      {"service", "passes", RunServicePasses},
      {"service", "states", RunServiceStates},
      {"sharing", "save", RunSharingSave},
      {"sharing", "coordinated", RunSharingCoordinated},
      {"sharing", "hand_over", RunSharingHandOver},
      {"sharing", "jobs", RunSharingJobs},
  };
  return workloads;
}

}  // namespace millrace::bench
