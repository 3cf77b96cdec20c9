#include "objects.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"

namespace millrace::binding {
namespace {

namespace nb = nanobind;
using nb::dlpack::dtype_code;

struct NumberType {
  std::string_view name;
  dtype_code code;
  uint8_t bits;
};

constexpr NumberType kNumberTypes[] = {
    {"bool", dtype_code::Bool, 8},        {"int8", dtype_code::Int, 8},
    {"int16", dtype_code::Int, 16},       {"int32", dtype_code::Int, 32},
    {"int64", dtype_code::Int, 64},       {"uint8", dtype_code::UInt, 8},
    {"uint16", dtype_code::UInt, 16},     {"uint32", dtype_code::UInt, 32},
    {"uint64", dtype_code::UInt, 64},     {"float16", dtype_code::Float, 16},
    {"bfloat16", dtype_code::Bfloat, 16}, {"float32", dtype_code::Float, 32},
    {"float64", dtype_code::Float, 64},
};

// NumPy's own objects, looked up once; never let go of, since the interpreter may be
// gone when this module is.
struct NumPy {
  nb::object ndarray;

  struct DType {
    nb::object object;
    Py_ssize_t bytes = 0;
  };

  std::map<std::string, DType, std::less<>> dtypes;

  static const NumPy& Get() {
    static const NumPy& numpy = *new NumPy(Find());
    return numpy;
  }

 private:
  static NumPy Find() {
    const nb::module_ module = nb::module_::import_("numpy");
    NumPy numpy = {.ndarray = module.attr("ndarray"), .dtypes = {}};
    for (const NumberType& type : kNumberTypes) {
      // It has no bfloat16: such numbers go as bits, and Python names them.
      const bool bits = type.name == "bfloat16";
      const std::string name(bits ? "uint16" : type.name);
      numpy.dtypes.emplace(type.name, DType{module.attr("dtype")(name), type.bits / 8});
    }
    return numpy;
  }
};

std::string FromDlpack(nb::dlpack::dtype dtype) {
  for (const NumberType& type : kNumberTypes) {
    if (static_cast<uint8_t>(type.code) == dtype.code && type.bits == dtype.bits) {
      return std::string(type.name);
    }
  }
  throw nb::type_error("arrays of this type are not known: use a type of numbers");
}

// Memory of the engine's as an object with Python's buffer protocol: what an array
// holds on to.
struct Memory {
  python::Array array;
  Py_ssize_t bytes = 0;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory& memory = *nb::inst_ptr<Memory>(self);
  const int read_only = memory.array.writable ? 0 : 1;
  return PyBuffer_FillInfo(view, self, memory.array.data, memory.bytes, read_only,
                           flags);
}

// Whether an array is contiguous, writable and not empty, and begins where frameworks
// want memory to begin that they take as it is. ctypes could tell, at several times the
// cost, which counts for every column.
bool IsAligned(nb::handle array) {
  constexpr uintptr_t kAlignment = 64;
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool is_aligned =
      view.len > 0 && reinterpret_cast<uintptr_t>(view.buf) % kAlignment == 0;
  PyBuffer_Release(&view);
  return is_aligned;
}

nb::object FromArray(const python::Array& array) {
  const NumPy& numpy = NumPy::Get();
  const NumPy::DType& dtype = numpy.dtypes.find(array.dtype)->second;
  const auto axes = static_cast<Py_ssize_t>(array.shape.size());
  const auto shape = nb::steal<nb::tuple>(PyTuple_New(axes));
  Py_ssize_t bytes = dtype.bytes;
  for (Py_ssize_t i = 0; i < axes; ++i) {
    bytes *= array.shape[i];
    PyTuple_SetItem(shape.ptr(), i, PyLong_FromLongLong(array.shape[i]));
  }
  return numpy.ndarray(shape, dtype.object, nb::cast(Memory{array, bytes}));
}

nb::object FromText(std::string_view text, bool is_string) {
  if (is_string) return nb::str(text.data(), text.size());
  return nb::bytes(text.data(), text.size());
}

// A list of lists, as deep as there are axes.
nb::object FromTexts(const python::Texts& texts, size_t axis, size_t& next) {
  if (axis == texts.shape.size()) return FromText(texts.texts[next++], texts.is_string);
  nb::list list;
  for (int64_t i = 0; i < texts.shape[axis]; ++i) {
    list.append(FromTexts(texts, axis + 1, next));
  }
  return list;
}

nb::object FromTexts(const python::Texts& texts) {
  size_t next = 0;
  return FromTexts(texts, 0, next);
}

nb::object FromRagged(const python::Ragged& ragged) {
  nb::list axes;
  for (const std::variant<int64_t, python::Array>& axis : ragged.axes) {
    if (const auto* size = std::get_if<int64_t>(&axis)) {
      axes.append(nb::int_(*size));
    } else {
      axes.append(FromArray(std::get<python::Array>(axis)));
    }
  }
  const auto* array = std::get_if<python::Array>(&ragged.values);
  return nb::make_tuple(array != nullptr
                            ? FromArray(*array)
                            : FromTexts(std::get<python::Texts>(ragged.values)),
                        axes);
}

std::string BytesOf(nb::handle object) {
  const auto bytes = nb::borrow<nb::bytes>(object);
  return {bytes.c_str(), bytes.size()};
}

python::Array ToArray(nb::handle object) {
  const auto array =
      nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(object);
  python::Array converted = {.dtype = FromDlpack(array.dtype())};
  for (size_t i = 0; i < array.ndim(); ++i) {
    converted.shape.push_back(static_cast<int64_t>(array.shape(i)));
  }
  converted.data = const_cast<void*>(array.data());
  converted.owner =
      std::make_shared<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(array);
  return converted;
}

// Appends the texts of lists in lists, all of one shape.
void AppendTexts(nb::handle item, size_t axis, python::TextList& texts) {
  if (nb::isinstance<nb::str>(item)) {
    texts.texts.push_back(nb::cast<std::string>(item));
  } else if (nb::isinstance<nb::bytes>(item)) {
    texts.is_string = false;
    texts.texts.push_back(BytesOf(item));
  } else if (nb::isinstance<nb::list>(item)) {
    const auto list = nb::borrow<nb::list>(item);
    const auto size = static_cast<int64_t>(nb::len(list));
    if (axis == texts.shape.size()) texts.shape.push_back(size);
    if (axis > texts.shape.size() || texts.shape[axis] != size) {
      throw nb::type_error("lists of texts must all have the same length");
    }
    for (const nb::handle inner : list) AppendTexts(inner, axis + 1, texts);
  } else {
    throw nb::type_error("a list must be of texts: make others NumPy arrays");
  }
}

python::TextList ToTextList(const nb::list& list) {
  python::TextList texts;
  AppendTexts(list, 0, texts);
  return texts;
}

}  // namespace

void AddMemory(nb::module_& module) {
  module.def("is_aligned", &IsAligned, nb::arg("array").none());
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
                                {0, nullptr}};
  nb::class_<python::Mapping>(module, "Mapping")
      .def_prop_ro("address",
                   [](const python::Mapping& mapping) {
                     return reinterpret_cast<uintptr_t>(mapping.data);
                   })
      .def_ro("bytes", &python::Mapping::bytes)
      .def_prop_ro("is_alone", [](const python::Mapping& mapping) {
        return mapping.owner.use_count() == 1;
      });
  nb::class_<Memory>(module, "Memory", nb::type_slots(slots))
      .def_prop_ro("mapping",
                   [](const Memory& memory) -> nb::object {
                     const python::Mapping& mapping = memory.array.mapping;
                     if (mapping.owner == nullptr) return nb::none();
                     return nb::cast(mapping);
                   })
      .def_prop_ro("shared", [](const Memory& memory) -> nb::object {
        const python::SharedPlace& place = memory.array.shared;
        if (place.descriptor < 0) return nb::none();
        return nb::make_tuple(place.descriptor, place.bytes, place.offset);
      });
}

python::Argument ToArgument(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<nb::bool_>(object)) return {nb::cast<bool>(object)};
  if (nb::isinstance<nb::int_>(object)) return {nb::cast<int64_t>(object)};
  if (nb::isinstance<nb::float_>(object)) return {nb::cast<double>(object)};
  if (nb::isinstance<nb::str>(object)) return {nb::cast<std::string>(object)};
  if (nb::isinstance<python::Attachment>(object)) {
    return {std::make_shared<const python::Attachment>(
        nb::cast<python::Attachment>(object))};
  }
  if (nb::isinstance<python::Function>(object)) {
    return {
        std::make_shared<const python::Function>(nb::cast<python::Function>(object))};
  }
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    std::vector<python::Argument> items;
    for (const nb::handle item : nb::borrow<nb::sequence>(object)) {
      items.push_back(ToArgument(item));
    }
    return {std::move(items)};
  }
  const nb::object shown = nb::repr(object.type());
  throw nb::type_error(
      (std::string("an argument cannot be of ") + nb::cast<std::string>(shown))
          .c_str());
}

python::NamedArguments ToArguments(const nb::dict& arguments) {
  python::NamedArguments converted;
  for (const auto& [name, value] : arguments) {
    converted.emplace_back(nb::cast<std::string>(name), ToArgument(value));
  }
  return converted;
}

python::Plain ToPlain(nb::handle object) {
  if (nb::isinstance<nb::bool_>(object)) return nb::cast<bool>(object);
  if (nb::isinstance<nb::int_>(object)) return nb::cast<int64_t>(object);
  if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nb::bytes>(object)) return python::ByteString{BytesOf(object)};
  if (nb::isinstance<nb::list>(object)) {
    return ToTextList(nb::borrow<nb::list>(object));
  }
  return ToArray(object);
}

nb::object FromAxes(const python::Axes& axes) {
  if (!axes) return nb::none();
  nb::list sizes;
  for (const int64_t size : *axes) sizes.append(nb::int_(size));
  return sizes;
}

nb::list FromFields(const std::vector<python::FieldType>& fields) {
  nb::list list;
  for (const python::FieldType& field : fields) {
    list.append(nb::make_tuple(field.name, field.dtype, FromAxes(field.shape)));
  }
  return list;
}

nb::object FromValue(const python::FieldValue& value) {
  if (const auto* array = std::get_if<python::Array>(&value)) return FromArray(*array);
  if (const auto* texts = std::get_if<python::Texts>(&value)) return FromTexts(*texts);
  return FromRagged(std::get<python::Ragged>(value));
}

nb::object FromColumn(const python::FieldColumn& column) {
  if (const auto* array = std::get_if<python::Array>(&column)) return FromArray(*array);
  nb::list rows;
  for (const python::FieldValue& value :
       std::get<std::vector<python::FieldValue>>(column)) {
    rows.append(FromValue(value));
  }
  return rows;
}

}  // namespace millrace::binding
