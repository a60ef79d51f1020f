#include "core/pipeline/pipeline.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/one_thread.h"
#include "bindings/sampling_structs.h"
#include "core/base/error.h"
#include "core/base/process.h"
#include "core/pipeline/plan.h"

namespace gz {

using namespace nb::literals;

namespace {

struct LinkSeedsIn {
  std::size_t src_type;
  std::size_t dst_type;
  std::optional<std::size_t> relation;
  Int64Array src;
  Int64Array dst;
  OptionalArray times;
  LinkNegativeOptions negatives;
  bool exclude;
};

struct HostRowsOut {
  nb::object values;
  nb::object slots;
  nb::object places;
};

struct BatchOut {
  std::uint64_t number;
  std::vector<NodesOut> types;
  std::vector<EdgesOut> relations;
  nb::object input_id;
  nb::object src;
  nb::object dst;
  nb::list rows;  // of each attribute: an array, or HostRows
};

using EndsArray = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>;

nb::object id_array(IdArray& ids) {
  using Array = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
  return nb::cast(Array(ids.data, {ids.count}, owner(std::move(ids.memory))));
}

// A pipeline and the arrays it reads: graphs and features are kept by nanobind. One thread at a
// time changes it or takes batches; others may read() meanwhile.
class KeptPipeline {
 public:
  KeptPipeline(std::optional<NodeSeedsIn> nodes, std::optional<LinkSeedsIn> links,
               std::vector<NodeTypeIn> types, const std::vector<RelationIn>& relations,
               std::vector<Attribute> attributes, PipelineOptions options)
      : nodes_(std::move(nodes)),
        links_(std::move(links)),
        types_(std::move(types)),
        attributes_(std::move(attributes)) {
    SamplerOptions& sampler = options.sampler;
    if (nodes_) {
      sampler.seeds =
          NodeSeeds{nodes_->type, nodes_->ids ? std::optional(as_span(*nodes_->ids)) : std::nullopt,
                    span_or_empty(nodes_->times)};
    } else {
      sampler.seeds =
          LinkSeeds{links_->src_type,     links_->dst_type,     links_->relation,
                    as_span(links_->src), as_span(links_->dst), span_or_empty(links_->times),
                    links_->negatives,    links_->exclude};
    }
    for (const NodeTypeIn& type : types_) {
      sampler.num_nodes.push_back(type.num_nodes);
      sampler.node_times.push_back(span_or_empty(type.times));
    }
    for (const RelationIn& relation : relations)
      sampler.relations.push_back(relation.without_excluded());
    options.attributes = attributes_;
    pipeline_ = without_gil([&] { return std::make_unique<Pipeline>(std::move(options)); });
    const SamplerOptions& sampling = pipeline_->sampling();
    disjoint_ = sampling.sampling.disjoint;
    direction_ = sampling.sampling.direction;
    for (const Relation& relation : sampling.relations)
      graphs_of_ids_.push_back(graph_of_ids(relation, sampling.sampling));
  }
  ~KeptPipeline() {
    without_gil([&] { pipeline_.reset(); });
  }

  // Runs body(pipeline), which ends the iteration that is under way.
  template <class Body>
  void change(Body&& body) {
    const OneAtATime::Call call(calls_);
    std::recursive_mutex& mutex = state_mutex();
    without_gil([&] {
      const std::lock_guard lock(mutex);
      turn_ = kNoTurn;
      body(*pipeline_);
    });
  }

  // Runs body(pipeline), which changes nothing, also beside next(); it waits for an epoch that is
  // being begun.
  template <class Body>
  auto read(Body&& body) {
    std::recursive_mutex& mutex = state_mutex();
    return without_gil([&] {
      const std::lock_guard lock(mutex);
      return body(*pipeline_);
    });
  }

  // Returns whose turn it is now.
  std::uint64_t start(std::uint64_t epoch, std::uint64_t first, std::uint64_t stride) {
    std::uint64_t turn = kNoTurn;
    change([&](Pipeline& pipeline) {
      pipeline.start(epoch, first, stride);
      turn_ = turn = ++num_turns_;
    });
    return turn;
  }

  // Whoever's turn it is goes on with the next batch.
  void set_device_room(const std::vector<std::uint64_t>& bytes) {
    if (bytes.size() != attributes_.size()) {
      throw std::invalid_argument(concat("bytes: expected one for each of ", attributes_.size(),
                                         " attributes, found ", bytes.size()));
    }
    const std::uint64_t turn = turn_;
    change([&](Pipeline& pipeline) {
      pipeline.set_device_room(bytes);
      turn_ = turn;
    });
  }

  void prepare() {
    const std::uint64_t turn = turn_;
    change([&](Pipeline& pipeline) {
      pipeline.prepare();
      turn_ = turn;
    });
  }

  // Ends the iteration that `turn` stands for, if that is under way.
  void end(std::uint64_t turn) {
    if (turn == turn_) change([](Pipeline& pipeline) { pipeline.stop(); });
  }

  std::vector<NodesOut> nodes_of(Batch& batch) const {
    std::vector<NodesOut> result;
    for (BatchNodes& type : batch.types) {
      const nb::object trees = disjoint_ ? id_array(type.trees) : nb::object(nb::none());
      result.push_back({id_array(type.nodes), trees, {type.per_hop.begin(), type.per_hop.end()}});
    }
    return result;
  }

  std::vector<EdgesOut> edges_of(Batch& batch) const {
    std::vector<EdgesOut> result;
    for (std::size_t r = 0; r < batch.relations.size(); ++r) {
      BatchEdges& relation = batch.relations[r];
      const std::size_t count = relation.edges.count;
      const nb::object ends = nb::cast(
          EndsArray(relation.ends.data, {2, count}, owner(std::move(relation.ends.memory))));
      result.push_back({ends[nb::int_(0)],
                        ends[nb::int_(1)],
                        ends,
                        {relation.per_hop.begin(), relation.per_hop.end()},
                        id_array(relation.edges),
                        graphs_of_ids_[r],
                        direction_});
    }
    return result;
  }

  // None behind the last batch, False if it is no longer this one's turn.
  nb::object next(std::uint64_t turn) {
    std::optional<Batch> batch;
    {
      const OneAtATime::Call call(calls_);
      if (turn != turn_) return nb::bool_(false);
      batch = without_gil([&] { return pipeline_->next(); });
    }
    if (!batch) return nb::none();
    nb::list rows;
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const Attribute& attribute = attributes_[a];
      const GdLayout& layout = attribute.features->layout();
      std::vector<std::size_t> shape(layout.shape.begin(), layout.shape.end());
      if (attribute.with_scales) shape = {0, attribute.features->row_bytes() + sizeof(float)};
      shape[0] = batch->rows[a].count;
      BatchRows& found = batch->rows[a];
      const AnyArray values(found.data, shape.size(), shape.data(), owner(std::move(found.memory)),
                            nullptr, dlpack_dtype(attribute.wanted.value_or(layout.dtype)));
      if (!found.device_index) {
        rows.append(values);
      } else {
        rows.append(HostRowsOut{nb::cast(values),
                                nb::cast(owned_array(std::move(found.device_index->slots))),
                                nb::cast(owned_array(std::move(found.device_index->places)))});
      }
    }
    SampledBatch& sampled = batch->sampled;
    return nb::cast(BatchOut{batch->number, nodes_of(*batch), edges_of(*batch),
                             nb::cast(owned_array(std::move(sampled.input_ids))),
                             nb::cast(owned_array(std::move(sampled.src))),
                             nb::cast(owned_array(std::move(sampled.dst))), rows});
  }

 private:
  static constexpr std::uint64_t kNoTurn = 0;

  // Recursive, since a signal handler may read what it interrupted. Needs the GIL.
  std::recursive_mutex& state_mutex() {
    if (const long here = process_id(); process_ != here) {
      // A thread that did not come along into this child may hold it for ever.
      static_cast<void>(state_mutex_.release());
      state_mutex_ = std::make_unique<std::recursive_mutex>();
      process_ = here;
    }
    return *state_mutex_;
  }

  OneAtATime calls_{"Pipeline"};
  std::uint64_t num_turns_ = 0;
  std::atomic<std::uint64_t> turn_{kNoTurn};
  std::unique_ptr<std::recursive_mutex> state_mutex_ = std::make_unique<std::recursive_mutex>();
  long process_ = process_id();  // that state_mutex_ belongs to
  std::optional<NodeSeedsIn> nodes_;
  std::optional<LinkSeedsIn> links_;
  std::vector<NodeTypeIn> types_;
  std::vector<Attribute> attributes_;
  bool disjoint_ = false;
  Direction direction_ = Direction::kIn;
  std::vector<nb::object> graphs_of_ids_;  // by relation
  std::unique_ptr<Pipeline> pipeline_;     // goes first
};

nb::dict memory_of(const PipelineStats& stats) {
  nb::dict memory;
  memory["budget"] = stats.memory;
  memory["cache"] = stats.cache_bytes;
  memory["ahead"] = stats.held.window_bytes;
  memory["reads"] = stats.held.sweep_bytes;
  memory["batches"] = stats.output_bytes;
  memory["working"] = stats.plan.budget.working;
  return memory;
}

nb::dict plan_of(const Plan& plan) {
  nb::dict result;
  result["cache"] = plan.budget.cache;
  result["ahead"] = plan.budget.window;
  result["outputs"] = plan.budget.num_outputs;
  result["batches_ahead"] = plan.ahead.most_batches;
  result["samplers"] = plan.budget.samplers;
  result["draws_again"] = plan.ahead.draws_again;
  result["misses"] = plan.misses;
  result["read_bytes"] = plan.read_bytes;
  result["read_seconds"] = plan.read_seconds;
  result["thread_seconds"] = plan.thread_seconds;
  result["seconds_per_read"] = plan.read_cost.per_read;
  result["seconds_per_byte"] = plan.read_cost.per_byte;
  return result;
}

nb::dict as_dict(const PipelineStats& stats) {
  nb::dict result;
  const RunCounts& counts = stats.counts;
  result["batches"] = counts.batches;
  result["rows"] = counts.rows;
  result["on_device_rows"] = counts.on_device_rows;
  result["mapped_rows"] = counts.mapped_rows;
  result["cached_rows"] = counts.cached_rows;
  result["late_rows"] = counts.sweep.left_out;
  result["dropped_rows"] = counts.sweep.dropped;
  result["shared_rows"] = counts.sweep.shared;
  result["read_rows"] = counts.sweep.rows;
  result["read_row_bytes"] = counts.sweep.row_bytes;
  result["device_reads"] = counts.sweep.reads;
  result["device_bytes"] = counts.sweep.bytes;
  result["queue_waits"] = counts.sweep.waits;
  result["queued_reads"] = counts.sweep.in_flight;
  result["fill_reads"] = stats.filling.device_reads;
  result["fill_bytes"] = stats.filling.device_bytes;
  result["seconds_sampling"] = counts.sampling;
  result["seconds_assembling"] = counts.assembling;
  result["seconds_reading"] = counts.sweep.busy;
  result["seconds_waited"] = counts.waited;
  result["seconds_away"] = counts.away;
  result["seconds_preparing"] = stats.preparing;
  result["threads"] = stats.plan.budget.threads;
  result["batches_ahead"] = stats.held.batches_ahead;
  result["most_ahead"] = stats.most_ahead;
  result["pinned_bytes"] = stats.pinned_bytes;
  result["memory"] = memory_of(stats);
  result["plan"] = plan_of(stats.plan);
  nb::list sources;
  for (const PipelineStats::Source& source : stats.sources) {
    sources.append(
        nb::make_tuple(nb::cast(source.choice.kind),
                       nb::bytes(source.choice.reason.data(), source.choice.reason.size()),
                       source.cached_rows, source.num_rows));
  }
  result["sources"] = sources;
  return result;
}

// An array for each part of an event, and how many events were dropped.
nb::tuple as_arrays(const StageLog::Events& found) {
  const auto column = [&]<class Item>(Item StageEvent::* part) {
    std::vector<Item> values;
    for (const StageEvent& event : found.events) values.push_back(event.*part);
    return values;
  };
  std::vector<std::uint8_t> stages;
  for (const StageEvent& event : found.events)
    stages.push_back(static_cast<std::uint8_t>(event.stage));
  return nb::make_tuple(owned_array(std::move(stages)), owned_array(column(&StageEvent::thread)),
                        owned_array(column(&StageEvent::number)),
                        owned_array(column(&StageEvent::begin)),
                        owned_array(column(&StageEvent::end)), found.dropped);
}

}  // namespace

void bind_pipeline(nb::module_& m) {
  m.def(
      "epoch_order",
      [](std::uint64_t count, std::uint64_t seed, std::uint64_t epoch, const Int64Array& places) {
        return owned_array(without_gil([&] {
          const EpochOrder order(count, /*shuffle=*/true, seed, epoch);
          std::vector<std::int64_t> items;
          for (const std::int64_t place : as_span(places)) {
            if (place < 0 || static_cast<std::uint64_t>(place) >= count) {
              throw std::out_of_range(
                  concat("places: expected 0 to ", count, " - 1, found ", place));
            }
            items.push_back(static_cast<std::int64_t>(order[static_cast<std::uint64_t>(place)]));
          }
          return items;
        }));
      },
      "count"_a, "seed"_a, "epoch"_a, "places"_a);

  m.def(
      "divide_room",
      [](std::uint64_t room, const std::vector<std::uint64_t>& sizes) {
        std::vector<std::uint64_t> shares(sizes.size());
        divide_room(room, sizes,
                    [&](std::size_t i, std::uint64_t share) { return shares[i] = share; });
        return shares;
      },
      "room"_a, "sizes"_a);

  nb::enum_<Negatives>(m, "Negatives")
      .value("NONE", Negatives::kNone)
      .value("BINARY", Negatives::kBinary)
      .value("TRIPLET", Negatives::kTriplet);

  nb::enum_<Stage>(m, "Stage")
      .value("SAMPLE", Stage::kSample)
      .value("BEGIN", Stage::kBegin)
      .value("ASSEMBLE", Stage::kAssemble)
      .value("READ", Stage::kRead)
      .value("FILL", Stage::kFill);

  nb::class_<PipelineOptions>(m, "PipelineOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "sampling", [](const PipelineOptions& o) { return o.sampler.sampling; },
          [](PipelineOptions& o, const NeighborOptions& s) { o.sampler.sampling = s; })
      .def_prop_rw(
          "batch_size", [](const PipelineOptions& o) { return o.sampler.batch_size; },
          [](PipelineOptions& o, std::uint64_t size) { o.sampler.batch_size = size; })
      .def_prop_rw(
          "shuffle", [](const PipelineOptions& o) { return o.sampler.shuffle; },
          [](PipelineOptions& o, bool shuffle) { o.sampler.shuffle = shuffle; })
      .def_prop_rw(
          "drop_last", [](const PipelineOptions& o) { return o.sampler.drop_last; },
          [](PipelineOptions& o, bool drop) { o.sampler.drop_last = drop; })
      .def_prop_rw(
          "rank", [](const PipelineOptions& o) { return o.sampler.rank; },
          [](PipelineOptions& o, std::uint64_t rank) { o.sampler.rank = rank; })
      .def_prop_rw(
          "world_size", [](const PipelineOptions& o) { return o.sampler.world_size; },
          [](PipelineOptions& o, std::uint64_t size) { o.sampler.world_size = size; })
      .def_prop_rw(
          "drop_uneven", [](const PipelineOptions& o) { return o.sampler.drop_uneven; },
          [](PipelineOptions& o, bool drop) { o.sampler.drop_uneven = drop; })
      .def_rw("reader", &PipelineOptions::reader)
      .def_rw("memory", &PipelineOptions::memory)
      .def_rw("cache", &PipelineOptions::cache)
      .def_rw("ahead", &PipelineOptions::ahead)
      .def_rw("threads", &PipelineOptions::threads)
      .def(
          "pin",
          [](PipelineOptions& o, std::uintptr_t set_context, std::uintptr_t pin,
             std::uintptr_t unpin, std::uintptr_t context) {
            o.pinning = {reinterpret_cast<int (*)(void*)>(set_context),
                         reinterpret_cast<int (*)(void*, std::size_t, unsigned)>(pin),
                         reinterpret_cast<int (*)(void*)>(unpin), reinterpret_cast<void*>(context)};
          },
          "set_context"_a, "pin"_a, "unpin"_a, "context"_a);

  nb::class_<LinkSeedsIn>(m, "LinkSeeds")
      .def(
          "__init__",
          [](LinkSeedsIn* self, std::size_t src_type, std::size_t dst_type,
             std::optional<std::size_t> relation, Int64Array src, Int64Array dst,
             OptionalArray times, Negatives negatives, double amount, const NegativeOptions& law,
             bool exclude) {
            new (self) LinkSeedsIn{src_type,
                                   dst_type,
                                   relation,
                                   std::move(src),
                                   std::move(dst),
                                   std::move(times),
                                   {negatives, amount, law},
                                   exclude};
          },
          "src_type"_a, "dst_type"_a, "relation"_a.none(), "src"_a, "dst"_a, "times"_a.none(),
          "negatives"_a, "amount"_a, "law"_a, "exclude"_a);
  nb::class_<Attribute>(m, "Attribute")
      .def(
          nb::init<const Features*, bool, std::size_t, std::optional<Dtype>, std::uint64_t, bool>(),
          "features"_a, "of_edges"_a, "of"_a, "wanted"_a.none(), "bytes_on_device"_a,
          "with_scales"_a, nb::keep_alive<1, 2>());
  nb::class_<HostRowsOut>(m, "HostRows")
      .def_prop_ro(
          "values", [](const HostRowsOut& rows) { return rows.values; },
          nb::sig("def values(self) -> numpy.typing.NDArray[typing.Any]"))
      .def_prop_ro(
          "slots", [](const HostRowsOut& rows) { return rows.slots; },
          nb::sig("def slots(self) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_ro(
          "places", [](const HostRowsOut& rows) { return rows.places; },
          nb::sig("def places(self) -> numpy.typing.NDArray[numpy.int64]"));
  nb::class_<BatchOut>(m, "Batch")
      .def_ro("number", &BatchOut::number)
      .def_ro("types", &BatchOut::types)
      .def_ro("relations", &BatchOut::relations)
      .def_prop_ro(
          "input_id", [](const BatchOut& batch) { return batch.input_id; },
          nb::sig("def input_id(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "src", [](const BatchOut& batch) { return batch.src; },
          nb::sig("def src(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "dst", [](const BatchOut& batch) { return batch.dst; },
          nb::sig("def dst(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "rows", [](const BatchOut& batch) { return batch.rows; },
          nb::sig("def rows(self) -> list[numpy.typing.NDArray[typing.Any] | HostRows]"));

  nb::class_<KeptPipeline>(m, "Pipeline")
      .def(nb::init<std::optional<NodeSeedsIn>, std::optional<LinkSeedsIn>, std::vector<NodeTypeIn>,
                    const std::vector<RelationIn>&, std::vector<Attribute>, PipelineOptions>(),
           "nodes"_a.none(), "links"_a.none(), "types"_a, "relations"_a, "attributes"_a,
           "options"_a, nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def_prop_ro("num_batches",
                   [](KeptPipeline& p) {
                     return p.read([](Pipeline& pipeline) { return pipeline.num_batches(); });
                   })
      .def("start", &KeptPipeline::start, "epoch"_a, "first"_a, "stride"_a)
      .def("set_device_room", &KeptPipeline::set_device_room, "bytes"_a)
      .def("prepare", &KeptPipeline::prepare)
      .def(
          "arrange",
          [](KeptPipeline& p, const OptionalArray& order, const OptionalArray& batch_sizes,
             std::string order_name) {
            Arrangement arrangement;
            arrangement.order_name = std::move(order_name);
            if (order) arrangement.order.emplace(as_span(*order).begin(), as_span(*order).end());
            if (batch_sizes) {
              arrangement.batch_sizes.emplace(as_span(*batch_sizes).begin(),
                                              as_span(*batch_sizes).end());
            }
            p.change([&](Pipeline& pipeline) { pipeline.arrange(std::move(arrangement)); });
          },
          "order"_a.none(), "batch_sizes"_a.none(), "order_name"_a)
      .def(
          "on_device",
          [](KeptPipeline& p, std::size_t attribute, std::uint64_t begin, std::uint64_t end) {
            return owned_array(p.read([&](Pipeline& pipeline) {
              const RowSet& kept = pipeline.on_device(attribute);
              std::vector<std::int64_t> rows;
              for (std::uint64_t row = begin; row < end; ++row) {
                if (kept.find(row) != RowSet::kNone) rows.push_back(static_cast<std::int64_t>(row));
              }
              return rows;
            }));
          },
          "attribute"_a, "begin"_a, "end"_a)
      .def(
          "num_on_device",
          [](KeptPipeline& p, std::size_t attribute) {
            return p.read(
                [&](Pipeline& pipeline) { return pipeline.on_device(attribute).count(); });
          },
          "attribute"_a)
      .def("is_ready",
           [](KeptPipeline& p) {
             return p.read([](Pipeline& pipeline) { return pipeline.is_ready(); });
           })
      .def(
          "set_seed",
          [](KeptPipeline& p, std::uint64_t seed) {
            p.change([&](Pipeline& pipeline) { pipeline.set_seed(seed); });
          },
          "seed"_a)
      .def(
          "set_memory",
          [](KeptPipeline& p, std::uint64_t memory) {
            p.change([&](Pipeline& pipeline) { pipeline.set_memory(memory); });
          },
          "memory"_a)
      .def("next", &KeptPipeline::next, "turn"_a,
           nb::sig("def next(self, turn: int) -> Batch | bool | None"))
      .def("end", &KeptPipeline::end, "turn"_a)
      .def("stop", [](KeptPipeline& p) { p.change([](Pipeline& pipeline) { pipeline.stop(); }); })
      .def(
          "stats",
          [](KeptPipeline& p) {
            return as_dict(p.read([](Pipeline& pipeline) { return pipeline.stats(); }));
          },
          nb::sig("def stats(self) -> dict[str, typing.Any]"))
      .def(
          "log_stages",
          [](KeptPipeline& p, bool on) {
            p.read([&](Pipeline& pipeline) { pipeline.log_stages(on); });
          },
          "on"_a)
      .def(
          "stages",
          [](KeptPipeline& p) {
            return as_arrays(p.read([](Pipeline& pipeline) { return pipeline.stages(); }));
          },
          nb::sig("def stages(self) -> tuple[typing.Any, ...]"));
}

}  // namespace gz
