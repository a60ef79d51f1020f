#include "core/store/weighted_draw.h"

#include "core/base/error.h"

namespace gz {

void WeightedDraw::refuse(EdgeRange list) const {
  graph_->mapping()->check_intact();
  throw FormatError(graph_->path(), "corrupt weights at entries ", list.begin, " to ", list.end - 1,
                    ": their stored sums and their weights do not agree");
}

}  // namespace gz
