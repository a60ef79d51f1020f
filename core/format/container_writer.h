// Writes a container: sections one after the other, then the header page, then the rename.
#pragma once

#include <cstdint>
#include <deque>
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
  // The same, left out of the checksum of the section: for bytes that have others.
  void append_unsummed(std::span<const std::byte> bytes);
  void end();
  // Goes back to the start of the section in progress, to write it anew. Until they are
  // overwritten, the bytes written so far can be read back; `offset` counts from the start of the
  // section.
  void rewind();
  void read_back(std::span<std::byte> out, std::uint64_t offset) const;

  // A section whose length is known: several of them may be filled side by side, each in order, by
  // one thread at a time. All must be full before finish(). Not between begin() and end().
  class Reserved {
   public:
    void append(std::span<const std::byte> bytes);

   private:
    friend class ContainerWriter;
    AtomicFile* file_ = nullptr;
    std::size_t entry_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t writeback_ = 0;
    std::uint64_t end_ = 0;
    Xxh64 checksum_;
  };
  // The reference stays valid as long as the writer.
  Reserved& reserve(std::uint32_t kind, Dtype dtype, std::uint32_t flags, std::uint64_t length);

  // `fields` are the format's own bytes, at most kFieldsSize of them.
  void finish(std::span<const std::byte> fields, std::uint32_t flags);

 private:
  void flush();
  void write(std::span<const std::byte> bytes);

  AtomicFile file_;
  Magic magic_;
  std::vector<SectionEntry> table_;
  std::deque<Reserved> reserved_;
  Xxh64 checksum_;
  std::uint64_t position_ = kPage;   // where the next byte of the file goes
  std::uint64_t writeback_ = kPage;  // bytes before this are on their way to the device
  std::vector<std::byte> pending_;   // small appends are joined into large writes
};

}  // namespace gz
