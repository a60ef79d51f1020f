// Writes a container: sections one after the other, then the header page, then the rename.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/format/container.h"

namespace gz {

// begin(), append() … , end() for each section, then finish(). Destroyed without finish() it leaves
// the target path as it was.
class ContainerWriter {
 public:
  ContainerWriter(std::string path, const Magic& magic) : file_(std::move(path)), magic_(magic) {}

  void begin(std::uint32_t kind, Dtype dtype, std::uint32_t flags);
  void append(std::span<const std::byte> bytes);
  void end();

  // `fields` are the format's own bytes, at most kFieldsSize of them.
  void finish(std::span<const std::byte> fields, std::uint32_t flags);

 private:
  void flush();

  AtomicFile file_;
  Magic magic_;
  std::vector<SectionEntry> table_;
  Xxh64 checksum_;
  std::uint64_t position_ = kPage;  // where the next byte of the file goes
  std::vector<std::byte> pending_;  // small appends are joined into large writes
};

}  // namespace gz
