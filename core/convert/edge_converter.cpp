#include "core/convert/edge_converter.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "core/base/error.h"
#include "core/base/object_pool.h"
#include "core/base/parallel.h"
#include "core/convert/bucket_writer.h"
#include "core/convert/edge_buckets.h"
#include "core/convert/index_output.h"
#include "core/convert/record_file.h"
#include "core/format/gl_writer.h"

namespace gz {
namespace {

constexpr std::uint64_t kNarrowIds = std::uint64_t{1} << 32;

// Edges of one batch, wherever they came from.
struct Columns {
  std::span<const std::uint64_t> src;
  std::span<const std::uint64_t> dst;
  std::span<const float> weight;
  std::span<const std::int64_t> time;
};

// Where an index would store the input as it is, its edge ids are the positions and need no
// section. Batches tell whether they are in order and how they begin and end; finish() joins them.
struct BatchOrder {
  using Place = std::tuple<std::uint64_t, std::int64_t, std::uint64_t>;  // (node, time, neighbour)
  std::uint64_t first_row = 0;
  bool sorted[2] = {true, true};  // as the out index, as the in index
  Place first[2], last[2];
};

template <class Value, class Better>
void improve(std::atomic<Value>& best, Value found, Better better) {
  Value seen = best.load();
  while (better(found, seen) && !best.compare_exchange_weak(seen, found)) {
  }
}

std::uint64_t largest_of(std::span<const std::uint64_t> ids) {
  std::uint64_t largest = 0;
  for (const std::uint64_t id : ids) largest = std::max(largest, id);
  return largest;
}

std::uint64_t smallest_of(std::span<const std::uint64_t> ids) {
  std::uint64_t smallest = ~std::uint64_t{0};
  for (const std::uint64_t id : ids) smallest = std::min(smallest, id);
  return smallest;
}

// How the budget is shared out. Half holds records; a quarter the blocks being filled, and later,
// when those are gone, the buckets being sorted; the rest is for text and slack.
struct MemoryPlan {
  MemoryPlan(const EdgeConverterOptions& options, std::size_t num_sets) {
    const auto threads = static_cast<std::uint64_t>(num_threads());
    records = options.memory / 2;
    buckets =
        EdgeBuckets<EdgeRecord<std::uint32_t, false, false, false>>::buckets_for(options.num_rows);
    const std::uint64_t per_block = options.memory / 4 / (threads * num_sets * buckets);
    // Below a page the disk suffers, above 64 kB nothing is gained.
    block = std::bit_floor(std::clamp<std::uint64_t>(per_block, 4 << 10, 64 << 10));
    sort = options.memory / 4 / threads;
    // What is sorted but not yet due; there is no text any more by then.
    parked = options.memory / 16;
    // Text comes in pieces of this size; the columns it is parsed into take up to four times as
    // much.
    piece = std::clamp<std::uint64_t>(options.memory / (64 * threads), 64 << 10, 1 << 20);
  }
  std::uint64_t records, block, sort, parked, piece;
  std::size_t buckets;
};

}  // namespace

class EdgeConverter::Engine {
 public:
  explicit Engine(const EdgeConverterOptions& options_)
      : options(options_),
        with_out(options_.out_index || !options_.directed),
        with_in(options_.in_index && options_.directed),
        plan(options_, static_cast<std::size_t>(with_out) + static_cast<std::size_t>(with_in)),
        memory(plan.records, plan.block, options_.temporary_folder) {}
  virtual ~Engine() = default;

  virtual void place(const Columns& columns, std::uint64_t first_row) = 0;
  virtual EdgeReport finish(const std::string& path) = 0;
  virtual void finish_records(const std::string& path, std::uint64_t other_bad_lines,
                              std::uint64_t origin) = 0;

  // The largest ids of a batch.
  struct Largest {
    std::uint64_t src, dst;
  };
  // What place() has in common for all kinds of record.
  Largest look_at(const Columns& columns, std::uint64_t first_row) {
    if (!options.bipartite) {  // whose two sides may have equal ids for different nodes
      std::uint64_t loops = 0;
      for (std::size_t i = 0; i < columns.src.size(); ++i)
        loops += columns.src[i] == columns.dst[i];
      self_loops += loops;
    }
    const Largest largest = {largest_of(columns.src), largest_of(columns.dst)};
    const auto [src, dst] = largest;
    check_bound("source", columns.src, src, options.num_src_nodes, first_row);
    check_bound("destination", columns.dst, dst, options.num_dst_nodes, first_row);
    improve(largest_src, src + 1, std::greater<>());
    improve(largest_dst, dst + 1, std::greater<>());
    improve(smallest, std::min(smallest_of(columns.src), smallest_of(columns.dst)), std::less<>());
    if (options.edge_ids && options.directed) note_order(columns, first_row);
    done_rows += columns.src.size();
    return largest;
  }

  const EdgeConverterOptions options;
  const bool with_out, with_in;
  const MemoryPlan plan;
  RecordMemory memory;
  std::uint64_t num_rows = 0;
  std::uint64_t num_lines = 0;
  BadLines bad_lines;
  std::atomic<std::uint64_t> self_loops{0};
  std::atomic<std::uint64_t> largest_src{0}, largest_dst{0};  // one more than the largest id
  std::atomic<std::uint64_t> smallest{~std::uint64_t{0}};
  std::atomic<std::uint64_t> done_text{0}, done_rows{0}, done_entries{0};
  std::mutex mutex;
  std::vector<BatchOrder> orders;

  // True if the input is in the order of this index, so that position and edge id are the same.
  bool is_identity(Direction direction) {
    const bool dropped = options.drop_self_loops && self_loops > 0;
    if (!options.directed || dropped || options.drop_duplicates) return num_rows == 0;
    const std::size_t side = direction == Direction::kIn;
    std::sort(orders.begin(), orders.end(),
              [](const BatchOrder& a, const BatchOrder& b) { return a.first_row < b.first_row; });
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (!orders[i].sorted[side]) return false;
      if (i > 0 && orders[i].first[side] < orders[i - 1].last[side]) return false;
    }
    return true;
  }

 private:
  static void check_bound(const char* what, std::span<const std::uint64_t> ids,
                          std::uint64_t largest, NodeId told, std::uint64_t first_row) {
    if (told < 0 || largest < static_cast<std::uint64_t>(told)) return;
    const auto wrong = std::find_if(ids.begin(), ids.end(), [&](std::uint64_t id) {
      return id >= static_cast<std::uint64_t>(told);
    });
    throw std::out_of_range(
        concat("edge ", first_row + static_cast<std::uint64_t>(wrong - ids.begin()),
               ": expected a ", what, " id below num_nodes = ", told, ", found ", *wrong));
  }

  void note_order(const Columns& columns, std::uint64_t first_row) {
    BatchOrder order;
    order.first_row = first_row;
    const auto place = [&](std::size_t i, std::size_t side) {
      const std::uint64_t node = side == 0 ? columns.src[i] : columns.dst[i];
      const std::uint64_t neighbor = side == 0 ? columns.dst[i] : columns.src[i];
      return BatchOrder::Place(node, columns.time.empty() ? 0 : columns.time[i], neighbor);
    };
    for (const std::size_t side : {0u, 1u}) {
      // Input in order of one end is common, of the other too is not: most scans end at once.
      for (std::size_t i = 1; i < columns.src.size() && order.sorted[side]; ++i) {
        order.sorted[side] = !(place(i, side) < place(i - 1, side));
      }
      order.first[side] = place(0, side);
      order.last[side] = place(columns.src.size() - 1, side);
    }
    const std::lock_guard lock(mutex);
    orders.push_back(order);
  }
};

template <class Narrow>
class EdgeConverter::TypedEngine final : public Engine {
 public:
  using Wide = typename Narrow::Wide;

  explicit TypedEngine(const EdgeConverterOptions& options_)
      : Engine(options_), out_(memory, plan.buckets), in_(memory, plan.buckets) {}

  void place(const Columns& columns, std::uint64_t first_row) override {
    if (columns.src.empty()) return;
    const auto [src, dst] = look_at(columns, first_row);
    const bool narrow =
        std::max(src, dst) < kNarrowIds && first_row + columns.src.size() <= kNarrowIds;
    if (narrow) {
      place_as<Narrow>(columns, first_row, src, dst);
    } else {
      place_as<Wide>(columns, first_row, src, dst);
    }
  }

  EdgeReport finish(const std::string& path) override;
  void finish_records(const std::string& path, std::uint64_t other_bad_lines,
                      std::uint64_t origin) override;

 private:
  template <class Record>
  static Record make(const Columns& columns, std::size_t i, std::uint64_t key,
                     std::uint64_t neighbor, std::uint64_t first_row) {
    using Id = typename Record::Id;
    Record record{};
    record.key = static_cast<Id>(key);
    record.neighbor = static_cast<Id>(neighbor);
    if constexpr (Record::kHasEdge) record.edge = static_cast<Id>(first_row + i);
    if constexpr (Record::kHasWeight) record.weight = columns.weight[i];
    if constexpr (Record::kHasTime) record.time = columns.time[i];
    return record;
  }

  template <class Record>
  void place_as(const Columns& columns, std::uint64_t first_row, std::uint64_t src,
                std::uint64_t dst) {
    const bool drop_loops = options.drop_self_loops && !options.bipartite;
    const auto fill = [&](EdgeBuckets<Narrow>& buckets, std::uint64_t largest,
                          std::span<const std::uint64_t> keys,
                          std::span<const std::uint64_t> neighbors, bool both_ways) {
      buckets.template fill<Record>(largest, [&](auto put) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
          if (drop_loops && keys[i] == neighbors[i]) continue;
          put(make<Record>(columns, i, keys[i], neighbors[i], first_row));
          if (both_ways) put(make<Record>(columns, i, neighbors[i], keys[i], first_row));
        }
      });
    };
    if (!options.directed) {
      fill(out_, std::max(src, dst), columns.src, columns.dst, true);
      return;
    }
    if (with_out) fill(out_, src, columns.src, columns.dst, false);
    if (with_in) fill(in_, dst, columns.dst, columns.src, false);
  }

  template <class Record>
  void append_records(EdgeBuckets<Narrow>& buckets, Direction direction, std::uint64_t num_keys,
                      RecordFileWriter& writer);

  EdgeBuckets<Narrow> out_;
  EdgeBuckets<Narrow> in_;
};

template <class Narrow>
EdgeReport EdgeConverter::TypedEngine<Narrow>::finish(const std::string& path) {
  std::uint64_t num_src = options.num_src_nodes >= 0
                              ? static_cast<std::uint64_t>(options.num_src_nodes)
                              : largest_src.load();
  std::uint64_t num_dst = options.num_dst_nodes >= 0
                              ? static_cast<std::uint64_t>(options.num_dst_nodes)
                              : largest_dst.load();
  if (!options.bipartite) num_src = num_dst = std::max(num_src, num_dst);

  const std::uint64_t kept_rows = num_rows - (options.drop_self_loops ? self_loops.load() : 0);
  IndexShape shape;
  shape.num_entries = options.directed ? kept_rows : 2 * kept_rows;
  shape.id_width = id_width_for(std::max(num_src, num_dst));
  shape.edge_id_width = id_width_for(num_rows);
  shape.weights = options.weights;
  shape.times = options.times;
  shape.drop_duplicates = options.drop_duplicates;

  GlWriter writer(path);
  EdgeReport report;
  out_.close();
  in_.close();
  const auto add_index = [&](Direction direction, EdgeBuckets<Narrow>& buckets,
                             std::uint64_t num_nodes, std::uint64_t num_neighbors) {
    shape.direction = direction;
    shape.num_nodes = num_nodes;
    shape.edge_ids = options.edge_ids && !is_identity(direction);
    IndexOutput output(writer, shape, options.temporary_folder);
    const BucketWriterOptions writing = {plan.sort, plan.block, plan.parked,
                                         bits_below(num_neighbors), bits_below(num_rows)};
    if (buckets.has_wide()) {
      write_buckets<Wide>(buckets, buckets.take(num_nodes), output, writing, done_entries);
    } else {
      write_buckets<Narrow>(buckets, buckets.take(num_nodes), output, writing, done_entries);
    }
    output.finish();
    report.num_edges = output.num_entries();
    report.num_duplicates = output.num_duplicates();
  };
  if (with_out) add_index(Direction::kOut, out_, num_src, num_dst);
  if (with_in) add_index(Direction::kIn, in_, num_dst, num_src);

  GlInfo info;
  info.directed = options.directed;
  info.bipartite = options.bipartite;
  // Without edge ids, positions are all there is to number edges by.
  const std::uint64_t num_input =
      options.edge_ids || !options.directed ? num_rows : report.num_edges;
  info.counts = {num_src, num_dst, report.num_edges, num_input};
  writer.finish(info);

  report.num_rows = num_rows;
  report.num_lines = num_lines;
  report.bad_lines = bad_lines;
  report.num_self_loops = self_loops;
  report.num_src_nodes = num_src;
  report.num_dst_nodes = num_dst;
  report.smallest_id = num_rows > 0 ? smallest.load() : 0;
  report.largest_id =
      std::max<std::uint64_t>(std::max(largest_src.load(), largest_dst.load()), 1) - 1;
  report.spilled_bytes = memory.spilled.size();
  return report;
}

template <class Narrow>
template <class Record>
void EdgeConverter::TypedEngine<Narrow>::append_records(EdgeBuckets<Narrow>& buckets,
                                                        Direction direction, std::uint64_t num_keys,
                                                        RecordFileWriter& writer) {
  auto sorted = buckets.take_as_filled(num_keys);
  std::vector<Record> buffer;
  writer.begin(direction, sorted.shift);
  for (std::vector<RecordBlock>& blocks : sorted.buckets) {
    buckets.will_need(blocks);
    for (RecordBlock& block : blocks) {
      writer.append(std::as_bytes(buckets.template view<Record>(block, buffer)));
      buckets.release(block);
    }
    writer.end_bucket();
  }
  writer.end();
}

template <class Narrow>
void EdgeConverter::TypedEngine<Narrow>::finish_records(const std::string& path,
                                                        std::uint64_t other_bad_lines,
                                                        std::uint64_t origin) {
  out_.close();
  in_.close();
  const bool wide = out_.has_wide() || in_.has_wide();
  RecordFields fields;
  fields.kinds = (Narrow::kHasEdge ? kRecordEdges : 0) | (options.weights ? kRecordWeights : 0) |
                 (options.times ? kRecordTimes : 0) | (wide ? kRecordWide : 0);
  fields.record_size = static_cast<std::uint32_t>(wide ? sizeof(Wide) : sizeof(Narrow));
  fields.num_rows = num_rows;
  fields.num_lines = num_lines;
  fields.num_bad_lines = bad_lines.count + other_bad_lines;
  fields.num_self_loops = self_loops;
  fields.num_src_ids = largest_src;
  fields.num_dst_ids = largest_dst;
  fields.smallest_id = smallest;
  fields.spilled_bytes = memory.spilled.size();
  fields.origin = origin;
  RecordFileWriter writer(path, fields.record_size);
  const auto add_index = [&](Direction direction, EdgeBuckets<Narrow>& buckets,
                             std::uint64_t num_keys) {
    if (wide) {
      append_records<Wide>(buckets, direction, num_keys, writer);
    } else {
      append_records<Narrow>(buckets, direction, num_keys, writer);
    }
  };
  const std::uint64_t largest = std::max(largest_src.load(), largest_dst.load());
  if (with_out) add_index(Direction::kOut, out_, options.directed ? largest_src.load() : largest);
  if (with_in) add_index(Direction::kIn, in_, largest_dst);
  writer.finish(fields);
}

namespace {

constexpr std::uint64_t kLeastMemory = 32'000'000;

}  // namespace

EdgeConverter::EdgeConverter(const EdgeConverterOptions& options) {
  if (options.bipartite && !options.directed) {
    throw std::invalid_argument("a bipartite graph is directed: its two sides have different ids");
  }
  if (options.directed && !options.out_index && !options.in_index) {
    throw std::invalid_argument("a graph needs an out or an in index");
  }
  if (options.memory < kLeastMemory) {
    throw std::invalid_argument(
        concat("memory: expected at least 32 MB, found ", options.memory, " bytes"));
  }
  if (!options.edge_ids && (!options.directed || (options.out_index && options.in_index))) {
    throw std::invalid_argument(
        "edge ids can be left out of a directed graph with one index only: they tell which entries "
        "belong together");
  }
  engine_ = with_record(options.edge_ids, options.weights, options.times,
                        [&]<class Narrow>() -> std::unique_ptr<Engine> {
                          return std::make_unique<TypedEngine<Narrow>>(options);
                        });
}

EdgeConverter::~EdgeConverter() = default;

EdgeConverter::Done EdgeConverter::done() const {
  const std::uint64_t num_ids = std::max(engine_->largest_src.load(), engine_->largest_dst.load());
  return {engine_->done_text, engine_->done_rows, engine_->done_entries,
          num_ids == 0 ? 0 : num_ids - 1};
}

std::uint64_t EdgeConverter::add_text(const TextInput& input, std::uint64_t begin,
                                      std::uint64_t lines_before, const TextFormat& format,
                                      const EdgeColumns& columns) {
  Engine& engine = *engine_;
  PieceCounts counts;
  std::map<std::size_t, std::pair<BadLines, std::uint64_t>> bad_by_piece;  // and lines before it
  const std::uint64_t rows_before = engine.num_rows;
  const std::uint64_t longest = longest_line(engine.options.memory / 16);
  for_each_piece(input, begin, static_cast<std::size_t>(engine.plan.piece), longest,
                 [&](const TextPiece& piece) {
                   static thread_local ParsedEdges edges;
                   PieceCounts::Counts before;
                   try {
                     parse_edges(piece.text, format, columns, engine.options.skip_bad_lines, edges);
                   } catch (const BadLineError& error) {
                     before = counts.fail(piece.index);
                     BadLine bad = error.bad;
                     bad.line += lines_before + before.lines;
                     refuse_line(input.name(), bad);
                   } catch (...) {
                     counts.abandon(piece.index);
                     throw;
                   }
                   if (piece.before_long_line) {
                     before = counts.fail(piece.index);
                     refuse_long_line(input.name(), lines_before + before.lines + edges.lines + 1,
                                      longest);
                   }
                   before = counts.publish(piece.index, {edges.count, edges.lines});
                   if (edges.bad.count > 0) {
                     const std::lock_guard lock(engine.mutex);
                     engine.bad_lines.count += std::exchange(edges.bad.count, 0);
                     bad_by_piece[piece.index] = {std::move(edges.bad), before.lines};
                     // So many pieces before it have enough.
                     if (bad_by_piece.size() > kMaxBadLines)
                       bad_by_piece.erase(std::prev(bad_by_piece.end()));
                   }
                   const auto part = [&](const auto& column) {
                     return std::span(column).first(column.empty() ? 0 : edges.count);
                   };
                   engine.place({part(edges.src), part(edges.dst),
                                 columns.weight ? part(edges.weight) : std::span<const float>(),
                                 columns.time ? part(edges.time) : std::span<const std::int64_t>()},
                                rows_before + before.rows);
                   engine.done_text += piece.text.size();
                 });
  engine.num_rows += counts.total().rows;
  engine.num_lines += counts.total().lines;
  for (auto& [index, part] : bad_by_piece)
    engine.bad_lines.join(std::move(part.first), lines_before + part.second);
  return counts.total().lines;
}

void EdgeConverter::add_edges(std::span<const NodeId> src, std::span<const NodeId> dst,
                              std::span<const float> weight, std::span<const std::int64_t> time) {
  Engine& engine = *engine_;
  const auto expect_length = [&](const char* what, std::size_t found, bool wanted) {
    const std::size_t expected = wanted ? src.size() : 0;
    if (found != expected) {
      throw std::invalid_argument(concat(what, ": expected ", expected, " items",
                                         wanted ? ", as many as src has" : "", ", found ", found));
    }
  };
  expect_length("dst", dst.size(), true);
  expect_length("weight", weight.size(), engine.options.weights);
  expect_length("time", time.size(), engine.options.times);
  const std::uint64_t rows_before = engine.num_rows;
  constexpr std::size_t kBatch = 1 << 16;
  parallel_chunks(src.size(), kBatch, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto check_id = [&](const char* what, NodeId id) {
        if (!is_possible_id(id)) {
          throw std::out_of_range(concat("edge ", rows_before + i, ": expected a ", what,
                                         " id from 0 to 2^59 - 1, found ", id));
        }
      };
      check_id("source", src[i]);
      check_id("destination", dst[i]);
      if (!weight.empty() && !(std::isfinite(weight[i]) && weight[i] >= 0)) {
        throw std::invalid_argument(
            concat("edge ", rows_before + i,
                   ": expected a weight that is finite and not negative, found ", weight[i]));
      }
    }
    const auto ids = [&](std::span<const NodeId> column) {
      return std::span(reinterpret_cast<const std::uint64_t*>(column.data()) + begin, end - begin);
    };
    engine.place({ids(src), ids(dst), weight.empty() ? weight : weight.subspan(begin, end - begin),
                  time.empty() ? time : time.subspan(begin, end - begin)},
                 rows_before + begin);
  });
  engine.num_rows += src.size();
}

EdgeReport EdgeConverter::finish(const std::string& path) { return engine_->finish(path); }

void EdgeConverter::finish_records(const std::string& path, std::uint64_t other_bad_lines,
                                   std::uint64_t origin) {
  engine_->finish_records(path, other_bad_lines, origin);
}

}  // namespace gz
