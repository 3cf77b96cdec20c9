// SHA-256 digests: the names of content (attachments, manifests, cache entries) and the
// fingerprints of pipelines. The hasher belongs to one thread; a digest is a value.
//
//   Sha256 name = Sha256Of(bytes);
//   Sha256 name = Sha256Hasher().Update(header).Update(body).Finish();
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace millrace::base {

struct Sha256 {
  std::array<uint8_t, 32> bytes = {};

  friend constexpr auto operator<=>(const Sha256&, const Sha256&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Sha256& digest) {
    return H::combine(std::move(state), digest.bytes);
  }
};

// Hashes content that comes in pieces; where it is cut does not matter.
class Sha256Hasher {
 public:
  Sha256Hasher();

  // Appends to the content. Requires: Finish was not called.
  Sha256Hasher& Update(std::string_view text);
  Sha256Hasher& Update(std::span<const std::byte> data);

  // Appends eight bytes, lowest first: for lengths and numbers between texts.
  Sha256Hasher& UpdateNumber(uint64_t number);

  // Returns the digest of all content. Call it once.
  Sha256 Finish();

 private:
  // Room for the library's state, whose header stays in the .cc.
  alignas(8) std::array<std::byte, 208> state_;
  bool finished_ = false;
};

// Hashes content that lies in one piece.
Sha256 Sha256Of(std::string_view text);

// Prints 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256& digest);

// Reads what ToHex prints.
absl::StatusOr<Sha256> ParseSha256(std::string_view text);

std::ostream& operator<<(std::ostream& out, const Sha256& digest);

}  // namespace millrace::base
