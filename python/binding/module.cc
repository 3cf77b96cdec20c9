// The extension module millrace._core: classes and functions as _core.pyi has them.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock.h"
#include "objects.h"
#include "runners.h"
#include "service.h"
#include "waiting.h"

#include "millrace/adapters/python/distribute.h"
#include "millrace/adapters/python/eager.h"
#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/adapters/python/runner.h"
#include "millrace/adapters/python/shared_arenas.h"
#include "millrace/cli/command.h"

namespace millrace::binding {
namespace {

namespace nb = nanobind;

// Raises an error as the class that millrace.errors has for its code.
void Raise(const python::Error& error) {
  const nb::object make = nb::module_::import_("millrace.errors").attr("make");
  const nb::object raised = make(error.code(), error.what());
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

// Asked now and then while Next waits. Tells of a signal that came, Ctrl-C above all,
// and lets the package say what is waited for: `waiting` is called with the iterator.
class Waiting {
 public:
  Waiting(python::Iterator& iterator, nb::object waiting)
      : iterator_(iterator), waiting_(std::move(waiting)) {}

  bool operator()() const {
    const WithLock lock;
    if (WasInterrupted()) return true;
    if (waiting_.is_none()) return false;
    try {
      waiting_(nb::find(iterator_));
    } catch (nb::python_error& error) {
      error.restore();
      return true;
    }
    return false;
  }

 private:
  python::Iterator& iterator_;
  nb::object waiting_;
};

// Has a Python object answer in this thread. What is no answer stays raised, for Next.
class AnswersHere {
 public:
  explicit AnswersHere(nb::object answer) : answer_(Kept(std::move(answer))) {}

  python::HereAnswer operator()(const python::HereQuestion& question) const {
    const WithLock lock;
    if (PyErr_Occurred() != nullptr) return {.raised = true};
    try {
      return Ask(question);
    } catch (nb::python_error& error) {
      error.restore();
      return {.raised = true};
    }
  }

 private:
  python::HereAnswer Ask(const python::HereQuestion& question) const {
    auto* const owner = new std::shared_ptr<const void>(question.owner);
    const nb::capsule keep(owner, [](void* kept) noexcept {
      delete static_cast<std::shared_ptr<const void>*>(kept);
    });
    const nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> bytes(
        question.data, {static_cast<size_t>(question.bytes)}, keep);
    const auto given = nb::cast<nb::tuple>((*answer_)(question.text, bytes));
    python::HereAnswer answer = {.text = nb::cast<std::string>(given[0])};
    if (given[1].is_none()) return answer;
    const auto& frame = nb::cast<const python::ResultFrame&>(given[1]);
    answer.frame.resize(frame.bytes());
    frame.CopyTo(answer.frame.data());
    return answer;
  }

  std::shared_ptr<const nb::object> answer_;
};

// Gives (rows, columns, bytes copied), or None at the end.
nb::object Next(python::Iterator& iterator) {
  const std::optional<python::Rows> rows =
      WithoutPython([&] { return iterator.Next(); });
  if (!rows) return nb::none();
  nb::list columns;
  for (const python::FieldColumn& column : rows->columns) {
    columns.append(FromColumn(column));
  }
  return nb::make_tuple(rows->count, columns, rows->copied_bytes);
}

// Gives for each row in a row a list of (file, offset, key).
nb::list Origins(const python::Iterator& iterator, int64_t row) {
  std::vector<std::vector<python::Origin>> origins;
  {
    const WithoutLock without_lock;
    origins = iterator.Origins(row);
  }
  nb::list rows;
  for (const std::vector<python::Origin>& places : origins) {
    nb::list found;
    for (const python::Origin& place : places) {
      found.append(nb::make_tuple(place.file, place.offset, place.key));
    }
    rows.append(found);
  }
  return rows;
}

std::unique_ptr<python::Iterator> Open(const python::Engine& engine,
                                       const python::Pipeline& pipeline, uint64_t seed,
                                       uint64_t epoch, bool any_order,
                                       std::optional<std::string> state,
                                       std::optional<std::string> cut_as,
                                       nb::object here, nb::object waiting,
                                       bool origins) {
  python::PassSettings settings = {.seed = seed,
                                   .epoch = epoch,
                                   .any_order = any_order,
                                   .state = std::move(state),
                                   .cut_as = std::move(cut_as),
                                   .origins = origins};
  if (!here.is_none()) settings.here = AnswersHere(std::move(here));
  std::unique_ptr<python::Iterator> iterator;
  {
    const WithoutLock without_lock;
    iterator = engine.Open(pipeline, settings);
  }
  iterator->SetInterrupt(Waiting(*iterator, std::move(waiting)));
  return iterator;
}

int64_t Save(const python::Engine& engine, const python::Pipeline& pipeline,
             const std::string& folder, const std::string& format, int64_t file_bytes,
             bool replace, uint64_t seed, const nb::object& progress) {
  const auto interrupt = [&](int64_t rows) {
    const WithLock lock;
    try {
      progress(rows);
    } catch (nb::python_error& error) {
      error.restore();
    }
    return WasInterrupted();
  };
  return WithoutPython([&] {
    return engine.Save(pipeline, {.folder = folder,
                                  .format = format,
                                  .file_bytes = file_bytes,
                                  .replace = replace,
                                  .seed = seed,
                                  .interrupt = interrupt});
  });
}

nb::object Evaluate(const std::string& kernel, const nb::list& operands,
                    const nb::dict& arguments,
                    const std::optional<std::vector<uint64_t>>& draw) {
  std::vector<python::Plain> values;
  for (const nb::handle operand : operands) values.push_back(ToPlain(operand));
  std::optional<python::Draw> key;
  if (draw && draw->size() == 5) {
    const std::vector<uint64_t>& parts = *draw;
    key = python::Draw{.seed = parts[0],
                       .epoch = parts[1],
                       .call_number = static_cast<int64_t>(parts[2]),
                       .row_high = parts[3],
                       .row_low = parts[4]};
  }
  return FromValue(python::Evaluate(kernel, values, ToArguments(arguments), key));
}

// Gives (names, values, shapes) of rows, which are dicts.
nb::object PackRows(const nb::list& rows) {
  std::vector<std::vector<std::pair<std::string, python::Plain>>> given;
  for (const nb::handle row : rows) {
    auto& fields = given.emplace_back();
    for (const auto& [name, value] : nb::cast<nb::dict>(row)) {
      fields.emplace_back(nb::cast<std::string>(name), ToPlain(value));
    }
  }
  const python::PackedRows packed = python::PackRows(given);
  return nb::make_tuple(packed.names, packed.values, packed.shapes);
}

int RunCommand(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const WithoutLock without_lock;
  return cli::RunCommand(static_cast<int>(words.size()), arguments.data());
}

void AddPipelines(nb::module_& module) {
  nb::class_<python::Attachment>(module, "Attachment")
      .def("__init__",
           [](python::Attachment* self, const nb::bytes& content) {
             new (self)
                 python::Attachment(std::string(content.c_str(), content.size()));
           })
      .def_static(
          "of", [](nb::handle value) { return python::Attachment::Of(ToPlain(value)); })
      .def_prop_ro("content",
                   [](const python::Attachment& self) {
                     return nb::bytes(self.content().data(), self.content().size());
                   })
      .def_prop_ro("hash", &python::Attachment::Hash);
  nb::class_<python::Function>(module, "Function")
      .def_prop_ro("text", &python::Function::Text);
  nb::class_<python::Pipeline>(module, "Pipeline")
      .def_static(
          "make",
          [](const std::string& name, const nb::dict& arguments,
             const std::vector<python::Pipeline>& inputs, int64_t reserved) {
            const python::NamedArguments given = ToArguments(arguments);
            const WithoutLock without_lock;
            return python::Pipeline::Make(name, given, inputs, reserved);
          },
          nb::arg("operator"), nb::arg("arguments"), nb::arg("inputs"),
          nb::arg("reserved") = 0)
      .def_static("parse", &python::Pipeline::Parse)
      .def_prop_ro("operator", &python::Pipeline::Operator)
      .def_prop_ro("inputs", &python::Pipeline::Inputs)
      .def_prop_ro("text", &python::Pipeline::Text)
      .def_prop_ro("shown", &python::Pipeline::Shown)
      .def_prop_ro("attachments", &python::Pipeline::Attachments)
      .def_prop_ro(
          "fields",
          [](const python::Pipeline& self) { return FromFields(self.Fields()); })
      .def_prop_ro("rows", &python::Pipeline::Rows)
      .def("count",
           [](const python::Pipeline& self) {
             python::CountedRows counted;
             {
               const WithoutLock without_lock;
               counted = self.Count();
             }
             return nb::make_tuple(counted.rows, counted.why_unknown);
           })
      .def_prop_ro("fingerprint", &python::Pipeline::Fingerprint)
      .def_prop_ro("row_fingerprint", &python::Pipeline::RowFingerprint)
      .def_prop_ro("is_random", &python::Pipeline::IsRandom)
      .def_prop_ro("batches", &python::Pipeline::Batches)
      .def("explain", &python::Pipeline::Explain, Unlocked());
}

void AddTracer(nb::module_& module) {
  nb::class_<python::Tracer>(module, "Tracer")
      .def("__init__",
           [](python::Tracer* self, const std::string& name, const nb::dict& arguments,
              const std::vector<python::Pipeline>& inputs) {
             new (self) python::Tracer(name, ToArguments(arguments), inputs);
           })
      .def("fields",
           [](const python::Tracer& self) { return FromFields(self.Fields()); })
      .def("field", &python::Tracer::Field)
      .def("literal", [](python::Tracer& self, nb::handle value,
                         bool weak) { return self.Literal(ToPlain(value), weak); })
      .def("call",
           [](python::Tracer& self, const std::string& kernel,
              const std::vector<int64_t>& operands, const nb::dict& arguments) {
             return self.Call(kernel, operands, ToArguments(arguments));
           })
      .def("type",
           [](const python::Tracer& self, int64_t term) {
             const python::FieldType type = self.TypeOf(term);
             return nb::make_tuple(type.dtype, FromAxes(type.shape), type.weak);
           })
      .def("build", &python::Tracer::Build);
}

void AddEngines(nb::module_& module) {
  nb::class_<python::Mark>(module, "Mark").def("json", &python::Mark::Json, Unlocked());
  nb::class_<python::Iterator>(module, "Iterator")
      .def("next", &Next)
      .def("drain", &python::Iterator::Drain, Unlocked())
      .def("origins", &Origins)
      .def("cancel", &python::Iterator::Cancel, Unlocked())
      .def(
          "state", [](const python::Iterator& self) { return self.State().Json(); },
          Unlocked())
      .def("mark", &python::Iterator::State)
      .def("facts", &python::Iterator::Facts, Unlocked())
      .def("report", &python::Iterator::Report, Unlocked())
      .def_prop_ro("given", &python::Iterator::given)
      .def_prop_ro("lanes", &python::Iterator::Lanes);
  nb::class_<python::Engine>(module, "Engine")
      .def(
          "__init__",
          [](python::Engine* self, int threads, int64_t memory_bytes,
             int64_t cache_bytes, bool shares_memory) {
            new (self) python::Engine({.threads = threads,
                                       .memory_bytes = memory_bytes,
                                       .cache_bytes = cache_bytes,
                                       .shares_memory = shares_memory});
          },
          nb::arg("threads"), nb::arg("memory_bytes"), nb::arg("cache_bytes"),
          nb::arg("shares_memory") = false)
      .def("open", &Open, nb::arg("pipeline"), nb::kw_only(), nb::arg("seed"),
           nb::arg("epoch"), nb::arg("any_order"), nb::arg("state").none(),
           nb::arg("cut_as").none() = nb::none(), nb::arg("here").none() = nb::none(),
           nb::arg("waiting").none() = nb::none(), nb::arg("origins") = false)
      .def("save", &Save, nb::arg("pipeline"), nb::arg("folder"), nb::kw_only(),
           nb::arg("format"), nb::arg("file_bytes"), nb::arg("replace"),
           nb::arg("seed"), nb::arg("progress"))
      .def_prop_ro("used_bytes", &python::Engine::UsedBytes)
      .def_prop_ro("peak_bytes", &python::Engine::PeakBytes);
  module.def("available_threads", &python::AvailableThreads);
  module.def("available_memory_bytes", &python::AvailableMemoryBytes);
}

// Lives as long as the objects in it: until the process ends.
python::SharedArenas& Arenas() {
  static auto& arenas = *new python::SharedArenas();
  return arenas;
}

// As Python's arena allocator calls them.
void* AllocateArena(void*, size_t bytes) { return Arenas().Allocate(bytes); }

void FreeArena(void*, void* arena, size_t bytes) { Arenas().Free(arena, bytes); }

void AddArenas(nb::module_& module) {
  module.def("arena_functions", [] {
    return nb::make_tuple(reinterpret_cast<uintptr_t>(&AllocateArena),
                          reinterpret_cast<uintptr_t>(&FreeArena));
  });
  module.def("share_arenas", [] { return Arenas().Share(); });
  module.def("give_back_copies", [] {
    const python::GivenBack given = Arenas().GiveBack();
    return nb::make_tuple(given.copied_bytes, given.bytes);
  });
}

}  // namespace

NB_MODULE(_core, module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const python::Error& error) {
      Raise(error);
    }
  });
  nb::set_leak_warnings(false);  // The engine lives until the process ends.
  module.def("catalog", &python::CatalogJson);
  module.def("pack_rows", &PackRows);
  module.def("evaluate", &Evaluate, nb::arg("kernel"), nb::arg("operands"),
             nb::arg("arguments"), nb::arg("draw").none());
  AddMemory(module);
  AddPipelines(module);
  AddTracer(module);
  AddEngines(module);
  AddRunners(module);
  AddArenas(module);
  AddService(module);
  module.def(
      "distribute",
      [](const python::Pipeline& pipeline, int64_t consumers, int64_t consumer,
         int64_t batch, int64_t skipped, bool drop, std::optional<int64_t> rows) {
        const python::Distributed dealt =
            python::Distribute(pipeline, {.consumers = consumers,
                                          .consumer = consumer,
                                          .batch = batch,
                                          .skipped = skipped,
                                          .drop = drop,
                                          .rows = rows});
        return nb::make_tuple(dealt.pipeline, dealt.batch, dealt.shared);
      },
      nb::arg("pipeline"), nb::kw_only(), nb::arg("consumers"), nb::arg("consumer"),
      nb::arg("batch") = 0, nb::arg("skipped") = 0, nb::arg("drop") = false,
      nb::arg("rows").none() = nb::none());
  module.def("run_command", &RunCommand);
  module.def("prepare_worker", [](const cli::PythonPackages& packages) {
    python::AddPythonOperators();
    cli::SetPython(packages);
  });
}

}  // namespace millrace::binding
