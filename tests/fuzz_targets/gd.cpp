// The container and the .gd on it.
#include "tests/fuzz_targets/container_mutator.h"
#include "tests/fuzz_targets/use_features.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gz::fuzz::use_one_thread();
  const gz::fuzz::InputFile file(std::as_bytes(std::span(data, size)));
  gz::fuzz::use_features(file.path());
  return 0;
}
