// An error as it travels: in the body of an HTTP answer that is no success, and in what
// workers and dispatchers report.
#pragma once

#include <string>

#include "absl/status/status.h"
#include <boost/describe.hpp>

namespace millrace::api {

struct Error {
  std::string code = {};     // The name of a status code: "NOT_FOUND".
  std::string message = {};  // One sentence: what is wrong, where, and what to do.

  bool operator==(const Error&) const = default;
};

BOOST_DESCRIBE_STRUCT(Error, (), (code, message))

// A status that is not OK as it travels, and made again from that; Unknown where no
// code has that name.
Error ToError(const absl::Status& status);
absl::Status ToStatus(const Error& error);

}  // namespace millrace::api
