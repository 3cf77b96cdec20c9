#include "millrace/kernels/image/decode_jpeg.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jerror.h"
#include "jpeglib.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/escape.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/jpeg_huffman.h"

namespace millrace::kernels {
namespace {

// More scans than any encoder makes: each costs a walk over the whole image, so that a
// small file could keep us busy for minutes.
constexpr int kScansMax = 500;

absl::Status Corrupt(std::string_view why) {
  return absl::InvalidArgumentError(base::StrCat("not a whole JPEG: ", why));
}

// --- The header ---

uint8_t ByteAt(std::string_view bytes, size_t place) {
  return static_cast<uint8_t>(bytes[place]);
}

int64_t Pair(std::string_view bytes, size_t place) {
  return ByteAt(bytes, place) * 256 + ByteAt(bytes, place + 1);
}

// Finds the next marker as libjpeg does: anything before it is skipped. Leaves `place`
// after it; 0 at the end of the bytes.
uint8_t NextMarker(std::string_view bytes, size_t& place) {
  uint8_t marker = 0;
  while (marker == 0 && place < bytes.size()) {
    place = std::min(bytes.find('\xFF', place), bytes.size());
    while (place < bytes.size() && bytes[place] == '\xFF') ++place;
    marker = place < bytes.size() ? ByteAt(bytes, place++) : 0;
  }
  return marker;
}

bool StandsAlone(uint8_t marker) {
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
}

bool BeginsFrame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
         marker != 0xCC;
}

// After one of these no frame can begin: start, end, and the first scan.
bool EndsHeader(uint8_t marker) {
  return marker == 0 || (marker >= 0xD8 && marker < 0xDB);
}

// --- Decoding ---

struct Decoder {
  jpeg_decompress_struct info;  // First: libjpeg's callbacks get this alone.
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  Escape escape;
  JpegHuffman* huffman;  // Reads codes in libjpeg's place; null: nobody does.
  bool doubtful;         // It has found something that only libjpeg can judge.
};

// What to decode and where to put it. Boxes are in pixels of the scaled image.
struct Order {
  std::string_view bytes;
  ImageSize size;  // As the header says, before scaling.
  int64_t scale = 1;
  Box box;
  uint8_t* out = nullptr;
  int64_t stride = 0;  // Bytes from one row of `out` to the next.
  bool wide = false;   // Whether columns beside the box may be in `out` as well.
};

[[noreturn]] void StopOnError(j_common_ptr info) {
  auto& escape = *static_cast<Escape*>(info->client_data);
  static_assert(sizeof(escape.message) >= JMSG_LENGTH_MAX);
  info->err->format_message(info, escape.message);
  EscapeFrom(escape);
}

// Which warnings cost no pixel.
bool IsHarmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_JFIF_MAJOR;
}

void HearMessage(j_common_ptr info, int level) {
  const bool warning = level < 0;
  if (warning && !IsHarmless(info->err->msg_code)) StopOnError(info);
}

[[noreturn]] void StopBecause(const char* why, void* client_data) {
  auto& escape = *static_cast<Escape*>(client_data);
  std::strncpy(escape.message, why, sizeof(escape.message) - 1);
  EscapeFrom(escape);
}

void CountScans(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number <= kScansMax) return;
  StopBecause("it has too many scans", info->client_data);
}

// What libjpeg calls to have codes read begins like this, in all its releases; its
// headers do not say so. Decode checks that it is so.
struct CodeReader {
  void (*start_pass)(j_decompress_ptr);
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};

static_assert(LIBJPEG_TURBO_VERSION_NUMBER >= 2'000'000 &&
              LIBJPEG_TURBO_VERSION_NUMBER < 4'000'000);

boolean ReadMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto* const decoder = reinterpret_cast<Decoder*>(info);
  if (decoder->huffman->ReadMcu(*info, blocks)) return TRUE;
  decoder->doubtful = true;
  EscapeFrom(decoder->escape);
}

// Tells whether it did.
bool TakeOver(Decoder& decoder) {
  if (decoder.huffman == nullptr || !JpegHuffman::Reads(decoder.info)) return false;
  decoder.huffman->Begin(decoder.info);
  reinterpret_cast<CodeReader*>(decoder.info.entropy)->decode_mcu = ReadMcu;
  return true;
}

// Reads the header and sets what to decode to. May escape, like all below.
void Start(jpeg_decompress_struct& info, const Order& order) {
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(order.bytes.data()),
               order.bytes.size());
  jpeg_read_header(&info, TRUE);
  if (info.image_height != order.size.height || info.image_width != order.size.width) {
    StopBecause("its header gives two sizes", info.client_data);
  }
  const bool inks =
      info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(order.scale);
  info.dct_method = JDCT_ISLOW;  // Bit for bit the same with and without SIMD.
  // Where a progressive image lacks its last scans, smoothing would look at
  // neighbouring blocks, which a region does not have.
  info.do_block_smoothing = FALSE;
  jpeg_start_decompress(&info);
}

// Room for the columns beside a box: an MCU has up to 32 columns, and up to 4 of them
// have one colour.
int64_t WideStride(const Box& box) {
  constexpr int64_t kBesideMax = 32 + 2 * 4;
  return (box.width + kBesideMax) * kColours;
}

uint8_t Product255(unsigned a, unsigned b) {
  return static_cast<uint8_t>((a * b + 127) / 255);
}

// Adobe writes inks inverted, and nearly everyone who writes inks is Adobe.
void InksToColours(const uint8_t* inks, bool inverted, int64_t pixels, uint8_t* out) {
  const unsigned flip = inverted ? 0 : 255;
  for (int64_t i = 0; i < pixels; ++i, inks += 4, out += kColours) {
    const unsigned black = inks[3] ^ flip;
    for (int64_t c = 0; c < kColours; ++c) out[c] = Product255(inks[c] ^ flip, black);
  }
}

// Cuts off columns beside the box and skips the rows above it. Gives how many columns
// before it are left.
int64_t GoTo(const Box& box, jpeg_decompress_struct& info) {
  JDIMENSION left = 0;
  if (box.width < info.output_width) {
    // The smoothing of up-sampled colours looks at a neighbour, and at the edge of a
    // region libjpeg-turbo takes the edge's own colour for it.
    const int64_t beside = info.max_h_samp_factor;
    const int64_t begin = std::max<int64_t>(0, box.left - beside);
    const int64_t end =
        std::min<int64_t>(info.output_width, box.left + box.width + beside);
    left = static_cast<JDIMENSION>(begin);
    auto width = static_cast<JDIMENSION>(end - begin);
    jpeg_crop_scanline(&info, &left, &width);  // Goes left to where an MCU begins.
  }
  jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(box.top));
  return box.left - left;
}

// Decodes rows straight to where they belong, with the columns beside the box.
void ReadRows(jpeg_decompress_struct& info, const Order& order) {
  constexpr int64_t kRowsAtOnce = 16;
  JSAMPROW rows[kRowsAtOnce];
  CHECK_LE(int64_t{info.output_width} * kColours, order.stride);
  for (int64_t row = 0; row < order.box.height;) {
    const int64_t some = std::min(kRowsAtOnce, order.box.height - row);
    for (int64_t i = 0; i < some; ++i) rows[i] = order.out + (row + i) * order.stride;
    row += jpeg_read_scanlines(&info, rows, static_cast<JDIMENSION>(some));
  }
}

// Decodes row by row through `scratch`, which holds one row of any kind, leaving out
// the columns before the box.
void ReadThrough(jpeg_decompress_struct& info, const Order& order, int64_t before,
                 uint8_t* scratch) {
  const uint8_t* cut = scratch + before * info.output_components;
  for (int64_t row = 0; row < order.box.height; ++row) {
    uint8_t* out = order.out + row * order.stride;
    jpeg_read_scanlines(&info, &scratch, 1);
    if (info.output_components == kColours) {
      std::memcpy(out, cut, static_cast<size_t>(order.box.width * kColours));
    } else {
      InksToColours(cut, info.saw_Adobe_marker, order.box.width, out);
    }
  }
}

// Gives how many columns before the box are in `out`.
int64_t Decode(Decoder& decoder, const Order& order, uint8_t* scratch) {
  jpeg_decompress_struct& info = decoder.info;
  Start(info, order);
  const bool taken_over = TakeOver(decoder);
  const int64_t before = GoTo(order.box, info);
  const bool straight = info.output_components == kColours &&
                        (order.wide || info.output_width == order.box.width);
  if (straight) {
    ReadRows(info, order);
  } else {
    ReadThrough(info, order, before, scratch);
  }
  CHECK(!taken_over || decoder.huffman->has_read()) << "a libjpeg of another kind";
  if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
  return straight ? before : 0;
}

// A decoder is made anew for each image: one that is reused keeps the tables of earlier
// images, and an image that lacks its own would be decoded with those. Gives what
// Decode does.
absl::StatusOr<int64_t> RunWith(JpegHuffman* huffman, const Order& order) {
  constexpr int64_t kInks = 4;  // The most that a pixel has, before it is RGB.
  std::vector<uint8_t> scratch(static_cast<size_t>(order.size.width * kInks));
  int64_t before = 0;
  Decoder decoder = {};
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder.escape;
  decoder.errors.error_exit = StopOnError;
  decoder.errors.emit_message = HearMessage;
  decoder.progress.progress_monitor = CountScans;
  decoder.huffman = huffman;
  const bool done = RunWithEscape(decoder.escape, [&] {
    jpeg_create_decompress(&decoder.info);
    decoder.info.progress = &decoder.progress;
    before = Decode(decoder, order, scratch.data());
  });
  jpeg_destroy_decompress(&decoder.info);
  if (done) return before;
  if (decoder.doubtful) return RunWith(nullptr, order);
  if (decoder.errors.msg_code == JERR_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError("no memory for libjpeg");
  }
  return Corrupt(decoder.escape.message);
}

absl::StatusOr<int64_t> Run(const Order& order) {
  JpegHuffman huffman;
  return RunWith(&huffman, order);
}

}  // namespace

bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

absl::StatusOr<ImageSize> JpegSize(std::string_view bytes) {
  if (!IsJpeg(bytes)) return Corrupt("it does not begin as one");
  size_t place = 2;
  while (true) {
    const uint8_t marker = NextMarker(bytes, place);
    if (EndsHeader(marker)) return Corrupt("its header has no size");
    if (StandsAlone(marker)) continue;
    if (bytes.size() - place < 7) return Corrupt("its header is cut off");
    if (BeginsFrame(marker)) break;
    place += static_cast<size_t>(std::max<int64_t>(2, Pair(bytes, place)));
    place = std::min(place, bytes.size());
  }
  const ImageSize size = {.height = Pair(bytes, place + 3),
                          .width = Pair(bytes, place + 5)};
  TRY(CheckImageSize(size));
  return size;
}

ImageSize ScaledSize(const ImageSize& size, int64_t scale) {
  return {.height = (size.height + scale - 1) / scale,
          .width = (size.width + scale - 1) / scale};
}

absl::Status DecodeJpeg(std::string_view bytes, int64_t scale,
                        absl::Span<uint8_t> out) {
  CHECK(scale == 1 || scale == 2 || scale == 4 || scale == 8) << scale;
  const ImageSize size = TRY(JpegSize(bytes));
  const Box whole = WholeOf(ScaledSize(size, scale));
  CHECK_EQ(static_cast<int64_t>(out.size()), whole.size().pixels() * kColours);
  return Run({.bytes = bytes,
              .size = size,
              .scale = scale,
              .box = whole,
              .out = out.data(),
              .stride = whole.width * kColours})
      .status();
}

absl::Status DecodeJpegRegion(std::string_view bytes, const Box& box,
                              absl::Span<uint8_t> out) {
  CHECK_GT(box.size().pixels(), 0);
  CHECK_EQ(static_cast<int64_t>(out.size()), box.size().pixels() * kColours);
  const ImageSize size = TRY(JpegSize(bytes));
  TRY(CheckBox(box, size));
  return Run({.bytes = bytes,
              .size = size,
              .box = box,
              .out = out.data(),
              .stride = box.width * kColours})
      .status();
}

int64_t JpegPartBytes(const Box& box) { return box.height * WideStride(box); }

absl::StatusOr<PixelView> DecodeJpegPart(std::string_view bytes, const Box& box,
                                         absl::Span<uint8_t> room) {
  CHECK_GT(box.size().pixels(), 0);
  CHECK_GE(static_cast<int64_t>(room.size()), JpegPartBytes(box));
  const ImageSize size = TRY(JpegSize(bytes));
  TRY(CheckBox(box, size));
  const int64_t stride = WideStride(box);
  const int64_t before = TRY(Run({.bytes = bytes,
                                  .size = size,
                                  .box = box,
                                  .out = room.data(),
                                  .stride = stride,
                                  .wide = true}));
  return PixelView{
      .first = room.data() + before * kColours, .size = box.size(), .stride = stride};
}

}  // namespace millrace::kernels
