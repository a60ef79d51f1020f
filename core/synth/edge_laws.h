// Which nodes a synthetic edge joins: one small type per law, each a function of the edge's number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/random.h"
#include "core/synth/node_places.h"

namespace gz {

// The ends of an edge, as places.
struct PlacePair {
  std::uint64_t src;
  std::uint64_t dst;
};

// Classes are residues of places: place p has class p % classes, and rank p / classes within it.
// Low ranks are popular. A rank is size * u^skew rounded down, with u uniform: the share of the
// first r of `size` ranks is (r / size)^(1 / skew). Degrees then have a tail of exponent
// (2 skew - 1) / (skew - 1): 3 for skew 2, 2.5 for skew 3; with skew 1 all ranks are alike.
class RankedClasses {
 public:
  RankedClasses(std::uint64_t num_nodes, std::uint64_t classes, int skew)
      : classes_(classes),
        smallest_(num_nodes / classes),
        larger_(num_nodes % classes),
        skew_(skew) {}

  // A place of this class.
  std::uint64_t draw(Rng& rng, std::uint64_t of_class) const {
    const double u = rng.uniform();
    auto share = static_cast<double>(smallest_ + (of_class < larger_ ? 1 : 0));
    for (int i = 0; i < skew_; ++i) share *= u;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(share)) * classes_ + of_class;
  }

 private:
  std::uint64_t classes_;
  std::uint64_t smallest_;  // nodes of a class; the first `larger_` classes have one more
  std::uint64_t larger_;
  int skew_;
};

// A degree-corrected block model (Karrer, Newman: Stochastic Blockmodels and Community Structure in
// Networks, Phys. Rev. E 2011) whose degrees follow RankedClasses. The source's class is uniform;
// the destination has the same with probability `homophily`, and else any class. The two sides may
// be different kinds of node.
class BlockLaw {
 public:
  BlockLaw(Key key, std::uint64_t num_src_nodes, std::uint64_t num_dst_nodes, std::uint64_t classes,
           int skew, double homophily)
      : key_(key),
        src_(num_src_nodes, classes, skew),
        dst_(num_dst_nodes, classes, skew),
        classes_(classes),
        homophily_(homophily) {}

  PlacePair operator()(std::uint64_t edge) const {
    Rng rng(key_.with(edge));
    const std::uint64_t from = rng.below(classes_);
    const std::uint64_t src = src_.draw(rng, from);
    const bool stays = rng.uniform() < homophily_;
    // Drawn in either case: a branch on a coin costs more.
    const std::uint64_t any = rng.below(classes_);
    return {src, dst_.draw(rng, stays ? from : any)};
  }

 private:
  Key key_;
  RankedClasses src_, dst_;
  std::uint64_t classes_;
  double homophily_;
};

// R-MAT (Chakrabarti, Zhan, Faloutsos: R-MAT: A Recursive Model for Graph Mining, SDM 2004) with
// Graph500's odds 0.57, 0.19, 0.19, 0.05, each rounded to a multiple of 2^-16. Over the next power
// of two; an edge with an end beyond `num_nodes` is drawn again.
class RmatLaw {
 public:
  RmatLaw(Key key, std::uint64_t num_nodes)
      : key_(key),
        num_nodes_(num_nodes),
        levels_(static_cast<int>(std::bit_width(num_nodes - 1))) {}

  PlacePair operator()(std::uint64_t edge) const {
    Rng rng(key_.with(edge));
    for (;;) {
      PlacePair ends{0, 0};
      for (int level = 0; level < levels_; level += 4) {
        std::uint64_t bits = rng.next();
        for (int i = level; i < std::min(level + 4, levels_); ++i, bits >>= 16) {
          const std::uint64_t draw = bits & 0xffff;
          const std::uint64_t lower = draw >= kUpperLeft + kSide;
          const std::uint64_t beyond = draw >= kUpperLeft;
          const std::uint64_t last = draw >= kUpperLeft + 2 * kSide;
          ends.src = ends.src << 1 | lower;
          ends.dst = ends.dst << 1 | ((beyond ^ lower) | last);
        }
      }
      if (ends.src < num_nodes_ && ends.dst < num_nodes_) return ends;
    }
  }

 private:
  static constexpr std::uint64_t kUpperLeft = 37356;  // 0.57 * 2^16
  static constexpr std::uint64_t kSide = 12452;       // 0.19 * 2^16

  Key key_;
  std::uint64_t num_nodes_;
  int levels_;
};

// Preferential attachment (Barabási, Albert: Emergence of Scaling in Random Networks, Science
// 1999), any edge by itself: Sanders, Schulz: Scalable Generation of Scale-free Graphs, Inf.
// Process. Lett. 2016. Position 2e of a list holds the source of edge e, position 2e + 1 a copy of
// a uniform earlier position, so that a node is met in proportion to its degree. Places are ages;
// each node brings num_edges / num_nodes edges, the first ones one more.
class AttachmentLaw {
 public:
  AttachmentLaw(Key key, std::uint64_t num_nodes, std::uint64_t num_edges)
      : key_(key),
        fewer_(num_edges / num_nodes),
        richer_(num_edges % num_nodes),
        richer_edges_(richer_ * (fewer_ + 1)) {}

  PlacePair operator()(std::uint64_t edge) const {
    std::uint64_t position = 2 * edge + 1;
    do position = Rng(key_.with(position)).below(position);
    while (position % 2 == 1);
    return {source(edge), source(position / 2)};
  }

 private:
  std::uint64_t source(std::uint64_t edge) const {
    if (edge < richer_edges_) return edge / (fewer_ + 1);
    return richer_ + (edge - richer_edges_) / fewer_;
  }

  Key key_;
  std::uint64_t fewer_;
  std::uint64_t richer_;  // nodes with one edge more
  std::uint64_t richer_edges_;
};

}  // namespace gz
