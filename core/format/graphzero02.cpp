#include "core/format/graphzero02.h"

#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/format/gd.h"
#include "core/format/gl.h"

namespace gz {
namespace {

struct GlHeader {
  Magic magic;
  std::uint64_t indptr_size;
  std::uint64_t indices_size;
  std::uint64_t indptr_offset;
  std::uint64_t indices_offset;
  std::uint64_t num_nodes;
  std::uint64_t num_edges;
  std::uint64_t flags;  // bit 0: weighted; the other bits were never initialised
};
static_assert(sizeof(GlHeader) == 64);

struct GdHeader {
  Magic magic;
  std::uint32_t flags;
  std::int32_t dtype;
  std::uint64_t num_nodes;
  std::uint64_t feature_dim;
};
static_assert(sizeof(GdHeader) == 32);

template <class Header>
Header read_header(const File& file) {
  if (file.size() < sizeof(Header)) {
    throw FormatError(file.path(), "too short: expected at least the header's ", sizeof(Header),
                      " bytes (a GraphZero 0.2 file), found ", file.size());
  }
  Header header;
  file.read_exact_at(std::as_writable_bytes(std::span(&header, 1)), 0);
  return header;
}

// These files carry no checksum, so the header, size and time of change stand in for one.
template <class Header>
std::uint64_t fingerprint(const File& file, const Header& header) {
  const std::uint64_t facts[2] = {file.size(), file.modified_ns()};
  Xxh64 hash;
  hash.update(std::as_bytes(std::span(&header, 1)));
  hash.update(std::as_bytes(std::span(facts)));
  return hash.digest();
}

void expect_field(const File& file, const char* what, std::uint64_t at, std::uint64_t expected,
                  std::uint64_t found) {
  if (expected != found) refuse_field(file.path(), what, at, concat(expected), concat(found));
}

}  // namespace

GlLayout read_graphzero02_gl(const File& file) {
  const auto header = read_header<GlHeader>(file);
  if (header.num_nodes > kMaxCount) {
    refuse_field(file.path(), "node count", offsetof(GlHeader, num_nodes), "at most 2^59",
                 concat(header.num_nodes));
  }
  if (header.num_edges > kMaxCount) {
    refuse_field(file.path(), "edge count", offsetof(GlHeader, num_edges), "at most 2^59",
                 concat(header.num_edges));
  }
  const std::uint64_t indptr_size = (header.num_nodes + 1) * 8;
  const std::uint64_t indices_size = header.num_edges * 8;
  expect_field(file, "indptr size", offsetof(GlHeader, indptr_size), indptr_size,
               header.indptr_size);
  expect_field(file, "indices size", offsetof(GlHeader, indices_size), indices_size,
               header.indices_size);
  expect_field(file, "indptr offset", offsetof(GlHeader, indptr_offset), sizeof(GlHeader),
               header.indptr_offset);
  const std::uint64_t indices_offset = *checked_round_up(sizeof(GlHeader) + indptr_size, 64);
  expect_field(file, "indices offset", offsetof(GlHeader, indices_offset), indices_offset,
               header.indices_offset);

  GlLayout layout;
  layout.num_src_nodes = layout.num_dst_nodes = header.num_nodes;
  layout.num_edges = layout.num_input_edges = header.num_edges;
  layout.sorted = false;
  layout.id_width = layout.edge_id_width = IdWidth::k8;
  layout.out = GlIndex{};
  layout.out->indptr = {header.indptr_offset, indptr_size};
  layout.out->indices = {indices_offset, indices_size};
  std::uint64_t end = indices_offset + indices_size;
  if ((header.flags & 1) != 0) {
    layout.out->weights = ByteRange{*checked_round_up(end, 64), header.num_edges * 4};
    end = layout.out->weights->offset + layout.out->weights->length;
  }
  if (file.size() != end) {
    throw FormatError(file.path(), "bad file size: expected ", end, " bytes for ", header.num_nodes,
                      " nodes and ", header.num_edges, " edges, found ", file.size());
  }
  layout.fingerprint = fingerprint(file, header);
  return layout;
}

GdLayout read_graphzero02_gd(const File& file) {
  const auto header = read_header<GdHeader>(file);
  if (header.dtype < 0 || header.dtype > 3) {
    refuse_field(file.path(), "dtype", offsetof(GdHeader, dtype), "0 to 3", concat(header.dtype));
  }
  GdLayout layout;
  layout.dtype = static_cast<Dtype>(header.dtype);
  layout.shape = {header.num_nodes, header.feature_dim};
  layout.data_offset = sizeof(GdHeader);
  try {
    layout.data_length = byte_size(layout.dtype, layout.shape);
  } catch (const std::length_error& error) {
    throw FormatError(file.path(), "bad shape at byte ", offsetof(GdHeader, num_nodes), ": ",
                      error.what());
  }
  const std::uint64_t end = layout.data_offset + layout.data_length;
  if (file.size() != end) {
    throw FormatError(file.path(), "bad file size: expected ", end, " bytes for ", header.num_nodes,
                      " rows of ", header.feature_dim, ", found ", file.size());
  }
  layout.fingerprint = fingerprint(file, header);
  return layout;
}

}  // namespace gz
