// graphzero._core: the list of what is bound, and how errors become Python's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>

#include "bindings/bind.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace {

// Raises OSError(errno, message, path), which Python turns into FileNotFoundError and its siblings.
void raise_os_error(const gz::IoError& error) {
  nb::object arguments = nb::make_tuple(error.code(), error.what(), error.path());
  PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of graphzero. Use the functions of the graphzero package instead.";
  nb::exception<gz::FormatError>(m, "FormatError", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const gz::IoError& error) {
      raise_os_error(error);
    } catch (const gz::MemoryShortage& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    }
  });
  gz::bind_base(m);
  gz::bind_format(m);
  gz::bind_convert(m);
  gz::bind_store(m);
}
