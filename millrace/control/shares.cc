#include "millrace/control/shares.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"

#include "millrace/api/rights.h"
#include "millrace/control/rights.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

int64_t LackOf(const PassRights& pass, const Share& share, const Quota& quota) {
  return quota.batches - HasBatches(share, pass.facts.batch_rows);
}

// A piece of a right that is nobody's yet.
struct Leftover {
  api::Right right;
  int64_t used = 0;  // Rows of it that are in a batch.
};

// Takes rows of one batch; the last piece is cut where the batch ends.
std::vector<api::Promise> NextBatch(std::vector<Leftover>& pieces, int64_t rows,
                                    int64_t to) {
  std::vector<api::Promise> batch;
  for (Leftover& piece : pieces) {
    const int64_t begin = piece.right.begin + piece.used;
    const int64_t end = std::min(piece.right.end, begin + rows);
    if (begin >= end) continue;
    batch.push_back({piece.right.number, begin, end, to});
    piece.used += end - begin;
    rows -= end - begin;
  }
  return batch;
}

std::vector<Leftover> LeftoversInLaneOrder(const PassRights& pass) {
  std::vector<Leftover> pieces;
  for (const OwnedRight& owned : pass.rights) {
    if (owned.consumer == api::kToLeftovers) pieces.push_back({owned.right});
  }
  std::ranges::sort(pieces, {}, [](const Leftover& piece) {
    return std::pair(piece.right.lane, piece.right.begin);
  });
  return pieces;
}

}  // namespace

int64_t HasBatches(const Share& share, int64_t batch_rows) {
  return share.batches + share.tail_rows / batch_rows;
}

Shares CountShares(const PassRights& pass, int64_t consumers,
                   const RowsOfRight& rows_of) {
  const int64_t size = pass.facts.batch_rows;
  Shares shares{std::vector<Share>(consumers)};
  shares.ended = IsLeased(pass);
  for (size_t i = 0; i < pass.tallies.size(); ++i) {
    shares.of[i] = {pass.tallies[i].batches, pass.tallies[i].tail_rows};
  }
  std::set<int64_t> groups;
  for (const OwnedRight& owned : pass.rights) {
    const lanes::KnownLane known = rows_of(owned);
    const int64_t rows = std::max<int64_t>(0, known.rows - owned.right.begin);
    shares.ended = shares.ended && known.ended;
    if (owned.consumer == api::kToLeftovers) {
      Increase(shares.leftover_rows, rows);
      continue;
    }
    Share& share = shares.of[owned.consumer];
    ++share.open;
    if (!known.ended) ++share.endless;
    if (owned.right.group != 0) {
      if (groups.insert(owned.right.group).second) Increase(share.batches, 1);
      continue;
    }
    Increase(share.batches, rows / size);
    if (known.ended) Increase(share.tail_rows, rows % size);
  }
  for (const Share& share : shares.of) {
    Increase(shares.batches, HasBatches(share, size));
  }
  return shares;
}

int64_t CountAll(const PassRights& pass, const Shares& shares) {
  const int64_t size = pass.facts.batch_rows;
  int64_t batches = 0;
  int64_t rows = shares.leftover_rows;
  for (const Share& share : shares.of) {
    Increase(batches, share.batches);
    Increase(rows, share.tail_rows);
  }
  return batches + (pass.facts.drop_remainder ? rows : rows + size - 1) / size;
}

std::vector<Quota> QuotasOf(int64_t batches, int64_t consumers,
                            std::string_view remainder) {
  std::vector<Quota> quotas(consumers, Quota{batches / consumers});
  const int64_t last = batches % consumers;
  if (last == 0 || remainder == "drop") return quotas;
  for (int64_t i = 0; i < consumers; ++i) {
    if (i < last) {
      ++quotas[i].batches;
    } else if (remainder == "pad") {
      quotas[i].fill = i - last;
    }
  }
  return quotas;
}

int64_t LeftOutRows(const PassRights& pass, const Shares& shares, int64_t consumers,
                    std::string_view remainder) {
  const absl::int128 size = pass.facts.batch_rows;
  absl::int128 rows = shares.leftover_rows;
  for (const Share& share : shares.of) rows += share.batches * size + share.tail_rows;
  if (pass.facts.drop_remainder) rows -= rows % size;
  for (const Quota& quota : QuotasOf(pass.batches, consumers, remainder)) {
    rows -= quota.batches * size;
  }
  return static_cast<int64_t>(std::clamp<absl::int128>(rows, 0, lanes::kRowsMax));
}

bool IsServed(const PassRights& pass, const Shares& shares,
              const std::vector<Quota>& quotas) {
  for (size_t i = 0; i < quotas.size(); ++i) {
    if (LackOf(pass, shares.of[i], quotas[i]) > 0) return false;
  }
  return true;
}

std::vector<std::vector<api::Ask>> AskForBatches(const PassRights& pass,
                                                 const Shares& shares,
                                                 const std::vector<Quota>& quotas) {
  std::vector<int64_t> lacks;
  lacks.reserve(quotas.size());
  for (size_t i = 0; i < quotas.size(); ++i) {
    lacks.push_back(LackOf(pass, shares.of[i], quotas[i]));
  }
  std::vector<std::vector<api::Ask>> asks(quotas.size());
  for (size_t to = 0; to < lacks.size(); ++to) {
    for (size_t from = 0; from < lacks.size() && lacks[to] > 0; ++from) {
      const int64_t given = std::min(lacks[to], -lacks[from]);
      if (given <= 0) continue;
      asks[from].push_back({static_cast<int64_t>(to), given});
      lacks[to] -= given;
      lacks[from] += given;
    }
  }
  return asks;
}

std::vector<std::vector<api::Ask>> AskForLanes(const Shares& shares,
                                               const std::vector<int64_t>& hungry,
                                               int64_t time) {
  std::vector<std::vector<api::Ask>> asks(shares.of.size());
  std::vector<size_t> owners;
  for (size_t i = 0; i < shares.of.size(); ++i) {
    if (shares.of[i].endless > 0) owners.push_back(i);
  }
  for (const int64_t to : hungry) {
    if (owners.empty() || shares.of[to].endless > 0) continue;
    asks[owners[static_cast<size_t>(time++) % owners.size()]].push_back({to, 0});
  }
  return asks;
}

std::vector<Move> DealLeftovers(const PassRights& pass, const Shares& shares,
                                const std::vector<Quota>& quotas) {
  const int64_t size = pass.facts.batch_rows;
  std::vector<int64_t> lacks;
  lacks.reserve(quotas.size());
  for (size_t i = 0; i < quotas.size(); ++i) {
    if (shares.of[i].tail_rows % size != 0) return {};
    lacks.push_back(LackOf(pass, shares.of[i], quotas[i]));
  }
  std::vector<Leftover> pieces = LeftoversInLaneOrder(pass);
  std::vector<Move> moves;
  int64_t group = pass.next_group;
  for (int64_t rows = shares.leftover_rows; rows > 0; rows -= size) {
    const auto most = std::ranges::max_element(lacks);
    if (*most <= 0 || (rows < size && pass.facts.drop_remainder)) break;
    --*most;
    for (const api::Promise& piece : NextBatch(pieces, size, most - lacks.begin())) {
      moves.push_back({piece, group});
    }
    ++group;
  }
  // What is behind in a right is moved first: the number stays with what is before.
  std::ranges::reverse(moves);
  return moves;
}

}  // namespace millrace::control
