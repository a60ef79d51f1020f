// A mounted .gi: labels to ids and back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/file.h"
#include "core/base/types.h"
#include "core/format/gi.h"

namespace gz {

inline constexpr NodeId kUnknownLabel = -1;

// Labels of strings that were asked for, in one piece.
struct StringBatch {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> offsets;  // one more than labels
};

// Safe to share between threads. Every method throws FormatError where the file leads outside
// itself, and std::invalid_argument where the labels are of the other kind.
class IdDictionary {
 public:
  // Whether the file is mapped, or a copy of it is held: whoever looks up many labels while much
  // else is read and written loses mapped pages, and waits for each again.
  enum class Place { kFile, kMemory };

  // A mapped one is O(1) in time and memory. Throws IoError or FormatError.
  explicit IdDictionary(const std::string& path, Place place = Place::kFile);

  const std::string& path() const { return mapping_->path(); }
  const GiLayout& layout() const { return layout_; }
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }
  std::uint64_t num_labels() const { return layout_.num_labels; }

  // The id of each label, kUnknownLabel where there is none; `ids` is as long as `labels`. Warm,
  // the cache misses of some dozen labels overlap; where much of the file is not in the page cache,
  // labels are looked up in the order of the file, its pages requested in advance.
  void find(std::span<const std::int64_t> labels, std::span<NodeId> ids) const;
  void find(const StringLabels& labels, std::span<NodeId> ids) const;

  // The same; throws std::out_of_range naming the first label that is not there, and its position.
  void translate(std::span<const std::int64_t> labels, std::span<NodeId> ids) const;
  void translate(const StringLabels& labels, std::span<NodeId> ids) const;

  // The labels of ids. Throw std::out_of_range naming the first id that is none.
  void integers(std::span<const NodeId> ids, std::span<std::int64_t> labels) const;
  StringBatch strings(std::span<const NodeId> ids) const;

  // What verification scans.
  std::span<const std::int64_t> stored_labels() const { return labels_; }
  // Levels of samples, the finest first, filled up.
  const std::vector<std::span<const std::int64_t>>& levels() const { return levels_; }
  std::span<const std::byte> stored_bytes() const { return bytes_; }
  std::span<const std::int64_t> stored_offsets() const { return offsets_; }
  std::span<const std::uint64_t> slots() const { return slots_; }

 private:
  friend class IntegerLookup;
  friend class StringLookup;

  void expect_kind(LabelKind kind) const;
  // Whether `count` random lookups had better ask for their pages in advance.
  bool is_cold(std::size_t count) const;
  // Bytes of label `id`, which is below num_labels().
  std::span<const std::byte> string(std::uint64_t id) const;
  [[noreturn]] void refuse_slot(std::uint64_t slot) const;

  GiLayout layout_;
  std::shared_ptr<const MappedFile> mapping_;
  Buffer<std::byte> held_;  // empty, or all of the file
  std::span<const std::int64_t> labels_;
  std::vector<std::span<const std::int64_t>> levels_;
  std::span<const std::byte> bytes_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::uint64_t> slots_;
  // What is_cold() found, and for how many lookups that holds.
  mutable std::atomic<bool> was_cold_ = false;
  mutable std::atomic<std::int64_t> lookups_until_asked_ = 0;
};

}  // namespace gz
