// For tests: a folder that an embedded store makes its file in.
#pragma once

#include <string>

#include "millrace/base/temporary_folder.h"

namespace millrace::metadata {

class StoreFolder : public base::TemporaryFolder {
 public:
  std::string file() const { return *this / "metadata.sqlite"; }

  std::string log() const { return *this / "metadata.sqlite-wal"; }
};

}  // namespace millrace::metadata
