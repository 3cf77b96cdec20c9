// What this process, or another, has used of the machine so far.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace millrace::bench {

// What all threads of this process worked, in seconds.
double CpuSeconds();

// The same of another process, in steps of 10 ms; 0 where there is none.
double CpuSecondsOf(pid_t process);

// A number of this process's status, in bytes: what is resident now ("VmRSS:"), or was
// at most since the peak was reset ("VmHWM:").
int64_t StatusBytes(std::string_view name);

}  // namespace millrace::bench
