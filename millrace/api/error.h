// An error as it travels: in the body of an HTTP answer that is no success, and in what
// workers and dispatchers report.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <boost/describe.hpp>

namespace millrace::api {

struct Error {
  std::string code = {};     // The name of a status code: "NOT_FOUND".
  std::string message = {};  // One sentence: what is wrong, where, and what to do.
};

BOOST_DESCRIBE_STRUCT(Error, (), (code, message))

// Makes the error again; Unknown where no code has that name.
absl::Status ToStatus(std::string_view code, std::string_view message);

}  // namespace millrace::api
