#include "service.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock.h"
#include "objects.h"
#include "waiting.h"

#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/adapters/python/service.h"

namespace millrace::binding {
namespace {

namespace nb = nanobind;

// Asked now and then while something is waited for: tells of a signal that came, Ctrl-C
// above all, and lets the package say what is waited for.
class Interrupt {
 public:
  explicit Interrupt(nb::object waiting) : waiting_(Kept(std::move(waiting))) {}

  bool operator()() const {
    const WithLock lock;
    if (WasInterrupted()) return true;
    try {
      (*waiting_)();
    } catch (nb::python_error& error) {
      error.restore();
      return true;
    }
    return false;
  }

 private:
  std::shared_ptr<const nb::object> waiting_;
};

template <typename T>
T Get(const nb::dict& from, const char* name) {
  return nb::cast<T>(from[name]);
}

python::ServiceAddress ToAddress(const nb::dict& given) {
  return {.host = Get<std::string>(given, "host"),
          .port = Get<int>(given, "port"),
          .token = Get<std::string>(given, "token"),
          .certificate_file = Get<std::string>(given, "certificate"),
          .key_file = Get<std::string>(given, "key"),
          .ca_file = Get<std::string>(given, "ca")};
}

python::JobChoice ToChoice(const nb::dict& given) {
  return {.name = Get<std::string>(given, "job"),
          .consumer = Get<int64_t>(given, "consumer"),
          .consumers = Get<int64_t>(given, "consumers"),
          .member = Get<int64_t>(given, "member"),
          .members = Get<int64_t>(given, "members"),
          .order = Get<std::string>(given, "order"),
          .visit = Get<std::string>(given, "visit"),
          .remainder = Get<std::string>(given, "remainder"),
          .sharding = Get<std::string>(given, "sharding"),
          .target = Get<std::string>(given, "target"),
          .tags = Get<std::vector<std::string>>(given, "tags"),
          .global_batch = Get<bool>(given, "global_batch"),
          .open_lanes = Get<int64_t>(given, "open_lanes"),
          .share = Get<std::string>(given, "share"),
          .share_hold_seconds = Get<double>(given, "share_hold"),
          .seed = Get<std::optional<int64_t>>(given, "seed"),
          .run = Get<std::string>(given, "run"),
          .restart = Get<int64_t>(given, "restart"),
          .host = Get<std::string>(given, "host"),
          .resume = Get<bool>(given, "resume"),
          .takeover = Get<bool>(given, "takeover"),
          .packages =
              Get<std::vector<std::pair<std::string, std::string>>>(given, "packages"),
          .open_seconds = Get<double>(given, "open_seconds"),
          .shared_memory = Get<std::string>(given, "shared_memory") == "auto",
          .copy = Get<bool>(given, "copy")};
}

std::unique_ptr<python::ServiceJob> Open(const python::Pipeline& pipeline,
                                         const nb::dict& address,
                                         const nb::dict& choice,
                                         const std::optional<std::string>& state,
                                         nb::object waiting) {
  const python::ServiceAddress to = ToAddress(address);
  const python::JobChoice chosen = ToChoice(choice);
  const Interrupt interrupt(std::move(waiting));
  return WithoutPython([&] {
    return std::make_unique<python::ServiceJob>(pipeline, to, chosen, state, interrupt);
  });
}

int64_t Save(const python::Pipeline& pipeline, const nb::dict& address,
             const nb::dict& choice, const std::string& folder,
             const std::string& format, bool replace, std::optional<int64_t> seed,
             const nb::object& progress) {
  const python::ServiceAddress to = ToAddress(address);
  const python::JobChoice chosen = ToChoice(choice);
  const auto interrupt = [&](int64_t lanes, int64_t done, int64_t before) {
    const WithLock lock;
    try {
      progress(lanes, done, before);
    } catch (nb::python_error& error) {
      error.restore();
      return true;
    }
    return WasInterrupted();
  };
  return WithoutPython([&] {
    return python::SaveOnService(pipeline, to, chosen,
                                 {.folder = folder,
                                  .format = format,
                                  .replace = replace,
                                  .seed = seed,
                                  .interrupt = interrupt});
  });
}

// Gives (rows, columns, bytes copied), or None at the end.
nb::object Next(python::ServiceJob& job, int64_t turn) {
  const std::optional<python::Rows> rows =
      WithoutPython([&] { return job.Next(turn); });
  if (!rows) return nb::none();
  nb::list columns;
  for (const python::FieldColumn& column : rows->columns) {
    columns.append(FromColumn(column));
  }
  return nb::make_tuple(rows->count, columns, rows->copied_bytes);
}

// Gives (workers, bytes that were shared, bytes that were copied, note).
nb::object CarriersOf(const python::ServiceJob& job) {
  const python::Carriers carriers = WithoutPython([&] { return job.carriers(); });
  return nb::make_tuple(carriers.sharing, carriers.shared_bytes, carriers.copied_bytes,
                        carriers.note);
}

}  // namespace

void AddService(nb::module_& module) {
  module.def("join_states", &python::JoinStates);
  module.def("save_on_service", &Save, nb::arg("pipeline"), nb::kw_only(),
             nb::arg("address"), nb::arg("choice"), nb::arg("folder"),
             nb::arg("format"), nb::arg("replace"), nb::arg("seed").none(),
             nb::arg("progress"));
  nb::class_<python::ServiceJob>(module, "ServiceJob")
      .def_static("open", &Open, nb::arg("pipeline"), nb::kw_only(), nb::arg("address"),
                  nb::arg("choice"), nb::arg("state").none(), nb::arg("waiting"))
      .def("next", &Next)
      .def("start_pass", &python::ServiceJob::StartPass, Unlocked())
      .def("leave_pass", &python::ServiceJob::LeavePass)
      .def("close", &python::ServiceJob::Close, Unlocked())
      .def(
          "state", [](const python::ServiceJob& self) { return self.State().Json(); },
          Unlocked())
      .def("mark", &python::ServiceJob::State, Unlocked())
      .def_prop_ro("seed", &python::ServiceJob::seed)
      .def_prop_ro("current_pass", &python::ServiceJob::pass)
      .def("carriers", &CarriersOf)
      .def_prop_ro("differences", &python::ServiceJob::differences)
      .def_prop_ro("rows", &python::ServiceJob::rows)
      .def_prop_ro("bytes", &python::ServiceJob::bytes);
}

}  // namespace millrace::binding
