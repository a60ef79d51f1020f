// Files of GraphZero 0.2, which have no checksums.
#include "core/base/hash.h"
#include "tests/fuzz_targets/use_features.h"
#include "tests/fuzz_targets/use_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gz::fuzz::use_one_thread();
  const auto bytes = std::as_bytes(std::span(data, size));
  const gz::fuzz::InputFile file(bytes);
  gz::fuzz::use_graph(file.path(), gz::xxh64(bytes));
  gz::fuzz::use_features(file.path());
  return 0;
}
