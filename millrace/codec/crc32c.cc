#include "millrace/codec/crc32c.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::codec {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // Bits reversed: the lowest comes first.

using ByteTable = std::array<uint32_t, 256>;
using WordTable = std::array<ByteTable, 8>;

// Table k holds what a byte followed by k zero bytes adds to the checksum.
constexpr WordTable MakeTables() {
  WordTable tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (size_t zeros = 1; zeros < tables.size(); ++zeros) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[zeros - 1][byte];
      tables[zeros][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr WordTable kTables = MakeTables();

uint64_t LoadWord(const char* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// The next eight bytes in one step (slicing by 8).
uint32_t AddWord(uint32_t crc, uint64_t word) {
  word ^= crc;
  uint32_t sum = 0;
  for (size_t i = 0; i < 8; ++i) sum ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  return sum;
}

#if defined(__x86_64__)

// Puts a run of zero bytes behind a checksum: it is linear, so four lookups do.
class Shift {
 public:
  explicit Shift(size_t zeros) {
    for (size_t i = 0; i < 4; ++i) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        table_[i][byte] = ByZeros(byte << (8 * i), zeros);
      }
    }
  }

  uint32_t operator()(uint32_t crc) const {
    return table_[0][crc & 0xff] ^ table_[1][(crc >> 8) & 0xff] ^
           table_[2][(crc >> 16) & 0xff] ^ table_[3][crc >> 24];
  }

 private:
  static uint32_t ByZeros(uint32_t crc, size_t zeros) {
    for (size_t i = 0; i < zeros; i += 8) crc = AddWord(crc, 0);
    return crc;
  }

  std::array<ByteTable, 4> table_;
};

// How long the three stretches are that are summed at once. The instruction takes three
// cycles but one can start in each, so three at a time keep it busy; the longer the
// stretches, the less joining them costs.
constexpr size_t kLong = 8192;
constexpr size_t kMiddle = 1024;
constexpr size_t kShort = 128;

struct Shifts {
  Shift after_long = Shift(kLong);
  Shift after_middle = Shift(kMiddle);
  Shift after_short = Shift(kShort);
};

const Shifts& AllShifts() {
  static const Shifts& shifts = *new Shifts;  // Never destroyed.
  return shifts;
}

// What is left to sum, and where it is copied to.
struct Run {
  const char* from;
  std::byte* to;
  size_t size;
  uint64_t crc;
};

template <bool kCopies>
__attribute__((target("sse4.2"))) inline uint64_t Take(const Run& run, size_t at,
                                                       uint64_t crc) {
  const uint64_t word = LoadWord(run.from + at);
  if constexpr (kCopies) std::memcpy(run.to + at, &word, sizeof(word));
  return __builtin_ia32_crc32di(crc, word);
}

template <bool kCopies>
void Advance(Run& run, size_t size) {
  run.from += size;
  if constexpr (kCopies) run.to += size;
  run.size -= size;
}

template <bool kCopies, size_t kStretch>
__attribute__((target("sse4.2"))) void TakeThrees(Run& run, const Shift& shift) {
  while (run.size >= 3 * kStretch) {
    uint64_t first = run.crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t at = 0; at < kStretch; at += 8) {
      first = Take<kCopies>(run, at, first);
      second = Take<kCopies>(run, at + kStretch, second);
      third = Take<kCopies>(run, at + 2 * kStretch, third);
    }
    const uint32_t joined = shift(static_cast<uint32_t>(first)) ^ second;
    run.crc = shift(joined) ^ third;
    Advance<kCopies>(run, 3 * kStretch);
  }
}

template <bool kCopies>
__attribute__((target("sse4.2"))) uint32_t ByInstruction(Run run) {
  if (run.size >= 3 * kShort) {
    const Shifts& shifts = AllShifts();
    TakeThrees<kCopies, kLong>(run, shifts.after_long);
    TakeThrees<kCopies, kMiddle>(run, shifts.after_middle);
    TakeThrees<kCopies, kShort>(run, shifts.after_short);
  }
  while (run.size >= 8) {
    run.crc = Take<kCopies>(run, 0, run.crc);
    Advance<kCopies>(run, 8);
  }
  auto crc = static_cast<uint32_t>(run.crc);
  for (size_t i = 0; i < run.size; ++i) {
    const auto byte = static_cast<uint8_t>(run.from[i]);
    if constexpr (kCopies) run.to[i] = static_cast<std::byte>(byte);
    crc = __builtin_ia32_crc32qi(crc, byte);
  }
  return crc;
}

bool HasInstruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

#endif

}  // namespace

uint32_t Crc32cByTable(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  while (bytes.size() >= 8) {
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): eight bytes are there.
    crc = AddWord(crc, LoadWord(bytes.data()));
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  return ~crc;
}

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  if (HasInstruction()) {
    return ~ByInstruction<false>({bytes.data(), nullptr, bytes.size(), ~before});
  }
#endif
  return Crc32cByTable(bytes, before);
}

uint32_t CopyWithCrc32c(std::byte* to, std::string_view from, uint32_t before) {
#if defined(__x86_64__)
  if (HasInstruction()) {
    return ~ByInstruction<true>({from.data(), to, from.size(), ~before});
  }
#endif
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
  return Crc32cByTable(from, before);
}

}  // namespace millrace::codec
