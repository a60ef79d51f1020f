// All that the library does with a mounted .gd, on an input that may hold anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/convert/reorder_features.h"
#include "core/gather/gather.h"
#include "core/store/features.h"
#include "core/store/verify.h"
#include "tests/fuzz_targets/fuzz.h"

namespace gz::fuzz {

inline std::vector<OnlySections::Range> sections_of(const GdLayout& layout) {
  std::vector<OnlySections::Range> ranges = {{layout.data_offset, layout.data_length}};
  if (layout.scale_offset) ranges.push_back({*layout.scale_offset, layout.shape[0] * 4});
  if (layout.row_map) {
    const auto width = static_cast<std::uint64_t>(layout.row_map->width);
    ranges.push_back({layout.row_map->offset, layout.shape[0] * width});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return ranges;
}

// Rows as float32 by `wanted`; empty where that fails.
inline std::optional<std::vector<std::uint8_t>> gathered(Gatherer& gatherer,
                                                         std::span<const std::int64_t> ids,
                                                         ReaderKind wanted,
                                                         std::optional<Dtype> dtype, bool proven) {
  std::vector<std::uint8_t> out;
  const bool done = attempt(proven, [&] {
    const Buffer<std::uint8_t> rows = gatherer.gather(ids, wanted, dtype);
    out.assign(rows.begin(), rows.end());
  });
  return done ? std::optional(std::move(out)) : std::nullopt;
}

inline void gather_all_ways(const Features& features, bool proven) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < std::min<std::int64_t>(features.num_rows(), 40); ++id)
    ids.push_back(id);
  if (features.num_rows() > 40) ids.push_back(features.num_rows() - 1);
  if (!ids.empty()) ids.push_back(ids.front());
  for (const std::int64_t id : ids) attempt(proven, [&] { features.read_row(id); });
  std::vector<float> scales(ids.size());
  attempt(proven, [&] { features.scales_of(ids, scales); });
  Gatherer gatherer(features);
  for (const std::optional<Dtype> dtype :
       {std::optional<Dtype>(), std::optional(Dtype::kFloat32), std::optional(Dtype::kFloat16)}) {
    const auto mapped = gathered(gatherer, ids, ReaderKind::kMmap, dtype, proven);
    for (const ReaderKind wanted : {ReaderKind::kPread, ReaderKind::kDirect, ReaderKind::kAuto}) {
      const auto read = gathered(gatherer, ids, wanted, dtype, proven);
      require(read == mapped, "readers that do not agree");
    }
  }
}

// Rows the other way round, in a new file, which must be sound if the old one was.
inline void reorder(const std::string& path, bool proven) {
  attempt(proven, [&] {
    FeatureReorderer reorderer(path);
    // A row of no bytes may be there any number of times.
    if (reorderer.num_rows() > 4096) return;
    std::vector<std::int64_t> order;
    for (std::uint64_t row = reorderer.num_rows(); row-- > 0;)
      order.push_back(static_cast<std::int64_t>(row));
    const auto places = RowPlaces::in_order(order, order.size(), IdWidth::k4);
    const std::string folder = std::filesystem::temp_directory_path();
    const std::string target = folder + "/reordered.gd";
    reorderer.write(target, places, {reorderer.least_memory(), folder});
    VerifyProgress progress;
    const auto checks = verify_features(target, progress);
    for (const Check& check : checks)
      if (proven) require(check.problem.empty(), "a reordered file that does not verify");
  });
}

inline void use_features(const std::string& path) {
  VerifyProgress progress;
  bool proven = false;
  attempt([&] {
    const auto checks = verify_features(path, progress);
    proven = std::all_of(checks.begin(), checks.end(),
                         [](const Check& check) { return check.problem.empty(); });
  });
  std::optional<Features> features;
  if (!attempt(proven, [&] { features.emplace(path); })) return;
  {
    const OnlySections hidden(features->mapping(), sections_of(features->layout()));
    gather_all_ways(*features, proven);
  }
  reorder(path, proven);
}

}  // namespace gz::fuzz
