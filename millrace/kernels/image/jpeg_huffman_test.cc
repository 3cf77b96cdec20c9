#include "millrace/kernels/image/jpeg_huffman.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jpeglib.h"

#include "millrace/base/random.h"
#include "millrace/kernels/image/escape.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using Coefficients = std::vector<JCOEF>;  // Of all components, block by block.

// libjpeg with a file; what it warns of is as wrong as an error.
class File {
 public:
  explicit File(std::string_view bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = &escape_;
    errors_.error_exit = [](j_common_ptr info) {
      EscapeFrom(*static_cast<Escape*>(info->client_data));
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0) info->err->error_exit(info);
    };
    jpeg_create_decompress(&info_);
  }

  ~File() { jpeg_destroy_decompress(&info_); }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // By libjpeg alone; nothing: it finds something wrong.
  std::optional<Coefficients> ByLibjpeg() {
    jvirt_barray_ptr* arrays = nullptr;
    const bool read = RunWithEscape(escape_, [&] {
      Open();
      arrays = jpeg_read_coefficients(&info_);
    });
    if (!read) return std::nullopt;
    Coefficients found;
    for (int i = 0; i < info_.num_components; ++i) AddOf(i, arrays[i], found);
    return found;
  }

  // By the reader under test; nothing: it does not read this kind, or finds something
  // wrong.
  std::optional<Coefficients> ByOurs() {
    const bool begun = RunWithEscape(escape_, [&] {
      Open();
      jpeg_start_decompress(&info_);
    });
    if (!begun || !JpegHuffman::Reads(info_)) return std::nullopt;
    const auto huffman = std::make_unique<JpegHuffman>();
    huffman->Begin(info_);
    std::vector<Coefficients> parts;
    parts.reserve(info_.num_components);
    for (int i = 0; i < info_.num_components; ++i) {
      parts.emplace_back(Across(i) * Down(i) * 64);
    }
    const int64_t mcus = int64_t{info_.MCUs_per_row} * info_.MCU_rows_in_scan;
    for (int64_t mcu = 0; mcu < mcus; ++mcu) {
      if (!ReadMcu(*huffman, mcu, parts)) return std::nullopt;
    }
    Coefficients found;
    for (const Coefficients& part : parts) {
      found.insert(found.end(), part.begin(), part.end());
    }
    return found;
  }

 private:
  void Open() {
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 bytes_.size());
    jpeg_read_header(&info_, TRUE);
  }

  // Blocks of a component in MCUs. Of a lone component an MCU is one block.
  int64_t McuWidth(int i) const {
    return info_.num_components == 1 ? 1 : info_.comp_info[i].h_samp_factor;
  }

  int64_t McuHeight(int i) const {
    return info_.num_components == 1 ? 1 : info_.comp_info[i].v_samp_factor;
  }

  int64_t Across(int i) const { return info_.MCUs_per_row * McuWidth(i); }

  int64_t Down(int i) const { return info_.MCU_rows_in_scan * McuHeight(i); }

  void AddOf(int i, jvirt_barray_ptr array, Coefficients& found) {
    auto* const common = reinterpret_cast<j_common_ptr>(&info_);
    for (int64_t row = 0; row < Down(i); ++row) {
      const JBLOCKARRAY blocks = info_.mem->access_virt_barray(
          common, array, static_cast<JDIMENSION>(row), 1, FALSE);
      const JCOEF* const first = blocks[0][0];
      found.insert(found.end(), first, first + Across(i) * 64);
    }
  }

  // Every third MCU is read twice: once from a copy, into no blocks.
  bool ReadMcu(JpegHuffman& huffman, int64_t mcu, std::vector<Coefficients>& parts) {
    std::vector<JBLOCKROW> blocks;
    const int64_t row = mcu / info_.MCUs_per_row;
    const int64_t column = mcu % info_.MCUs_per_row;
    for (int i = 0; i < info_.num_components; ++i) {
      for (int64_t y = 0; y < McuHeight(i); ++y) {
        for (int64_t x = 0; x < McuWidth(i); ++x) {
          const int64_t place =
              (row * McuHeight(i) + y) * Across(i) + column * McuWidth(i) + x;
          blocks.push_back(reinterpret_cast<JBLOCKROW>(&parts[i][place * 64]));
        }
      }
    }
    if (mcu % 3 != 0) return huffman.ReadMcu(info_, blocks.data());
    const auto copy = std::make_unique<JpegHuffman>(huffman);
    const bool skipped = copy->ReadMcu(info_, nullptr);
    const JOCTET* const behind = info_.src->next_input_byte;
    const bool read = huffman.ReadMcu(info_, blocks.data());
    EXPECT_EQ(skipped, read);
    EXPECT_EQ(behind, info_.src->next_input_byte);
    return read;
  }

  const std::string_view bytes_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  Escape escape_;
};

std::optional<Coefficients> ByLibjpeg(std::string_view bytes) {
  return File(bytes).ByLibjpeg();
}

std::optional<Coefficients> ByOurs(std::string_view bytes) {
  return File(bytes).ByOurs();
}

Picture Noise(const ImageSize& size, int64_t channels, uint64_t seed) {
  base::Generator random(base::RandomKey(seed, 0, 0), {});
  Picture picture = Blank(size, channels);
  for (uint8_t& value : picture.pixels) {
    value = static_cast<uint8_t>(random.Integer(0, 256));
  }
  return picture;
}

// Noise at a high quality has the longest codes, and nearly all of them; an image of
// its own codes has few short ones.
std::vector<std::string> Samples() {
  std::vector<std::string> samples;
  uint64_t seed = 0;
  for (const int64_t channels : {1, 3, 4}) {
    for (const int quality : {1, 30, 75, 92, 100}) {
      for (const int sampling : {1, 2}) {
        for (const bool own : {false, true}) {
          const JpegKind kind = {.quality = quality,
                                 .across = sampling,
                                 .down = 3 - sampling,
                                 .own_codes = own};
          const ImageSize size = {41 + static_cast<int64_t>(seed % 20), 67};
          samples.push_back(EncodeJpeg(Noise(size, channels, ++seed), kind));
          samples.push_back(EncodeJpeg(Draw(size, channels), kind));
        }
      }
    }
  }
  return samples;
}

TEST(JpegHuffmanTest, ReadsWhatLibjpegReads) {
  for (const std::string& bytes : Samples()) {
    const std::optional<Coefficients> expected = ByLibjpeg(bytes);
    ASSERT_TRUE(expected.has_value());
    const std::optional<Coefficients> found = ByOurs(bytes);
    ASSERT_TRUE(found.has_value());
    ASSERT_TRUE(*found == *expected);
  }
}

TEST(JpegHuffmanTest, LeavesOtherKindsToLibjpeg) {
  for (const JpegKind& kind :
       {JpegKind{.progressive = true}, JpegKind{.restarts = 3}}) {
    const std::string bytes = EncodeJpeg(Draw({40, 40}), kind);
    EXPECT_TRUE(ByLibjpeg(bytes).has_value());
    EXPECT_FALSE(ByOurs(bytes).has_value());
  }
}

// What it takes for good must be good, and the same.
TEST(JpegHuffmanTest, FindsWhateverLibjpegFinds) {
  base::Generator random(base::RandomKey(5, 0, 0), {});
  int64_t good = 0;
  int64_t wrong = 0;
  for (const std::string& bytes : Samples()) {
    const size_t scan = bytes.find("\xFF\xDA");
    for (int i = 0; i < 40; ++i) {
      std::string spoilt = bytes;
      for (int64_t flips = random.Integer(1, 4); flips > 0; --flips) {
        const int64_t bit = random.Integer(static_cast<int64_t>(8 * (scan + 14)),
                                           8 * std::ssize(spoilt));
        spoilt[bit / 8] = static_cast<char>(spoilt[bit / 8] ^ (1 << bit % 8));
      }
      if (i % 4 == 0) spoilt.resize(random.Integer(0, std::ssize(bytes)));
      const std::optional<Coefficients> found = ByOurs(spoilt);
      ++(found ? good : wrong);
      if (!found) continue;
      const std::optional<Coefficients> expected = ByLibjpeg(spoilt);
      // Behind the last row there may be what libjpeg minds, and we never see.
      if (!expected) continue;
      ASSERT_TRUE(*found == *expected);
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(wrong, 1000);
}

}  // namespace
}  // namespace millrace::kernels
