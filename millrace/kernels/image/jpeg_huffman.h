// Reads the Huffman codes of plain JPEGs in libjpeg's place, which is most of the work
// of decoding a photo: one look into a table gives two coefficients with their bits,
// where they are short, while libjpeg looks up one code, and takes the bits behind it
// in a second step. All else stays libjpeg's: markers, transform, colours.
//
//   if (JpegHuffman::Reads(info)) huffman.Begin(info);  // After jpeg_start_decompress.
//   ok = huffman.ReadMcu(info, blocks);                 // As libjpeg's decode_mcu.
//
// What it reads it reads as libjpeg does, bit for bit. What is not as it should be it
// only finds: the image is to be decoded anew by libjpeg alone, which knows what to say
// of it, or what to make of it. No memory is taken, and nothing needs a destructor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.

#include "jpeglib.h"

namespace millrace::kernels {

class JpegHuffman {
 public:
  // Tells whether the scan is of the kind that it reads: one scan of sequential Huffman
  // codes, without restarts.
  static bool Reads(jpeg_decompress_struct& info);

  // Takes the tables of the scan, and the bytes that come next. Requires: Reads, and
  // that libjpeg has checked the tables.
  void Begin(const jpeg_decompress_struct& info);

  // Reads the next MCU into its blocks, which are zero; into none, if that is null.
  // False: something is wrong with it.
  bool ReadMcu(jpeg_decompress_struct& info, JBLOCKROW* blocks);

  // Whether any was read.
  bool has_read() const { return has_read_; }

 private:
  static constexpr int kLookBits = 11;
  static constexpr int kCodeBitsMax = 16;

  // What the next bits are. A whole coefficient, with the zeros before it; or, where
  // its value is 0, a code, whose bits follow; or, where there are no bits, a code that
  // is longer than what was looked at.
  struct Look {
    int16_t value;
    uint8_t zeros;  // Of a code: its symbol.
    uint8_t bits;
  };

  // A look, and the next one where both are whole coefficients; else they are one.
  struct Pair {
    uint8_t both_bits;  // Of both. First, where it needs no step to be taken out.
    uint8_t places;     // Of both, with the zeros before them; of a code: too many.
    uint8_t zeros;      // Of a code: its symbol.
    uint8_t bits;
    int16_t value;
    int16_t next_value;
  };

  using Looks = std::array<Look, size_t{1} << kLookBits>;
  using Pairs = std::array<Pair, size_t{1} << kLookBits>;

  // The codes that are longer than a look: where those of each length end, as the first
  // bits of 16, and what gives a code's place among the symbols.
  struct LongCodes {
    std::array<uint32_t, kCodeBitsMax + 2> ends;
    std::array<int32_t, kCodeBitsMax + 1> offsets;
    const uint8_t* symbols;
  };

  template <typename Entries>
  struct Table {
    Entries looks;
    LongCodes codes;
  };

  // The next bits, the first of them highest.
  struct Bits {
    uint64_t word;
    int count;    // Of bits in the word.
    int made_up;  // Of these, behind the end of the data.
    const uint8_t* next;
    const uint8_t* end;

    void Fill();
    static Bits FilledSlowly(Bits bits);  // By value: so all stays in registers.

    uint32_t Peek(int bits) const { return static_cast<uint32_t>(word >> (64 - bits)); }

    void Skip(int bits);
    int32_t TakeValue(int size);
  };

  struct Code {
    uint32_t bits;
    int length;
    uint8_t symbol;
  };

  static void AddCode(const Code& code, bool zeros, Looks& looks);
  static void Make(const JHUFF_TBL& from, bool zeros, Looks& looks, LongCodes& codes);
  static void Join(const Looks& looks, Pairs& pairs);
  static int TakeSymbol(const LongCodes& codes, int symbol, int length, Bits& bits);
  static int32_t TakeDifference(const Table<Looks>& table, Bits& bits);
  template <bool stores>
  static bool TakeBlock(const Table<Pairs>& table, Bits& bits, JCOEF* block);

  std::array<Table<Looks>, NUM_HUFF_TBLS> dc_;
  std::array<Table<Pairs>, NUM_HUFF_TBLS> ac_;
  std::array<int32_t, MAX_COMPS_IN_SCAN> last_dc_;
  Bits bits_;
  bool has_read_;
};

}  // namespace millrace::kernels
