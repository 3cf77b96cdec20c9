#include "millrace/bench/workload.h"

#include <vector>

namespace millrace::bench {

const std::vector<Workload>& Workloads() {
  static const auto& workloads = *new std::vector<Workload>{
      {"small_rows", RunSmallRows}, {"images", RunImages}, {"records", RunRecords},
      {"shuffle", RunShuffle},      {"memory", RunMemory}, {"meters", RunMeters},
      {"scaling", RunScaling},
  };
  return workloads;
}

}  // namespace millrace::bench
