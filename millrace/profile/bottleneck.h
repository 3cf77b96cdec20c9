// Finds what holds a pass back. Pure: facts in, one cause with its reason out.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/profile/facts.h"

namespace millrace::profile {

struct Bottleneck {
  enum class Kind : uint8_t {
    kConsumer,  // It takes less than could be made.
    kCompute,   // All threads are busy.
    kStorage,   // Threads wait for disks.
    kInOrder,   // One operator that needs rows in order is always busy.
    kNone,      // Nothing stands out.
  };

  Kind kind = Kind::kNone;
  std::string name;    // Of the operator, where it is one.
  std::string reason;  // With the numbers, for people.
  std::string advice;  // What to do, for people.
};

Bottleneck FindBottleneck(const PassFacts& facts);

// How much of the threads' time was work, from 0 to 1.
double Utilisation(const PassFacts& facts);

}  // namespace millrace::profile
