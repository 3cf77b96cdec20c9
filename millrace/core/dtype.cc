#include "millrace/core/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace millrace::core {
namespace {

struct Facts {
  std::string_view name;
  std::string_view suffix;
  int64_t size;
};

constexpr std::array<Facts, kAllDTypes.size()> kFacts = {{
    {"bool", "", 1},
    {"int8", "i8", 1},
    {"int16", "i16", 2},
    {"int32", "i32", 4},
    {"int64", "i64", 8},
    {"uint8", "u8", 1},
    {"uint16", "u16", 2},
    {"uint32", "u32", 4},
    {"uint64", "u64", 8},
    {"float16", "f16", 2},
    {"bfloat16", "bf16", 2},
    {"float32", "f32", 4},
    {"float64", "f64", 8},
    {"bytes", "", 0},
    {"string", "", 0},
}};

const Facts& FactsOf(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

DType SignedOfSize(int64_t size) {
  if (size <= 2) return DType::kInt16;
  return size == 4 ? DType::kInt32 : DType::kInt64;
}

// Two integers of which one is unsigned: the next larger signed type, float64 past it.
DType PromoteIntegers(DType a, DType b) {
  if (IsSigned(a) == IsSigned(b)) return SizeOf(a) >= SizeOf(b) ? a : b;
  const DType with_sign = IsSigned(a) ? a : b;
  const DType without = IsSigned(a) ? b : a;
  if (SizeOf(with_sign) > SizeOf(without)) return with_sign;
  if (SizeOf(without) == 8) return DType::kFloat64;
  return SignedOfSize(SizeOf(without) * 2);
}

DType PromoteFloats(DType a, DType b) {
  if (a == b) return a;
  if (SizeOf(a) != SizeOf(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  return DType::kFloat32;  // float16 with bfloat16: neither holds the other.
}

// The least float that holds the integer type exactly, up to float64.
DType PromoteMixed(DType floating, DType integer) {
  const int64_t size = SizeOf(integer);
  if (size == 1) return floating;
  return PromoteFloats(floating, size == 2 ? DType::kFloat32 : DType::kFloat64);
}

}  // namespace

std::string_view Name(DType dtype) { return FactsOf(dtype).name; }

std::string_view LiteralSuffix(DType dtype) { return FactsOf(dtype).suffix; }

std::optional<DType> ParseDType(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const DType dtype : kAllDTypes) {
    if (name == Name(dtype) || name == LiteralSuffix(dtype)) return dtype;
  }
  return std::nullopt;
}

int64_t SizeOf(DType dtype) { return FactsOf(dtype).size; }

bool IsVariable(DType dtype) { return SizeOf(dtype) == 0; }

bool IsFloat(DType dtype) {
  return dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
}

bool IsInteger(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUint64; }

bool IsSigned(DType dtype) {
  return IsFloat(dtype) || (dtype >= DType::kInt8 && dtype <= DType::kInt64);
}

bool IsNumeric(DType dtype) { return IsInteger(dtype) || IsFloat(dtype); }

std::optional<DType> Promote(DType a, DType b) {
  if (a == b) return a;
  if (IsVariable(a) && IsVariable(b)) return DType::kBytes;
  if (IsVariable(a) || IsVariable(b)) return std::nullopt;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat(a) && IsFloat(b)) return PromoteFloats(a, b);
  if (IsFloat(a)) return PromoteMixed(a, b);
  if (IsFloat(b)) return PromoteMixed(b, a);
  return PromoteIntegers(a, b);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << Name(dtype); }

}  // namespace millrace::core
