// Writes a .gl section by section.
#pragma once

#include <span>
#include <string>

#include "core/format/container_writer.h"
#include "core/format/gl.h"

namespace gz {

struct GlInfo {
  GlFields counts;
  bool directed = true;
  bool bipartite = false;
};

// Sections may come in any order, each role of a direction at most once; finish() puts the file in
// place. That the contents obey the format is the caller's promise, which verify_graph can check.
class GlWriter {
 public:
  // A part of an index has the sections of a .gl, but another magic number and fields of its own.
  explicit GlWriter(std::string path, const Magic& magic = kGlMagic)
      : container_(std::move(path), magic) {}

  void begin(Direction direction, GlRole role, Dtype dtype) {
    container_.begin(gl_kind(direction, role), dtype, flags_of(role));
  }
  template <class Item>
  void append(std::span<const Item> items) {
    container_.append(std::as_bytes(items));
  }
  void end() { container_.end(); }

  // See ContainerWriter::reserve.
  ContainerWriter::Reserved& reserve(Direction direction, GlRole role, Dtype dtype,
                                     std::uint64_t count) {
    return container_.reserve(gl_kind(direction, role), dtype, flags_of(role),
                              count * item_size(dtype));
  }

  void finish(const GlInfo& info) {
    const std::uint32_t flags =
        (info.directed ? kGlDirected : 0) | (info.bipartite ? kGlBipartite : 0);
    finish(std::as_bytes(std::span(&info.counts, 1)), flags);
  }
  void finish(std::span<const std::byte> fields, std::uint32_t flags) {
    container_.finish(fields, flags);
  }

 private:
  // Whoever does not know sums of weights can add the weights up.
  static std::uint32_t flags_of(GlRole role) {
    return role == GlRole::kWeightSums ? 0 : kSectionRequired;
  }

  ContainerWriter container_;
};

}  // namespace gz
