// What each consumer has of a pass in order "any", how far it may go, and what it is
// asked to give up so that all end together (protocol.md sections 3 and 5). Pure
// functions of the rights and of what is known of the lanes.
//
//   Shares shares = CountShares(rights, consumers, rows_of);
//   PassNews news …                  // shares.batches / consumers: the horizon.
//   std::vector<Move> moves = DealLeftovers(rights, shares, quotas);
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "millrace/api/rights.h"
#include "millrace/control/rights.h"
#include "millrace/lanes/known_lanes.h"

namespace millrace::control {

struct Share {
  int64_t batches = 0;    // Whole ones, taken or not, as far as they are known.
  int64_t tail_rows = 0;  // Rows that fill no batch of their right.
  int64_t open = 0;       // Rights that are not finished.
  int64_t endless = 0;    // Those of them whose end is not known.

  bool operator==(const Share&) const = default;
};

struct Shares {
  std::vector<Share> of;      // By consumer.
  int64_t leftover_rows = 0;  // That were given up, and not dealt.
  int64_t batches = 0;        // At least so many there are.
  bool ended = false;         // All lanes are leased, and their ends known.
};

// Before which row of its lane a right is known to have rows, and whether it has no
// more than these.
using RowsOfRight = std::function<lanes::KnownLane(const OwnedRight&)>;

Shares CountShares(const PassRights& pass, int64_t consumers,
                   const RowsOfRight& rows_of);

// Counts all batches of a pass, whole ones and those that are joined of other rows.
// Requires: shares.ended.
int64_t CountAll(const PassRights& pass, const Shares& shares);

// How many batches a consumer takes of a pass of so many, and its place among those who
// fill the last round up; -1: it does not.
struct Quota {
  int64_t batches = 0;
  int64_t fill = -1;

  bool operator==(const Quota&) const = default;
};

std::vector<Quota> QuotasOf(int64_t batches, int64_t consumers,
                            std::string_view remainder);

// Rows of a pass, all of whose batches are counted, that nobody takes: they fill no
// round. Requires: shares.ended.
int64_t LeftOutRows(const PassRights& pass, const Shares& shares, int64_t consumers,
                    std::string_view remainder);

// Has, of a consumer: batches that it can make of what it was dealt.
int64_t HasBatches(const Share& share, int64_t batch_rows);

// Tells whether all have their quota.
bool IsServed(const PassRights& pass, const Shares& shares,
              const std::vector<Quota>& quotas);

// What each consumer is asked to give up, and to whom, for all to have their quota; by
// consumer. Requires: shares.ended.
std::vector<std::vector<api::Ask>> AskForBatches(const PassRights& pass,
                                                 const Shares& shares,
                                                 const std::vector<Quota>& quotas);

// Whom to ask for those that have nothing left while ends of lanes are not known: one
// who has such a lane, another each time.
std::vector<std::vector<api::Ask>> AskForLanes(const Shares& shares,
                                               const std::vector<int64_t>& hungry,
                                               int64_t time);

// Deals leftovers, in lane order, in batches, to those who lack some; once no consumer
// has rows that fill no batch. Requires: shares.ended.
std::vector<Move> DealLeftovers(const PassRights& pass, const Shares& shares,
                                const std::vector<Quota>& quotas);

}  // namespace millrace::control
