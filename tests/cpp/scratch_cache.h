// An empty cache folder in the working folder, named by the environment, removed at the end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/process.h"
#include "tests/cpp/platform.h"

namespace gz {

class ScratchCache {
 public:
  ScratchCache() : folder_(std::filesystem::absolute("gz_tests.cache").string()) {
    for (std::size_t i = 0; i < kCount; ++i) before_[i] = environment_variable(kVariables[i]);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    test::set_variable(kVariables[test::kIsWindows ? 2 : 0], folder_.c_str());
  }
  ~ScratchCache() {
    std::filesystem::remove_all(folder_);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (before_[i]) {
        test::set_variable(kVariables[i], before_[i]->c_str());
      } else {
        test::unset_variable(kVariables[i]);
      }
    }
  }
  ScratchCache(const ScratchCache&) = delete;
  ScratchCache& operator=(const ScratchCache&) = delete;

  const std::string& folder() const { return folder_; }
  std::string file(const std::string& name) const { return folder_ + "/graphzero/" + name; }

 private:
  static constexpr std::size_t kCount = 3;
  static constexpr const char* kVariables[kCount] = {"XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"};
  std::string folder_;
  std::optional<std::string> before_[kCount];
};

}  // namespace gz
