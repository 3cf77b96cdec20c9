#include "millrace/storage/row_scanner.h"

#include <memory>
#include <string_view>

#include "millrace/base/check.h"
#include "millrace/storage/csv.h"
#include "millrace/storage/lines.h"
#include "millrace/storage/tar.h"
#include "millrace/storage/tfrecord.h"

namespace millrace::storage {

std::string_view Name(RowFormat format) {
  switch (format) {
    case RowFormat::kTfrecord:
      return "tfrecord";
    case RowFormat::kTar:
      return "tar";
    case RowFormat::kLines:
      return "lines";
    case RowFormat::kCsv:
      return "csv";
    case RowFormat::kCsvWithoutHeader:
      return "csv-rows";
  }
  return "";
}

std::unique_ptr<RowScanner> MakeScanner(RowFormat format) {
  switch (format) {
    case RowFormat::kTfrecord:
      return std::make_unique<TfrecordScanner>(0);
    case RowFormat::kTar:
      return std::make_unique<TarScanner>(TarOptions());
    case RowFormat::kLines:
      return std::make_unique<LineScanner>(LineOptions());
    case RowFormat::kCsv:
      return std::make_unique<CsvScanner>(CsvOptions());
    case RowFormat::kCsvWithoutHeader:
      return std::make_unique<CsvScanner>(CsvOptions{.header = false});
  }
  CHECK(false) << "no such format";
  return nullptr;
}

}  // namespace millrace::storage
