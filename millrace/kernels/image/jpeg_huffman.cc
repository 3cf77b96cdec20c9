#include "millrace/kernels/image/jpeg_huffman.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <cstring>
#include <limits>
#include <utility>

#include "jpeglib.h"

namespace millrace::kernels {
namespace {

constexpr int kBlock = 64;  // Coefficients.
constexpr int kLooksPerFill = 5;

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

// How many bytes of a word, from its lowest, come before the first FF.
int BytesBeforeMarker(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  // Of FF, the highest bit; behind it, perhaps others.
  const uint64_t found = (~word - kOnes) & word & (kOnes << 7);
  return found == 0 ? 8 : __builtin_ctzll(found) >> 3;
}

}  // namespace

// --- Bits ---

// There are 56 at least then.
inline void JpegHuffman::Bits::Fill() {
  uint64_t ahead = 0;
  if (end - next >= 8) {
    std::memcpy(&ahead, next, sizeof(ahead));
    const int bytes = (63 - count) >> 3;
    if (BytesBeforeMarker(ahead) >= bytes) [[likely]] {
      word |= __builtin_bswap64(ahead) >> count;
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
  for (; bits.count < 56; bits.count += 8) {
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
void JpegHuffman::AddCode(const Code& code, bool zeros, Looks& all) {
  const int size = zeros ? code.symbol & 15 : code.symbol;
  const int behind = kLookBits - code.length;
  Look* const looks = all.data() + (size_t{code.bits} << behind);
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
void JpegHuffman::Make(const JHUFF_TBL& from, bool zeros, Looks& looks,
                       LongCodes& codes) {
  looks = {};
  codes.symbols = from.huffval;
  uint32_t bits = 0;
  int32_t index = 0;
  for (int length = 1; length <= kCodeBitsMax; ++length, bits <<= 1) {
    codes.offsets[length] = index - static_cast<int32_t>(bits);
    for (int i = 0; i < from.bits[length]; ++i, ++bits, ++index) {
      if (length > kLookBits) continue;
      AddCode({bits, length, from.huffval[index]}, zeros, looks);
    }
    codes.ends[length] = bits << (kCodeBitsMax - length);
  }
  codes.ends[kCodeBitsMax + 1] = std::numeric_limits<uint32_t>::max();
}

// Adds to each look what comes behind it.
void JpegHuffman::Join(const Looks& looks, Pairs& pairs) {
  for (size_t i = 0; i < looks.size(); ++i) {
    const Look first = looks[i];
    const Look next = looks[(i << first.bits) % looks.size()];
    const bool whole = first.value != 0;
    Pair pair = {.both_bits = first.bits,
                 .places = static_cast<uint8_t>(whole ? first.zeros + 1 : kBlock),
                 .zeros = first.zeros,
                 .bits = first.bits,
                 .value = first.value,
                 .next_value = first.value};
    if (whole && next.value != 0 && first.bits + next.bits <= kLookBits) {
      pair.next_value = next.value;
      pair.places = static_cast<uint8_t>(pair.places + next.zeros + 1);
      pair.both_bits = static_cast<uint8_t>(pair.both_bits + next.bits);
    }
    pairs[i] = pair;
  }
}

void JpegHuffman::Begin(const jpeg_decompress_struct& info) {
  std::array<bool, NUM_HUFF_TBLS> has_dc = {};
  std::array<bool, NUM_HUFF_TBLS> has_ac = {};
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const int dc = info.cur_comp_info[i]->dc_tbl_no;
    const int ac = info.cur_comp_info[i]->ac_tbl_no;
    if (!std::exchange(has_dc[dc], true)) {
      Make(*info.dc_huff_tbl_ptrs[dc], /*zeros=*/false, dc_[dc].looks, dc_[dc].codes);
    }
    if (!std::exchange(has_ac[ac], true)) {
      Looks looks;
      Make(*info.ac_huff_tbl_ptrs[ac], /*zeros=*/true, looks, ac_[ac].codes);
      Join(looks, ac_[ac].looks);
    }
  }
  has_read_ = false;
  last_dc_ = {};
  bits_ = {};
  bits_.next = info.src->next_input_byte;
  bits_.end = bits_.next + info.src->bytes_in_buffer;
}

// --- Reading ---

// Of a look that is no whole coefficient; -1: there is no such code.
inline int JpegHuffman::TakeSymbol(const LongCodes& codes, int symbol, int length,
                                   Bits& bits) {
  if (length != 0) {
    bits.Skip(length);
    return symbol;
  }
  const uint32_t ahead = bits.Peek(kCodeBitsMax);
  length = kLookBits + 1;
  while (ahead >= codes.ends[length]) ++length;
  if (length > kCodeBitsMax) return -1;
  bits.Skip(length);
  const auto code = static_cast<int32_t>(ahead >> (kCodeBitsMax - length));
  return codes.symbols[code + codes.offsets[length]];
}

// Of a block's first coefficient to that of the one before it; what cannot be is larger
// than any that can.
inline int32_t JpegHuffman::TakeDifference(const Table<Looks>& table, Bits& bits) {
  bits.Fill();
  const Look look = table.looks[bits.Peek(kLookBits)];
  if (look.value != 0) {
    bits.Skip(look.bits);
    return look.value;
  }
  const int size = TakeSymbol(table.codes, look.zeros, look.bits, bits);
  if (size == 0) return 0;
  return size < 0 ? std::numeric_limits<int32_t>::max() / 2 : bits.TakeValue(size);
}

// All but the first coefficient.
template <bool stores>
inline bool JpegHuffman::TakeBlock(const Table<Pairs>& table, Bits& bits,
                                   JCOEF* block) {
  const auto store = [&](int place, int32_t value) {
    if constexpr (stores) block[kZigZag[place]] = static_cast<JCOEF>(value);
  };
  int place = 1;
  while (place < kBlock) {
    bits.Fill();
    for (int looks = 0; looks < kLooksPerFill && place < kBlock; ++looks) {
      // A copy: what is stored could be the table, for all that compilers know.
      const Pair pair = table.looks[bits.Peek(kLookBits)];
      const int end = place + pair.places;
      if (end <= kBlock) [[likely]] {
        bits.Skip(pair.both_bits);
        store(end - 1, pair.next_value);
        store(place + pair.zeros, pair.value);
        place = end;
        continue;
      }
      if (pair.value != 0) {  // What comes next belongs to the next block.
        place += pair.zeros;
        store(place++, pair.value);
        bits.Skip(pair.bits);
        continue;
      }
      bits.Fill();
      const int symbol = TakeSymbol(table.codes, pair.zeros, pair.bits, bits);
      if (symbol < 0) return false;
      const int size = symbol & 15;
      // Nothing but zeros follows. libjpeg takes other codes without a size for that.
      if (size == 0 && symbol >> 4 < 15) return true;
      place += symbol >> 4;
      if (size > 0) store(place, bits.TakeValue(size));
      ++place;
      break;
    }
  }
  return place == kBlock;
}

bool JpegHuffman::ReadMcu(jpeg_decompress_struct& info, JBLOCKROW* blocks) {
  Bits bits = bits_;
  bool good = true;
  for (int i = 0; good && i < info.blocks_in_MCU; ++i) {
    const int number = info.MCU_membership[i];
    const jpeg_component_info& component = *info.cur_comp_info[number];
    const Table<Pairs>& ac = ac_[component.ac_tbl_no];
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
