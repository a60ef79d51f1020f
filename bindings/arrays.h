// How arrays cross between the core and Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bindings/gil.h"
#include "core/base/buffer.h"
#include "core/base/file.h"
#include "core/base/types.h"

namespace gz {

namespace nb = nanobind;

template <class Item>
using InputArray = nb::ndarray<const Item, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using NodeIdArray = InputArray<NodeId>;

template <class Item>
std::span<const Item> as_span(const InputArray<Item>& array) {
  return {array.data(), array.size()};
}

// Paths cross as bytes: a file name need not be text.
inline std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

// Keeps what an array points into alive for as long as the array.
template <class Owned>
nb::capsule owner(Owned&& owned) {
  using Type = std::decay_t<Owned>;
  return nb::capsule(new Type(std::forward<Owned>(owned)),
                     [](void* held) noexcept { delete static_cast<Type*>(held); });
}

constexpr nb::dlpack::dtype dlpack_dtype(Dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Int;
  switch (dtype) {
    case Dtype::kInt8:
    case Dtype::kInt16:
    case Dtype::kInt32:
    case Dtype::kInt64:
      code = Code::Int;
      break;
    case Dtype::kUint8:
      code = Code::UInt;
      break;
    // NumPy has no bfloat16: its bits cross as uint16 and Python gives them their name back.
    case Dtype::kBfloat16:
      code = Code::UInt;
      break;
    case Dtype::kFloat16:
    case Dtype::kFloat32:
    case Dtype::kFloat64:
      code = Code::Float;
      break;
    case Dtype::kBool:
      code = Code::Bool;
      break;
  }
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * item_size(dtype)), 1};
}

using AnyArray = nb::ndarray<nb::numpy>;
using ReadOnlyArray = nb::ndarray<nb::numpy, nb::ro>;
template <class Item>
using ReadOnlyVector = nb::ndarray<nb::numpy, const Item, nb::ndim<1>>;

// A view of part of a mapping; the array owns a share of it. Needs the GIL.
template <class Array>
Array mapped_array(const std::shared_ptr<const MappedFile>& mapping, const std::byte* data,
                   Dtype dtype, const std::vector<std::size_t>& shape) {
  return Array(const_cast<std::byte*>(data), shape.size(), shape.data(), owner(mapping), nullptr,
               dlpack_dtype(dtype));
}

// The same for items whose type is known.
template <class Item>
ReadOnlyVector<Item> mapped_vector(const std::shared_ptr<const MappedFile>& mapping,
                                   std::span<const Item> items) {
  return {items.data(), {items.size()}, owner(mapping)};
}

// A fresh array that takes over the vector. Needs the GIL.
template <class Item, class Allocator>
nb::ndarray<nb::numpy, Item, nb::ndim<1>> owned_array(std::vector<Item, Allocator>&& items) {
  using Items = std::vector<Item, Allocator>;
  auto* const held = new Items(std::move(items));
  nb::capsule keeper(held, [](void* p) noexcept { delete static_cast<Items*>(p); });
  return {held->data(), {held->size()}, keeper};
}

// The same for a buffer. Needs the GIL.
template <class Item>
nb::ndarray<nb::numpy, Item, nb::ndim<1>> owned_array(Buffer<Item>&& items) {
  auto* const held = new Buffer<Item>(std::move(items));
  nb::capsule keeper(held, [](void* p) noexcept { delete static_cast<Buffer<Item>*>(p); });
  return {held->data(), {held->size()}, keeper};
}

}  // namespace gz
