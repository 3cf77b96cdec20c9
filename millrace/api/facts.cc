#include "millrace/api/facts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include <boost/describe.hpp>

#include "millrace/api/json.h"
#include "millrace/profile/bottleneck.h"
#include "millrace/profile/facts.h"

namespace millrace::api {
namespace {

struct OperatorMessage {
  std::string name;
  int64_t number = 0;
  bool row_wise = false;
  double busy_seconds = 0;
  int64_t rows_in = 0;
  int64_t rows_out = 0;
  int64_t bytes_out = 0;
  int64_t rows_left_out = 0;
};

BOOST_DESCRIBE_STRUCT(OperatorMessage, (),
                      (name, number, row_wise, busy_seconds, rows_in, rows_out,
                       bytes_out, rows_left_out))

struct FactsMessage {
  std::vector<OperatorMessage> operators = {};
  int64_t threads = 1;
  int64_t io_threads = 1;
  double wall_seconds = 0;
  double first_block_seconds = 0;
  double waited_seconds = 0;
  double fetching_seconds = 0;
  int64_t blocks = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t memory_peak_bytes = 0;
  std::vector<std::string> first_left_out = {};
  std::string bottleneck = "";  // In words, and what to do about it.
  std::string remedy = "";
};

BOOST_DESCRIBE_STRUCT(FactsMessage, (),
                      (operators, threads, io_threads, wall_seconds,
                       first_block_seconds, waited_seconds, fetching_seconds, blocks,
                       rows, bytes, memory_peak_bytes, first_left_out, bottleneck,
                       remedy))

OperatorMessage MessageOf(const profile::OperatorFacts& facts) {
  return {.name = facts.name,
          .number = facts.number,
          .row_wise = facts.row_wise,
          .busy_seconds = absl::ToDoubleSeconds(facts.busy),
          .rows_in = facts.rows_in,
          .rows_out = facts.rows_out,
          .bytes_out = facts.bytes_out,
          .rows_left_out = facts.rows_left_out};
}

}  // namespace

std::string FactsToJson(const profile::PassFacts& facts) {
  FactsMessage message = {
      .threads = facts.threads,
      .io_threads = facts.io_threads,
      .wall_seconds = absl::ToDoubleSeconds(facts.wall),
      .first_block_seconds = absl::ToDoubleSeconds(facts.first_block),
      .waited_seconds = absl::ToDoubleSeconds(facts.waited),
      .fetching_seconds = absl::ToDoubleSeconds(facts.fetching),
      .blocks = facts.blocks,
      .rows = facts.rows,
      .bytes = facts.bytes,
      .memory_peak_bytes = facts.memory_peak_bytes,
      .first_left_out = facts.first_left_out};
  for (const profile::OperatorFacts& one : facts.operators) {
    message.operators.push_back(MessageOf(one));
  }
  const profile::Bottleneck found = profile::FindBottleneck(facts);
  message.bottleneck = found.reason;
  message.remedy = found.advice;
  return ToJson(message);
}

}  // namespace millrace::api
