// graphzero._core: the list of what is bound, and how errors become Python's.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bindings/bind.h"
#include "core/base/error.h"
#include "core/pipeline/budget.h"

namespace nb = nanobind;

namespace {

// Messages may hold a path, and a path may hold any bytes: they become text as os.fsdecode does it.
// On Windows that refuses what is not UTF-8, such as a label of a damaged file.
nb::object text(const char* message) {
  if (PyObject* const decoded = PyUnicode_DecodeFSDefault(message)) return nb::steal(decoded);
  PyErr_Clear();
  const auto size = static_cast<Py_ssize_t>(std::strlen(message));
  return nb::steal(PyUnicode_DecodeUTF8(message, size, "surrogateescape"));
}

void raise(PyObject* type, const std::exception& error) {
  PyErr_SetObject(type, text(error.what()).ptr());
}

// An error about an argument, "memory: expected …", has its name as an attribute, as those of
// graphzero/_base/argument_errors.py do.
nb::object argument_error(PyObject* type, const std::exception& error) {
  const std::string_view message = error.what();
  const std::string_view name = message.substr(0, message.find(": expected "));
  const bool is_name =
      name.size() < message.size() &&
      std::ranges::all_of(name, [](char c) { return c == '_' || ('a' <= c && c <= 'z'); });
  nb::object made = nb::borrow(type)(text(error.what()));
  if (is_name) made.attr("argument") = nb::str(name.data(), name.size());
  return made;
}

// Raises what OSError(errno, message, path) makes: FileNotFoundError and its siblings. It is made
// here because Python 3.10 would match an `except` clause against plain OSError otherwise.
void raise_os_error(const gz::IoError& error) {
  const nb::object made =
      nb::borrow(PyExc_OSError)(error.code(), text(error.what()), text(error.path().c_str()));
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

// A ValueError with the number and the advice that the message tells.
void raise_budget_error(PyObject* type, const gz::BudgetTooSmall& error) {
  const nb::object made = argument_error(type, error);
  made.attr("advice") = text(error.advice().c_str());
  made.attr("least") = error.least();
  PyErr_SetObject(type, made.ptr());
}

// Python runs this module again after somebody removed it from sys.modules; nanobind ends the
// process when an enumeration is defined a second time.
void refuse_second_load() {
  static bool loaded = false;
  if (std::exchange(loaded, true)) {
    throw nb::import_error(
        "graphzero._core: expected to be loaded once in a process, found a second import after it "
        "was removed from sys.modules; start a new process, or keep the modules of graphzero in "
        "sys.modules (with pytester, import graphzero._core before runpytest_inprocess)");
  }
}

}  // namespace

NB_MODULE(_core, m) {
  refuse_second_load();
  // A worker process may end in the middle of an epoch, and then these are no leaks.
  nb::set_leak_warnings(false);
  m.doc() = "The C++ core of graphzero. Use the functions of the graphzero package instead.";
  const nb::object format_error =
      nb::exception<gz::FormatError>(m, "FormatError", PyExc_ValueError);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* format_error_type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const gz::IoError& error) {
          raise_os_error(error);
        } catch (const gz::FormatError& error) {
          raise(static_cast<PyObject*>(format_error_type), error);
        } catch (const gz::MemoryShortage& error) {
          raise(PyExc_MemoryError, error);
        } catch (const std::out_of_range& error) {
          raise(PyExc_IndexError, error);
        } catch (const std::invalid_argument& error) {
          PyErr_SetObject(PyExc_ValueError, argument_error(PyExc_ValueError, error).ptr());
        } catch (const std::length_error& error) {
          raise(PyExc_ValueError, error);
        }
      },
      format_error.ptr());
  const nb::object budget_too_small =
      nb::exception<gz::BudgetTooSmall>(m, "BudgetTooSmall", PyExc_ValueError);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const gz::BudgetTooSmall& error) {
          raise_budget_error(static_cast<PyObject*>(type), error);
        }
      },
      budget_too_small.ptr());
  gz::bind_base(m);
  gz::bind_format(m);
  gz::bind_synth(m);
  gz::bind_convert(m);
  gz::bind_convert_parts(m);
  gz::bind_convert_features(m);
  gz::bind_store(m);
  gz::bind_ids(m);
  gz::bind_sample(m);
  gz::bind_negative(m);
  gz::bind_walk(m);
  gz::bind_gather(m);
  gz::bind_pipeline(m);
}
