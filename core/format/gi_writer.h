// Writes a .gi from labels in order, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/temporary_file.h"
#include "core/format/container_writer.h"
#include "core/format/gi.h"

namespace gz {

// Numbers that are written now and read back once, in order: in memory up to a limit, beyond it in
// a temporary file.
class NumberStream {
 public:
  NumberStream(const std::string& folder, std::size_t most_in_memory)
      : file_(folder), limit_(most_in_memory) {}

  void push(std::int64_t number) {
    if (numbers_.size() == limit_) {
      file_.append(std::as_bytes(std::span(numbers_)));
      numbers_.clear();
    }
    numbers_.push_back(number);
  }
  std::uint64_t size() const { return file_.size() / sizeof(std::int64_t) + numbers_.size(); }

  // Calls body(span) for all numbers. Nothing is pushed any more.
  template <class Body>
  void drain(Body&& body) const {
    file_.for_each_block([&](std::span<const std::byte> bytes) {
      const auto* const numbers = reinterpret_cast<const std::int64_t*>(bytes.data());
      body(std::span(numbers, bytes.size() / sizeof *numbers));
    });
    body(std::span(numbers_));
  }

 private:
  TemporaryFile file_;
  std::size_t limit_;
  std::vector<std::int64_t> numbers_;  // behind those in the file
};

// (hash, id) of every label, grouped by the first bits of the hash; the groups go to a temporary
// file once they exceed their memory.
class HashGroups {
 public:
  struct Entry {
    std::uint64_t hash;
    std::uint64_t id;
    auto operator<=>(const Entry&) const = default;
  };

  // `most_entries` is a bound from above: with it every group fits a share of `memory`.
  HashGroups(const std::string& folder, std::uint64_t memory, std::uint64_t most_entries);

  void push(std::uint64_t hash, std::uint64_t id);

  // Calls body(span of entries, sorted by hash, then id) group by group in order.
  template <class Body>
  void drain(Body&& body);

 private:
  struct Piece {
    std::uint64_t offset;
    std::size_t count;
  };
  struct Group {
    std::vector<Entry> entries;
    std::vector<Piece> pieces;
  };
  void spill();
  void load(Group& group) const;

  TemporaryFile file_;
  std::uint64_t most_in_memory_;
  std::uint64_t in_memory_ = 0;
  int shift_;
  std::vector<Group> groups_;
};

struct GiWriterOptions {
  LabelKind kind = LabelKind::kInteger;
  std::uint64_t memory = 64 << 20;  // besides some megabytes for writing
  std::string tmp_dir;              // for what memory does not hold; nothing stays there
  std::uint64_t most_labels = 0;    // a bound from above of how many there will be
};

// append() labels in strictly rising order, then finish(). Destroyed without it, the target is as
// it was.
class GiWriter {
 public:
  explicit GiWriter(std::string path) : container_(std::move(path), kGiMagic) {}

  // Once, before the first label.
  void begin(const GiWriterOptions& options);
  void append(std::int64_t label);
  void append(std::span<const std::byte> label);
  void finish();

 private:
  void finish_integers();
  void finish_strings();

  ContainerWriter container_;
  GiWriterOptions options_;
  std::vector<std::int64_t> pending_;  // integers
  std::unique_ptr<NumberStream> samples_;
  std::vector<std::byte> pending_bytes_;  // strings
  std::unique_ptr<NumberStream> offsets_;
  std::unique_ptr<HashGroups> hashes_;
  GiFields fields_{};
  std::uint64_t num_bytes_ = 0;
};

}  // namespace gz
