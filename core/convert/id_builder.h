// Labels in any order and number in, a .gi out, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/format/gi.h"

namespace gz {

struct IdBuilderOptions {
  LabelKind kind = LabelKind::kInteger;
  std::uint64_t memory = std::uint64_t{1}
                         << 30;  // bytes, besides some ten megabytes; at least 2^20
  std::string tmp_dir;           // for sorted runs; empty: the target's folder
};

struct IdBuilderReport {
  std::uint64_t num_added = 0;   // labels given to add()
  std::uint64_t num_labels = 0;  // different ones: what the file holds
  std::uint64_t num_runs = 0;    // how often memory was full
};

// add() batches, then finish(). Labels may repeat: they are kept once in a hash set until the
// memory is used, then sorted and written to a temporary file without a name. finish() merges. The
// file depends on the set of labels alone, not on order, batches, memory or threads. Not for
// several threads at once; a call uses the pool itself.
class IdBuilder {
 public:
  // Throws IoError if the folder cannot be written, std::invalid_argument for too little memory.
  IdBuilder(const std::string& path, const IdBuilderOptions& options);
  ~IdBuilder();

  // Throws std::invalid_argument for labels of the other kind, and for one that is no UTF-8 or
  // longer than 2^31 bytes, naming its position among all that were added.
  void add(std::span<const std::int64_t> labels);
  void add(const StringLabels& labels);

  // The file is in place afterwards, and nothing can be added any more.
  IdBuilderReport finish();

 private:
  class Base;
  template <class Shard>
  class Of;
  std::unique_ptr<Base> state_;
};

}  // namespace gz
