// Any encoded image to RGB: tells the formats apart by how the bytes begin. Pure; see
// decode_jpeg.h, decode_png.h and decode_webp.h for what is accepted and what is an
// error.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/pixel_room.h"

namespace millrace::kernels {

// Reads the size from the header alone.
absl::StatusOr<ImageSize> EncodedSize(std::string_view bytes);

// The size of what Decode gives. An error when the format cannot be decoded smaller.
absl::StatusOr<ImageSize> DecodedSize(std::string_view bytes, int64_t scale);

// Decodes all of it. Requires: scale is 1, 2, 4 or 8, DecodedSize is right with it, and
// `out` has room for that size.
absl::Status Decode(std::string_view bytes, int64_t scale, uint8_t* out);

// Decodes what lies in a box, which may be empty: what cutting it out of the whole
// would give. An error when it does not lie inside. Of PNG and WebP the whole is
// decoded.
// Requires: `out` has room for the box.
absl::Status DecodeRegion(std::string_view bytes, const Box& box, uint8_t* out);

// The same for a box with pixels, to somewhere in a room, so that none is copied. They
// are there until the room is used again.
absl::StatusOr<PixelView> DecodePart(std::string_view bytes, const Box& box,
                                     PixelRoom& room);

}  // namespace millrace::kernels
