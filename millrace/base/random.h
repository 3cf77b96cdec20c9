// Randomness that belongs to the row, not to the thread: a generator is a pure function
// of (seed, epoch, number of the random call, row identity), so a row draws the same
// numbers wherever, whenever and beside whatever it is processed. Counter-based: making
// one costs a multiplication, drawing costs a finaliser, nothing is allocated or
// shared. Every result is bit-equal on every machine. Generators are values of one
// thread.
//
//   const RandomKey key(seed, epoch, call);        // Once per random call and pass.
//   Generator generator(key, row_identity);        // Once per row.
//   if (generator.Uniform() < 0.5) Flip(image);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/base/hash.h"

namespace millrace::base {

// Everything of a generator's key but the row. Neighbouring seeds, epochs and calls
// give unrelated keys.
class RandomKey {
 public:
  constexpr RandomKey(uint64_t seed, uint64_t epoch, uint64_t call)
      : bits_(Combine(Combine(Combine(Hash128{}, seed), epoch), call)) {}

  constexpr Hash128 bits() const { return bits_; }

  friend constexpr bool operator==(const RandomKey&, const RandomKey&) = default;

 private:
  Hash128 bits_;
};

class Generator {
 public:
  // Makes the generator of one row. For a fixed `identity.hi` no two rows share a
  // state: the whole 128-bit product is kept, and multiplying by one number is one to
  // one.
  constexpr Generator(const RandomKey& key, const Hash128& identity)
      : Generator(Product(key.bits().lo ^ identity.lo, key.bits().hi ^ identity.hi)) {}

  // Draws 64 random bits.
  constexpr uint64_t Next64() {
    uint64_t x = origin_.lo + ++drawn_ * 0x9e3779b97f4a7c15;
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) ^ origin_.hi;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  // Draws from [0, 1), a multiple of 2^-53.
  constexpr double Uniform() { return static_cast<double>(Next64() >> 11) * 0x1p-53; }

  // Draws from [0, 1), a multiple of 2^-24.
  constexpr float UniformFloat() {
    return static_cast<float>(Next64() >> 40) * 0x1p-24F;
  }

  // Draws from [low, high), or returns `low` when they are equal. Requires: low <= high
  // and the distance is finite.
  double Uniform(double low, double high);

  // Draws from [low, high), each number equally likely. Requires: low < high.
  constexpr int64_t Integer(int64_t low, int64_t high) {
    CHECK_LT(low, high);
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + Below(range));
  }

  // Draws from the normal distribution with mean 0 and variance 1.
  double Normal() { return NormalPair()[0]; }

  // Draws two independent ones for the price of one.
  std::array<double, 2> NormalPair();

  // Puts the items in random order, each order equally likely.
  template <typename T, size_t kExtent>
  constexpr void Shuffle(std::span<T, kExtent> items) {
    for (size_t size = items.size(); size > 1; --size) {
      std::swap(items[size - 1], items[Below(size)]);
    }
  }

  // Returns the n-th child: a generator unrelated to this one and to its other
  // children, and the same however many numbers were drawn here.
  constexpr Generator Split(uint64_t n) const { return Generator(Combine(origin_, n)); }

 private:
  constexpr explicit Generator(Hash128 origin) : origin_(origin) {}

  // Multiplies to 128 bits and folds the halves, one to one.
  static constexpr Hash128 Product(uint64_t a, uint64_t b) {
    const Uint128 product = static_cast<Uint128>(a) * b;
    const auto hi = static_cast<uint64_t>(product >> 64);
    return {hi, hi ^ static_cast<uint64_t>(product)};
  }

  // Draws from [0, range) without bias (Lemire, "Fast random integer generation in an
  // interval", 2019).
  constexpr uint64_t Below(uint64_t range) {
    Uint128 product = static_cast<Uint128>(Next64()) * range;
    if (static_cast<uint64_t>(product) < range) {
      const uint64_t rejected = (0 - range) % range;
      while (static_cast<uint64_t>(product) < rejected) {
        product = static_cast<Uint128>(Next64()) * range;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  __extension__ using Uint128 = unsigned __int128;

  Hash128 origin_;
  uint64_t drawn_ = 0;
};

}  // namespace millrace::base
