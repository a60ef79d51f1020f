#include "core/convert/id_builder.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/path.h"
#include "core/base/temporary_file.h"
#include "core/convert/integer_set.h"
#include "core/convert/merge.h"
#include "core/convert/string_set.h"
#include "core/format/gi_writer.h"

namespace gz {
namespace {

constexpr std::size_t kSets =
    64;  // by the first bits of the hash: each is small enough for a cache
constexpr int kSetShift = 58;
constexpr std::size_t kPrefetch = 8;  // labels ahead
constexpr std::uint64_t kLeastMemory = 1 << 20;
constexpr std::size_t kGrain = 1 << 13;

}  // namespace

class IdBuilder::Base {
 public:
  virtual ~Base() = default;
  virtual void add(const std::span<const std::int64_t>&) {
    throw std::invalid_argument(
        "expected labels of one kind, found strings first and then integers");
  }
  virtual void add(const StringLabels&) {
    throw std::invalid_argument(
        "expected labels of one kind, found integers first and then strings");
  }
  virtual IdBuilderReport finish() = 0;
};

// Memory: five eighths for the sets, a quarter for the writer, the rest for what a batch needs.
template <class Set>
class IdBuilder::Of final : public Base {
  static constexpr bool kIsString = std::is_same_v<Set, StringSet>;
  using Labels = std::conditional_t<kIsString, StringLabels, std::span<const std::int64_t>>;

 public:
  using Base::add;

  Of(const std::string& path, IdBuilderOptions options)
      : options_(std::move(options)), writer_(path), runs_(options_.tmp_dir), sets_(kSets) {
    if constexpr (kIsString) {
      for (StringSet& set : sets_)
        set.set_block(std::clamp<std::size_t>(options_.memory / (kSets * 32), 1 << 9, 1 << 20));
    }
  }

  void add(const Labels& labels) override {
    if constexpr (kIsString) check_offsets(labels);
    std::size_t begin = 0;
    while (begin < labels.size()) {
      const std::size_t end = slice_end(labels, begin);
      insert(labels, begin, end);
      begin = end;
      // A set may grow by half in the next slice, so the memory must do for that too.
      if (memory() > options_.memory * 5 / 12) spill();
      check_interrupt();
    }
    report_.num_added += labels.size();
  }

  IdBuilderReport finish() override {
    GiWriterOptions options;
    options.kind = options_.kind;
    options.memory = options_.memory / 4;
    options.tmp_dir = options_.tmp_dir;
    options.most_labels = size();
    sort();
    if (ranges_.empty()) {
      writer_.begin(options);
      std::vector<typename Set::Cursor> cursors(sets_.begin(), sets_.end());
      write(cursors);
    } else {
      if (size() > 0) write_run();
      options.most_labels = spilled_;
      std::vector<Set>().swap(sets_);
      writer_.begin(options);
      // A disk wants large reads; memory for them is what the sets leave.
      const std::size_t buffer =
          std::clamp<std::size_t>(options_.memory / 2 / ranges_.size(), 1 << 12, 4 << 20);
      std::vector<typename Set::RunCursor> cursors;
      cursors.reserve(ranges_.size());
      for (const auto& [begin, end] : ranges_)
        cursors.emplace_back(RunReader(runs_, begin, end, buffer));
      write(cursors);
    }
    std::vector<Set>().swap(sets_);
    writer_.finish();
    report_.num_runs = ranges_.size();
    return report_;
  }

 private:
  // How many labels one round takes: what it needs besides the sets is bounded.
  std::size_t slice_end(const Labels& labels, std::size_t begin) const {
    const std::size_t most = std::clamp<std::size_t>(options_.memory / 256, 1 << 10, 1 << 18);
    std::size_t end = std::min(labels.size(), begin + most);
    if constexpr (kIsString) {
      const auto limit = static_cast<std::uint64_t>(labels.offsets[begin]) + options_.memory / 16;
      const auto first = labels.offsets.begin() + static_cast<std::ptrdiff_t>(begin + 1);
      const auto last = labels.offsets.begin() + static_cast<std::ptrdiff_t>(end + 1);
      const auto over = std::upper_bound(first, last, static_cast<std::int64_t>(limit));
      end = std::max(begin + 1, begin + static_cast<std::size_t>(over - first));
    }
    return end;
  }

  void check(const Labels& labels, std::size_t i) const {
    if constexpr (kIsString) {
      if (labels[i].size() > kMaxLabelBytes) {
        throw std::invalid_argument(concat("label ", report_.num_added + i,
                                           ": expected at most 2^31 bytes, found ",
                                           labels[i].size()));
      }
      if (!is_utf8(labels[i])) {
        throw std::invalid_argument(concat("label ", report_.num_added + i,
                                           ": expected UTF-8, found ", quoted_label(labels[i])));
      }
    }
  }

  void insert(const Labels& labels, std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    hashes_.resize(count);
    order_.resize(count);
    parallel_chunks(count, kGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        check(labels, begin + i);
        hashes_[i] = Set::hash(labels[begin + i]);
      }
    });
    std::array<std::size_t, kSets + 1> starts{};
    for (const std::uint64_t hash : hashes_) ++starts[(hash >> kSetShift) + 1];
    for (std::size_t set = 0; set < kSets; ++set) starts[set + 1] += starts[set];
    auto next = starts;
    for (std::size_t i = 0; i < count; ++i)
      order_[next[hashes_[i] >> kSetShift]++] = static_cast<std::uint32_t>(i);
    parallel_chunks(kSets, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t set = first; set < last; ++set) {
        for (std::size_t at = starts[set]; at < starts[set + 1]; ++at) {
          if (at + kPrefetch < starts[set + 1])
            sets_[set].prefetch(hashes_[order_[at + kPrefetch]]);
          sets_[set].insert(labels[begin + order_[at]], hashes_[order_[at]]);
        }
      }
    });
  }

  std::uint64_t memory() const {
    std::uint64_t sum = 0;
    for (const Set& set : sets_) sum += set.memory();
    return sum;
  }
  std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const Set& set : sets_) sum += set.size();
    return sum;
  }

  void sort() {
    parallel_chunks(kSets, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t set = first; set < last; ++set) sets_[set].sort();
    });
  }

  void spill() {
    sort();
    write_run();
    for (Set& set : sets_) set.clear();
  }

  // Of sets that are sorted.
  void write_run() {
    spilled_ += size();
    RunWriter run(runs_, std::clamp<std::size_t>(options_.memory / 32, 1 << 14, 4 << 20));
    std::vector<typename Set::Cursor> cursors(sets_.begin(), sets_.end());
    std::uint64_t done = 0;
    for (Merge merge(cursors); !merge.at_end(); merge.next()) {
      merge.top().write(run);
      if (++done % kGrain == 0) check_interrupt();
    }
    ranges_.push_back(run.finish());
  }

  template <class Cursor>
  void write(std::vector<Cursor>& cursors) {
    typename Set::Last last;
    std::uint64_t done = 0;
    for (Merge merge(cursors); !merge.at_end(); merge.next()) {
      if (++done % kGrain == 0) check_interrupt();
      const auto label = merge.top().label();
      if (last.is(label)) continue;
      last.set(label);
      writer_.append(label);
      ++report_.num_labels;
    }
  }

  IdBuilderOptions options_;
  GiWriter writer_;
  TemporaryFile runs_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // of runs in that file
  std::uint64_t spilled_ = 0;                                    // labels in all runs
  std::vector<Set> sets_;
  std::vector<std::uint64_t> hashes_;  // of one slice
  std::vector<std::uint32_t> order_;   // of one slice, by set
  IdBuilderReport report_;
};

IdBuilder::IdBuilder(const std::string& path, const IdBuilderOptions& options) {
  if (options.memory < kLeastMemory) {
    throw std::invalid_argument(
        concat("memory: expected at least ", kLeastMemory, " bytes, found ", options.memory));
  }
  IdBuilderOptions used = options;
  if (used.tmp_dir.empty()) used.tmp_dir = folder_of(path);
  if (options.kind == LabelKind::kInteger) {
    state_ = std::make_unique<Of<IntegerSet>>(path, used);
  } else {
    state_ = std::make_unique<Of<StringSet>>(path, used);
  }
}

IdBuilder::~IdBuilder() = default;

void IdBuilder::add(std::span<const std::int64_t> labels) {
  if (!state_) throw std::invalid_argument("the dictionary is finished: nothing can be added");
  state_->add(labels);
}

void IdBuilder::add(const StringLabels& labels) {
  if (!state_) throw std::invalid_argument("the dictionary is finished: nothing can be added");
  state_->add(labels);
}

IdBuilderReport IdBuilder::finish() {
  if (!state_) throw std::invalid_argument("the dictionary is finished already");
  const auto state = std::move(state_);
  return state->finish();
}

}  // namespace gz
