#include "millrace/codec/crc32c.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

// Three stretches are summed at once, of up to so many words each: the instruction
// takes three cycles but one can start in each.
constexpr size_t kWord = 8;
constexpr size_t kStretchWords = 1024;
// Of less than this, joining the stretches costs more than it saves.
constexpr size_t kThreesFrom = 96;

// What multiplies a checksum so that it is followed by so many words of zeros:
// x^(64 n - 33), as 33 more come from how the product is reduced.
using Factors = std::array<uint32_t, 2 * kStretchWords + 1>;

Factors MakeFactors() {
  Factors factors = {};
  factors[1] = 1;  // x^31, as bits are reversed.
  for (size_t n = 2; n < factors.size(); ++n) {
    factors[n] = AddWord(factors[n - 1], 0);
  }
  return factors;
}

const Factors& AllFactors() {
  static const Factors& factors = *new Factors(MakeFactors());  // Never destroyed.
  return factors;
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

__attribute__((target("sse4.2,pclmul"))) inline uint64_t Product(uint64_t crc,
                                                                 uint32_t factor) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                           _mm_cvtsi32_si128(static_cast<int>(factor)), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

template <bool kCopies>
__attribute__((target("sse4.2,pclmul"))) void TakeThrees(Run& run) {
  const Factors& factors = AllFactors();
  while (run.size >= kThreesFrom) {
    const size_t words = std::min(run.size / (3 * kWord), kStretchWords);
    const size_t stretch = words * kWord;
    uint64_t first = run.crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t at = 0; at < stretch; at += kWord) {
      first = Take<kCopies>(run, at, first);
      second = Take<kCopies>(run, at + stretch, second);
      third = Take<kCopies>(run, at + 2 * stretch, third);
    }
    const uint64_t joined =
        Product(first, factors[2 * words]) ^ Product(second, factors[words]);
    run.crc = __builtin_ia32_crc32di(0, joined) ^ third;
    Advance<kCopies>(run, 3 * stretch);
  }
}

template <bool kCopies>
__attribute__((target("sse4.2"))) void TakeBytes(Run& run, size_t size) {
  auto crc = static_cast<uint32_t>(run.crc);
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(run.from[i]);
    if constexpr (kCopies) run.to[i] = static_cast<std::byte>(byte);
    crc = __builtin_ia32_crc32qi(crc, byte);
  }
  run.crc = crc;
  Advance<kCopies>(run, size);
}

template <bool kCopies>
__attribute__((target("sse4.2,pclmul"))) uint32_t ByInstruction(Run run) {
  if (run.size >= kThreesFrom + kWord) {
    TakeBytes<kCopies>(run, -reinterpret_cast<uintptr_t>(run.from) % kWord);
    TakeThrees<kCopies>(run);
  }
  while (run.size >= kWord) {
    run.crc = Take<kCopies>(run, 0, run.crc);
    Advance<kCopies>(run, kWord);
  }
  TakeBytes<kCopies>(run, run.size);
  return static_cast<uint32_t>(run.crc);
}

bool HasInstruction() {
  static const bool has =
      __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
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
