// What an earlier process left in the cache folder about the cost of reads.
#include "core/gather/read_cost.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz_targets/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string folder = [] {
    const std::string made = std::filesystem::temp_directory_path();
    ::setenv("XDG_CACHE_HOME", made.c_str(), 1);
    std::filesystem::create_directories(made + "/graphzero");
    return made + "/graphzero";
  }();
  std::ofstream(folder + "/read_cost", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  constexpr std::int64_t kNow = 1'700'000'000;
  const auto gap_of = [](std::uint64_t device) {
    const auto cost = gz::remembered_cost(device, kNow);
    return cost ? cost->gap() : 0;
  };
  const std::uint64_t before = gap_of(1);
  gz::remember_cost(2, {}, kNow);
  gz::fuzz::require(gap_of(1) == before, "another cost after one was added");
  gz::fuzz::require(gap_of(2) == gz::ReadCost{}.gap(), "a cost that was not kept");
  return 0;
}
