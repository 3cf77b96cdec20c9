// The types a value can have. Every column, tensor, literal and expression has one.
// Plain values, no thread rule. `kBytes` and `kString` are of variable length; the two
// differ only in what a consumer sees (bytes or text), never in how they are stored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

#include "millrace/base/check.h"
#include "millrace/core/float16.h"

namespace millrace::core {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kBytes,
  kString,
};

inline constexpr std::array kAllDTypes = {
    DType::kBool,     DType::kInt8,    DType::kInt16,   DType::kInt32,  DType::kInt64,
    DType::kUint8,    DType::kUint16,  DType::kUint32,  DType::kUint64, DType::kFloat16,
    DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kBytes,  DType::kString,
};

// Names a type as users write it: "uint8", "bfloat16", "string".
std::string_view Name(DType dtype);

// Finds a type by that name, or by the short suffix of literals: "u8", "bf16".
std::optional<DType> ParseDType(std::string_view name);

// Gives the suffix that literals of the type carry in the text form: "u8", "f32".
// Empty for bool, bytes and string, whose literals need none.
std::string_view LiteralSuffix(DType dtype);

// Bytes of one value; 0 for the variable types.
int64_t SizeOf(DType dtype);

bool IsVariable(DType dtype);
bool IsFloat(DType dtype);
bool IsInteger(DType dtype);  // Not bool.
bool IsSigned(DType dtype);
bool IsNumeric(DType dtype);  // Integers and floats.

// Gives the type that holds both, by NumPy's rules (bfloat16 as a float that holds
// eight bits exactly; bytes with string is bytes). Nothing when only one of them is
// text.
std::optional<DType> Promote(DType a, DType b);

std::ostream& operator<<(std::ostream& out, DType dtype);

// The type that stores a C++ type's values.
template <typename T>
inline constexpr DType kDTypeOf = [] { static_assert(!sizeof(T*), "no such dtype"); }();
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;

// Calls `visit.template operator()<T>()` with the C++ type of a fixed-size type.
// Requires: !IsVariable(dtype).
template <typename Visit>
decltype(auto) VisitDType(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit.template operator()<bool>();
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kInt64:
      return visit.template operator()<int64_t>();
    case DType::kUint8:
      return visit.template operator()<uint8_t>();
    case DType::kUint16:
      return visit.template operator()<uint16_t>();
    case DType::kUint32:
      return visit.template operator()<uint32_t>();
    case DType::kUint64:
      return visit.template operator()<uint64_t>();
    case DType::kFloat16:
      return visit.template operator()<Float16>();
    case DType::kBFloat16:
      return visit.template operator()<BFloat16>();
    case DType::kFloat32:
      return visit.template operator()<float>();
    case DType::kFloat64:
      return visit.template operator()<double>();
    case DType::kBytes:
    case DType::kString:
      break;
  }
  CHECK(false) << "no fixed-size type: " << dtype;
  __builtin_unreachable();
}

}  // namespace millrace::core
