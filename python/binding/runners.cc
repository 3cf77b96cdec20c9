#include "runners.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lock.h"
#include "objects.h"
#include "waiting.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/adapters/python/runner.h"

namespace millrace::binding {
namespace {

namespace nb = nanobind;

// Gives (names, columns, identities) of a frame. The columns are over its memory.
nb::object ReadFrame(const nb::object& memory, int64_t offset, int64_t bytes) {
  const auto view = nb::cast<nb::ndarray<nb::ro, uint8_t, nb::c_contig>>(memory);
  const python::ReceivedRows received =
      python::ReadFrame(view.data() + offset, bytes, Kept(memory));
  nb::list columns;
  for (const python::FieldColumn& column : received.rows.columns) {
    columns.append(FromColumn(column));
  }
  return nb::make_tuple(received.rows.count, received.names, columns, received.ids);
}

python::ResultColumn ToResults(const std::string& name, nb::handle values) {
  python::ResultColumn column = {.name = name};
  if (!nb::isinstance<nb::list>(values)) {
    column.values.push_back(ToPlain(values));
    column.stacked = true;
    return column;
  }
  for (const nb::handle value : nb::borrow<nb::list>(values)) {
    column.values.push_back(ToPlain(value));
  }
  return column;
}

}  // namespace

void AddRunners(nb::module_& module) {
  module.def("configure_runners", &python::ConfigureRunners);
  module.def("after_fork", &python::AfterFork);
  module.def("clear_runners", &python::ClearRunners, Unlocked());
  module.def("runner_pids", &python::RunnerPids);
  module.def("sample_function", [](const python::Engine& engine,
                                   const python::Pipeline& input,
                                   const python::Attachment& function, double timeout) {
    const python::Sample sample = WithoutPython([&] {
      return python::SampleFunction(engine, input, function,
                                    {.seconds = timeout, .interrupt = WasInterrupted});
    });
    return nb::make_tuple(sample.fields, sample.draws, sample.structure);
  });
  module.def("sample_generator", [](const python::Attachment& function) {
    return WithoutPython([&] {
      return python::SampleGenerator(function, {.interrupt = WasInterrupted}).fields;
    });
  });
  module.def("parse_fields", [](const std::string& text) {
    return FromFields(python::ParseFields(text));
  });
  module.def("read_frame", &ReadFrame);
  nb::class_<python::ResultFrame>(module, "ResultFrame")
      .def("__init__",
           [](python::ResultFrame* self, int64_t rows, const nb::dict& columns) {
             std::vector<python::ResultColumn> results;
             for (const auto& [name, values] : columns) {
               results.push_back(ToResults(nb::cast<std::string>(name), values));
             }
             new (self) python::ResultFrame(rows, results);
           })
      .def_prop_ro("bytes", &python::ResultFrame::bytes)
      .def_prop_ro("fields", &python::ResultFrame::Fields)
      .def("copy_to", [](const python::ResultFrame& self, const nb::object& memory) {
        self.CopyTo(nb::cast<nb::ndarray<uint8_t, nb::c_contig>>(memory).data());
      });
}

}  // namespace millrace::binding
