// The parts of an index, or of two, put together as one ordinary .gl.
#pragma once

#include <string>
#include <vector>

#include "core/convert/record_set.h"

namespace gz {

// Parts of each index in order; none of an index that the conversion does not have. The file is the
// one that EdgeConverter writes of the same input, byte for byte. Throws FormatError if a part is
// damaged or not the next one.
EdgeReport assemble_graph(const RecordSet& records, const std::vector<std::string>& out_parts,
                          const std::vector<std::string>& in_parts, const std::string& path);

}  // namespace gz
