// Proves what opening does not: checksums and every O(edges) invariant of a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gz {

struct Check {
  std::string name;  // what ought to hold
  std::string
      problem;  // empty if it does; else where it first does not, what was expected, what found
};

// How far a verification has come, for whoever watches from another thread: bytes whose checksum
// was formed, and bytes of lists whose entries were looked at.
struct VerifyProgress {
  std::atomic<std::uint64_t> bytes{0};
};

// All checks that apply, in a fixed order; those that rest on one that failed are left out. Reads
// the file twice in order, in O(1) memory, but for a row map: a bit per row. Throws IoError, or
// FormatError if not even the header is right.
std::vector<Check> verify_graph(const std::string& path, VerifyProgress& progress);
std::vector<Check> verify_features(const std::string& path, VerifyProgress& progress);
std::vector<Check> verify_ids(const std::string& path, VerifyProgress& progress);

}  // namespace gz
