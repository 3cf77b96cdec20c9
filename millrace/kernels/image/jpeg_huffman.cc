#include "millrace/kernels/image/jpeg_huffman.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <cstring>
#include <limits>

#include "jpeglib.h"

namespace millrace::kernels {
namespace {

constexpr int kBlock = 64;  // Coefficients.

// Where each coefficient belongs. There is room behind, as only a whole block is
// checked.
constexpr std::array<uint8_t, kBlock + 16> kZigZag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// The number that so many bits mean: the lower half of them are negative.
int32_t Extended(uint32_t bits, int size) {
  const auto value = static_cast<int32_t>(bits);
  return value < (1 << (size - 1)) ? value - (1 << size) + 1 : value;
}

bool HasMarkerByte(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t inverted = ~word;
  return ((inverted - kOnes) & word & (kOnes << 7)) != 0;
}

}  // namespace

// --- Bits ---

// There are 32 at least then.
inline void JpegHuffman::Bits::Fill() {
  if (count > 32) return;
  uint64_t ahead = 0;
  if (end - next >= 8) {
    std::memcpy(&ahead, next, sizeof(ahead));
    if (!HasMarkerByte(ahead)) {
      word |= __builtin_bswap64(ahead) >> count;
      const int bytes = (63 - count) >> 3;
      next += bytes;
      count += 8 * bytes;
      return;
    }
  }
  *this = FilledSlowly(*this);
}

// The byte behind FF tells whether it is one of the data. Behind the end come zeros.
[[gnu::noinline]] JpegHuffman::Bits JpegHuffman::Bits::FilledSlowly(Bits bits) {
  // A part of a byte may be there already, from a fill of eight bytes.
  bits.word = bits.count == 0 ? 0 : bits.word & (~uint64_t{0} << (64 - bits.count));
  for (; bits.count <= 56; bits.count += 8) {
    const uint8_t* const next = bits.next;
    const bool stuffed = bits.end - next >= 2 && next[0] == 0xFF && next[1] == 0;
    if (next == bits.end || (*next == 0xFF && !stuffed)) {
      bits.made_up += 8;
      continue;
    }
    bits.word |= uint64_t{*next} << (56 - bits.count);
    bits.next += stuffed ? 2 : 1;
  }
  return bits;
}

inline void JpegHuffman::Bits::Skip(int bits) {
  word <<= bits;
  count -= bits;
}

inline int32_t JpegHuffman::Bits::TakeValue(int size) {
  const int32_t value = Extended(Peek(size), size);
  Skip(size);
  return value;
}

// --- Tables ---

bool JpegHuffman::Reads(jpeg_decompress_struct& info) {
  return info.progressive_mode == 0 && info.arith_code == 0 &&
         info.data_precision == 8 && info.restart_interval == 0 &&
         jpeg_has_multiple_scans(&info) == 0;
}

// All looks that begin with this code. `zeros`: the upper half of a symbol counts zeros
// before the coefficient.
void JpegHuffman::AddCode(const Code& code, bool zeros, Table& table) {
  const int size = zeros ? code.symbol & 15 : code.symbol;
  const int behind = kLookBits - code.length;
  Look* const looks = table.looks.data() + (size_t{code.bits} << behind);
  if (size == 0 || size > behind) {
    const Look look = {0, code.symbol, static_cast<uint8_t>(code.length)};
    std::fill_n(looks, size_t{1} << behind, look);
    return;
  }
  const size_t same = size_t{1} << (behind - size);
  for (uint32_t value = 0; value < (1U << size); ++value) {
    const Look look = {static_cast<int16_t>(Extended(value, size)),
                       static_cast<uint8_t>(zeros ? code.symbol >> 4 : 0),
                       static_cast<uint8_t>(code.length + size)};
    std::fill_n(looks + value * same, same, look);
  }
}

// Codes are numbered by their length, and then one after the other.
void JpegHuffman::Make(const JHUFF_TBL& from, bool zeros, Table& table) {
  table.looks = {};
  table.symbols = from.huffval;
  uint32_t bits = 0;
  int32_t index = 0;
  for (int length = 1; length <= kCodeBitsMax; ++length, bits <<= 1) {
    table.offsets[length] = index - static_cast<int32_t>(bits);
    for (int i = 0; i < from.bits[length]; ++i, ++bits, ++index) {
      if (length > kLookBits) continue;
      AddCode({bits, length, from.huffval[index]}, zeros, table);
    }
    table.ends[length] = bits << (kCodeBitsMax - length);
  }
  table.ends[kCodeBitsMax + 1] = std::numeric_limits<uint32_t>::max();
}

void JpegHuffman::Begin(const jpeg_decompress_struct& info) {
  std::array<bool, NUM_HUFF_TBLS> has_dc = {};
  std::array<bool, NUM_HUFF_TBLS> has_ac = {};
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const int dc = info.cur_comp_info[i]->dc_tbl_no;
    const int ac = info.cur_comp_info[i]->ac_tbl_no;
    if (!has_dc[dc]) Make(*info.dc_huff_tbl_ptrs[dc], /*zeros=*/false, dc_[dc]);
    if (!has_ac[ac]) Make(*info.ac_huff_tbl_ptrs[ac], /*zeros=*/true, ac_[ac]);
    has_dc[dc] = has_ac[ac] = true;
  }
  has_read_ = false;
  last_dc_ = {};
  bits_ = {};
  bits_.next = info.src->next_input_byte;
  bits_.end = bits_.next + info.src->bytes_in_buffer;
}

// --- Reading ---

// Of a look that is no whole coefficient; -1: there is no such code.
inline int JpegHuffman::TakeSymbol(const Table& table, const Look& look, Bits& bits) {
  if (look.bits != 0) {
    bits.Skip(look.bits);
    return look.zeros;
  }
  const uint32_t ahead = bits.Peek(kCodeBitsMax);
  int length = kLookBits + 1;
  while (ahead >= table.ends[length]) ++length;
  if (length > kCodeBitsMax) return -1;
  bits.Skip(length);
  const auto code = static_cast<int32_t>(ahead >> (kCodeBitsMax - length));
  return table.symbols[code + table.offsets[length]];
}

// Of a block's first coefficient to that of the one before it; what cannot be is larger
// than any that can.
inline int32_t JpegHuffman::TakeDifference(const Table& table, Bits& bits) {
  bits.Fill();
  const Look look = table.looks[bits.Peek(kLookBits)];
  if (look.value != 0) {
    bits.Skip(look.bits);
    return look.value;
  }
  const int size = TakeSymbol(table, look, bits);
  if (size == 0) return 0;
  return size < 0 ? std::numeric_limits<int32_t>::max() / 2 : bits.TakeValue(size);
}

// All but the first coefficient.
template <bool stores>
inline bool JpegHuffman::TakeBlock(const Table& table, Bits& bits, JCOEF* block) {
  int place = 1;
  while (place < kBlock) {
    bits.Fill();
    const Look look = table.looks[bits.Peek(kLookBits)];
    if (look.value != 0) {
      place += look.zeros;
      if constexpr (stores) block[kZigZag[place]] = look.value;
      bits.Skip(look.bits);
      ++place;
      continue;
    }
    const int symbol = TakeSymbol(table, look, bits);
    if (symbol == 0) return true;  // Nothing but zeros follows.
    if (symbol < 0) return false;
    const int size = symbol & 15;
    place += symbol >> 4;
    if (size > 0) {
      const int32_t value = bits.TakeValue(size);
      if constexpr (stores) block[kZigZag[place]] = static_cast<JCOEF>(value);
    } else if (symbol >> 4 < 15) {
      return true;  // libjpeg takes such a code for the end of the block, too.
    }
    ++place;
  }
  return place == kBlock;
}

bool JpegHuffman::ReadMcu(jpeg_decompress_struct& info, JBLOCKROW* blocks) {
  Bits bits = bits_;
  bool good = true;
  for (int i = 0; good && i < info.blocks_in_MCU; ++i) {
    const int number = info.MCU_membership[i];
    const jpeg_component_info& component = *info.cur_comp_info[number];
    const Table& ac = ac_[component.ac_tbl_no];
    last_dc_[number] += TakeDifference(dc_[component.dc_tbl_no], bits);
    const int32_t dc = last_dc_[number];
    good = dc == static_cast<JCOEF>(dc);
    if (blocks == nullptr) {
      good = TakeBlock<false>(ac, bits, nullptr) && good;
    } else {
      JCOEF* const block = *blocks[i];
      block[0] = static_cast<JCOEF>(dc);
      good = TakeBlock<true>(ac, bits, block) && good;
    }
  }
  bits_ = bits;
  has_read_ = true;
  info.src->next_input_byte = bits.next;
  info.src->bytes_in_buffer = static_cast<size_t>(bits.end - bits.next);
  return good && bits.count >= bits.made_up;
}

}  // namespace millrace::kernels
