#include "millrace/base/sha256.h"

#include <sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/hex.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

using State = SHA2_CTX;
static_assert(sizeof(State) <= 208 && alignof(State) <= 8);
static_assert(std::is_trivially_copyable_v<State>);

State* StateIn(std::byte* room) { return std::launder(reinterpret_cast<State*>(room)); }

}  // namespace

Sha256Hasher::Sha256Hasher() { SHA256Init(new (state_.data()) State); }

Sha256Hasher& Sha256Hasher::Update(std::string_view text) {
  return Update(std::as_bytes(std::span(text)));
}

Sha256Hasher& Sha256Hasher::Update(std::span<const std::byte> data) {
  CHECK(!finished_);
  SHA256Update(StateIn(state_.data()), reinterpret_cast<const uint8_t*>(data.data()),
               data.size());
  return *this;
}

Sha256Hasher& Sha256Hasher::UpdateNumber(uint64_t number) {
  std::array<std::byte, 8> bytes = {};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(number >> (8 * i));
  }
  return Update(bytes);
}

Sha256 Sha256Hasher::Finish() {
  CHECK(!finished_);
  finished_ = true;
  Sha256 digest;
  SHA256Final(digest.bytes.data(), StateIn(state_.data()));
  return digest;
}

Sha256 Sha256Of(std::string_view text) { return Sha256Hasher().Update(text).Finish(); }

std::string ToHex(const Sha256& digest) { return ToHex(digest.bytes); }

absl::StatusOr<Sha256> ParseSha256(std::string_view text) {
  Sha256 digest;
  if (ParseHex(text, digest.bytes)) return digest;
  return absl::InvalidArgumentError(
      StrCat("digest is not 64 lower-case hexadecimal digits: \"", text, "\""));
}

std::ostream& operator<<(std::ostream& out, const Sha256& digest) {
  return out << ToHex(digest);
}

}  // namespace millrace::base
