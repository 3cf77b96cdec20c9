#include "millrace/lanes/positions.h"

#include <memory>

#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/turns.h"

namespace millrace::lanes {

std::unique_ptr<Positions> MakePositions(const Rest& rest, const Batching& batching,
                                         bool endless) {
  if (batching.runs) return std::make_unique<RunTurns>(rest, batching, endless);
  return std::make_unique<Turns>(rest, batching, endless);
}

}  // namespace millrace::lanes
