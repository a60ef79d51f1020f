// The parts of an index, or of two, put together as one ordinary .gl.
#pragma once

#include <string>
#include <vector>

#include "core/convert/edge_converter.h"

namespace gz {

// Parts of each index in order; none of an index that the graph does not have. The file is the one
// that EdgeConverter writes of the same input, byte for byte. Throws FormatError if a part is
// damaged, not the next one or of another graph. The report has rows, edges, nodes and duplicates;
// parts know nothing else of the input.
EdgeReport assemble_graph(const std::vector<std::string>& out_parts,
                          const std::vector<std::string>& in_parts, const std::string& path);

}  // namespace gz
