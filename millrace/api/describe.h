// BOOST_DESCRIBE_STRUCT for the layers above: a struct that says what its members are
// can be written as JSON (json.h). Costs nothing when run.
#pragma once

#include <boost/describe.hpp>  // IWYU pragma: export
