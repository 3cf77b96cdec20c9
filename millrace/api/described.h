// Structs that say what their members are, so that json.h can write and read them:
// BOOST_DESCRIBE_STRUCT(Name, (), (members)), for all layers.
#pragma once

#include <boost/describe.hpp>  // IWYU pragma: export
