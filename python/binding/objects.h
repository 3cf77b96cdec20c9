// Python's objects to plain values and back. Everything here needs the interpreter's
// lock.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/plain.h"

namespace millrace::binding {

// Adds the class that arrays over the engine's memory hold on to.
void AddMemory(nanobind::module_& module);

// An argument of an operator or kernel; raises TypeError for what can be none.
python::Argument ToArgument(nanobind::handle object);
python::NamedArguments ToArguments(const nanobind::dict& arguments);

// A constant: a number, a text, an array, or a list of texts.
python::Plain ToPlain(nanobind::handle object);

// A type as (name, shape or None).
nanobind::object FromAxes(const python::Axes& axes);

// Fields as a list of (name, type, shape or None).
nanobind::list FromFields(const std::vector<python::FieldType>& fields);

// An array, a text, a list of texts, or a pair of values and axes.
nanobind::object FromValue(const python::FieldValue& value);

// All rows of a field: an array, or a list.
nanobind::object FromColumn(const python::FieldColumn& column);

}  // namespace millrace::binding
