#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/one_thread.h"
#include "core/base/error.h"
#include "core/convert/id_builder.h"
#include "core/store/id_dictionary.h"
#include "core/store/verify.h"

namespace gz {

using namespace nb::literals;

namespace {

using ByteArray = InputArray<std::uint8_t>;
using OffsetArray = InputArray<std::int64_t>;

StringLabels labels_of(const ByteArray& bytes, const OffsetArray& offsets) {
  return {std::as_bytes(as_span(bytes)), as_span(offsets)};
}

// Text, or bytes that are taken as UTF-8, one after the other. Needs the GIL.
std::pair<nb::object, nb::object> pack_labels(const nb::list& labels, const std::string& name) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(labels.size() + 1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const nb::handle label = labels[i];
    const char* text = nullptr;
    Py_ssize_t size = 0;
    if (PyUnicode_Check(label.ptr())) {
      text = PyUnicode_AsUTF8AndSize(label.ptr(), &size);
      if (text == nullptr) {
        PyErr_Clear();
        throw nb::value_error(
            concat(name, "[", i, "]: expected text, found a lone surrogate, which has no UTF-8")
                .c_str());
      }
    } else if (PyBytes_Check(label.ptr())) {
      text = PyBytes_AsString(label.ptr());
      size = PyBytes_Size(label.ptr());
    } else {
      throw nb::type_error(
          concat(name, "[", i, "]: expected text, found ", nb::repr(label.type()).c_str()).c_str());
    }
    bytes.insert(bytes.end(), text, text + size);
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  return {nb::cast(owned_array(std::move(bytes))), nb::cast(owned_array(std::move(offsets)))};
}

// Needs the GIL. The core has proven the bytes to be UTF-8.
nb::list text_of(const StringBatch& batch) {
  nb::list out;
  for (std::size_t i = 0; i + 1 < batch.offsets.size(); ++i) {
    const auto* const at = reinterpret_cast<const char*>(batch.bytes.data()) + batch.offsets[i];
    PyObject* const text =
        PyUnicode_DecodeUTF8(at, batch.offsets[i + 1] - batch.offsets[i], nullptr);
    if (text == nullptr) throw nb::python_error();
    out.append(nb::steal(text));
  }
  return out;
}

template <class Labels>
auto translated(const IdDictionary& d, const Labels& labels, bool must_exist) {
  std::vector<NodeId> ids(labels.size());
  try {
    without_gil([&] { must_exist ? d.translate(labels, ids) : d.find(labels, ids); });
  } catch (const std::out_of_range& error) {
    // A label that is missing from a mapping is a KeyError.
    throw nb::key_error(error.what());
  }
  return owned_array(std::move(ids));
}

void bind_dictionary(nb::module_& m) {
  nb::class_<IdDictionary>(m, "IdDictionary")
      .def(
          "__init__",
          [](IdDictionary* self, const nb::bytes& path, bool in_memory) {
            const std::string name = path_of(path);
            const auto place =
                in_memory ? IdDictionary::Place::kMemory : IdDictionary::Place::kFile;
            without_gil([&] { new (self) IdDictionary(name, place); });
          },
          "path"_a, "in_memory"_a = false)
      .def_prop_ro("kind", [](const IdDictionary& d) { return d.layout().kind; })
      .def_prop_ro("num_labels", &IdDictionary::num_labels)
      .def_prop_ro("is_graphzero02", [](const IdDictionary&) { return false; })
      .def_prop_ro("fingerprint", [](const IdDictionary& d) { return d.layout().fingerprint; })
      .def_prop_ro("file_size", [](const IdDictionary& d) { return d.mapping()->size(); })
      .def("resident_bytes",
           [](const IdDictionary& d) {
             return without_gil([&] { return d.mapping()->resident_bytes(); });
           })
      .def("check_intact", [](const IdDictionary& d) { d.mapping()->check_intact(); })
      .def(
          "translate_integers",
          [](const IdDictionary& d, const InputArray<std::int64_t>& labels, bool must_exist) {
            return translated(d, as_span(labels), must_exist);
          },
          "labels"_a.noconvert(), "must_exist"_a)
      .def(
          "translate_strings",
          [](const IdDictionary& d, const ByteArray& bytes, const OffsetArray& offsets,
             bool must_exist) {
            const StringLabels labels = labels_of(bytes, offsets);
            check_offsets(labels);
            return translated(d, labels, must_exist);
          },
          "bytes"_a.noconvert(), "offsets"_a.noconvert(), "must_exist"_a)
      .def(
          "integers",
          [](const IdDictionary& d, const NodeIdArray& ids) {
            std::vector<std::int64_t> labels(ids.size());
            without_gil([&] { d.integers(as_span(ids), labels); });
            return owned_array(std::move(labels));
          },
          "ids"_a.noconvert())
      .def(
          "strings",
          [](const IdDictionary& d, const NodeIdArray& ids) {
            return text_of(without_gil([&] { return d.strings(as_span(ids)); }));
          },
          "ids"_a.noconvert(),
          nb::sig("def strings(self, ids: NDArray[numpy.int64]) -> list[str]"));
}

void bind_builder(nb::module_& m) {
  nb::class_<IdBuilderReport>(m, "IdBuilderReport")
      .def_ro("num_added", &IdBuilderReport::num_added)
      .def_ro("num_labels", &IdBuilderReport::num_labels)
      .def_ro("num_runs", &IdBuilderReport::num_runs);
  using Builder = OneThread<IdBuilder>;
  nb::class_<Builder>(m, "IdBuilder")
      .def(
          "__init__",
          [](Builder* self, const nb::bytes& path, LabelKind kind, std::uint64_t memory,
             const nb::bytes& tmp_dir) {
            const IdBuilderOptions options = {kind, memory, path_of(tmp_dir)};
            new (self) Builder("IdBuilder", path_of(path), options);
          },
          "path"_a, "kind"_a, "memory"_a, "tmp_dir"_a)
      .def(
          "add_integers",
          [](Builder& self, const InputArray<std::int64_t>& labels) {
            self.use([&](IdBuilder& builder) { builder.add(as_span(labels)); });
          },
          "labels"_a.noconvert())
      .def(
          "add_strings",
          [](Builder& self, const ByteArray& bytes, const OffsetArray& offsets) {
            self.use([&](IdBuilder& builder) { builder.add(labels_of(bytes, offsets)); });
          },
          "bytes"_a.noconvert(), "offsets"_a.noconvert())
      .def(
          "add_dictionary",
          [](Builder& self, const IdDictionary& labels) {
            self.use([&](IdBuilder& builder) {
              if (labels.layout().kind == LabelKind::kString) {
                builder.add(StringLabels{labels.stored_bytes(), labels.stored_offsets()});
              } else {
                builder.add(labels.stored_labels());
              }
              labels.mapping()->check_intact();
            });
          },
          "labels"_a)
      .def("finish", [](Builder& self) {
        return self.use([](IdBuilder& builder) { return builder.finish(); });
      });
}

}  // namespace

void bind_ids(nb::module_& m) {
  nb::enum_<LabelKind>(m, "LabelKind")
      .value("INTEGER", LabelKind::kInteger)
      .value("STRING", LabelKind::kString);
  bind_dictionary(m);
  bind_builder(m);
  m.def(
      "pack_labels",
      [](const nb::list& labels, const std::string& name) {
        auto [bytes, offsets] = pack_labels(labels, name);
        return nb::make_tuple(bytes, offsets);
      },
      "labels"_a, "name"_a,
      nb::sig("def pack_labels(labels: list[str | bytes], name: str) -> "
              "tuple[NDArray[numpy.uint8], NDArray[numpy.int64]]"));
  m.def(
      "verify_ids",
      [](const nb::bytes& path, VerifyProgress& progress) {
        const std::string name = path_of(path);
        return without_gil([&] { return verify_ids(name, progress); });
      },
      "path"_a, "progress"_a);
}

}  // namespace gz
