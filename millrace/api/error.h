// An error as it travels: in the body of an HTTP answer that is no success.
#pragma once

#include <string>

#include <boost/describe.hpp>

namespace millrace::api {

struct Error {
  std::string code = {};     // The name of a status code: "NOT_FOUND".
  std::string message = {};  // One sentence: what is wrong, where, and what to do.
};
BOOST_DESCRIBE_STRUCT(Error, (), (code, message))

}  // namespace millrace::api
