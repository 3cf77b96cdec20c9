// For tests: folders that go away (temporary_folder.h), and the bytes of files of each
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"

namespace millrace::storage {

using base::ReadFile;
using base::TemporaryFolder;

// Bytes that look like nothing, the same for the same seed.
inline std::string Noise(size_t size, uint64_t seed = 0) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(base::Mix64((seed << 32) + i));
  }
  return bytes;
}

inline std::string LittleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

inline std::string MaskedCrc(std::string_view bytes) {
  return LittleEndian(codec::MaskCrc32c(codec::Crc32c(bytes)), 4);
}

// One row of a TFRecord file.
inline std::string TfrecordRow(std::string_view content) {
  const std::string length = LittleEndian(content.size(), 8);
  return base::StrCat(length, MaskedCrc(length), content, MaskedCrc(content));
}

// All of such a file.
inline std::string TfrecordOf(const std::vector<std::string>& rows) {
  std::string bytes;
  for (const std::string& row : rows) bytes += TfrecordRow(row);
  return bytes;
}

inline std::string Octal(int64_t number, int digits) {
  std::string text;
  for (; digits > 0; --digits, number >>= 3) {
    text.insert(text.begin(), static_cast<char>('0' + (number & 7)));
  }
  return text;
}

// Fills in the checksum of a header that has everything else.
inline std::string WithTarChecksum(std::string header) {
  CHECK_EQ(header.size(), 512U);
  header.replace(148, 8, "        ");
  int64_t sum = 0;
  for (const char c : header) sum += static_cast<uint8_t>(c);
  header.replace(148, 8, Octal(sum, 6) + std::string("\0 ", 2));
  return header;
}

inline std::string TarHeader(std::string_view name, int64_t size, char type = '0') {
  CHECK_LE(name.size(), 100U);
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, Octal(size, 11));
  header.replace(136, 11, Octal(0, 11));
  header[156] = type;
  header.replace(257, 8, std::string_view("ustar\00000", 8));
  return WithTarChecksum(std::move(header));
}

inline std::string TarPadding(size_t size) {
  return std::string((512 - size % 512) % 512, '\0');
}

// A member of a tar file: header, content, padding.
inline std::string TarMember(std::string_view name, std::string_view content,
                             char type = '0') {
  return base::StrCat(TarHeader(name, static_cast<int64_t>(content.size()), type),
                      content, TarPadding(content.size()));
}

inline std::string TarEnd() { return std::string(1024, '\0'); }

// The header of pax that stands before a member.
inline std::string PaxHeader(const std::vector<std::string>& records) {
  std::string content;
  for (const std::string& record : records) {
    size_t length = record.size() + 3;
    while (base::StrCat(length, " ", record, "\n").size() != length) ++length;
    content += base::StrCat(length, " ", record, "\n");
  }
  return TarMember("PaxHeaders/x", content, 'x');
}

}  // namespace millrace::storage
