// An empty cache folder in the working folder, named by the environment, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

namespace gz {

class ScratchCache {
 public:
  ScratchCache() : folder_(std::filesystem::absolute("gz_tests.cache").string()) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (const char* const value = ::getenv(kVariables[i])) before_[i] = value;
    }
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    ::setenv(kVariables[0], folder_.c_str(), 1);
  }
  ~ScratchCache() {
    std::filesystem::remove_all(folder_);
    for (std::size_t i = 0; i < 2; ++i) {
      if (before_[i]) {
        ::setenv(kVariables[i], before_[i]->c_str(), 1);
      } else {
        ::unsetenv(kVariables[i]);
      }
    }
  }
  ScratchCache(const ScratchCache&) = delete;
  ScratchCache& operator=(const ScratchCache&) = delete;

  const std::string& folder() const { return folder_; }
  std::string file(const std::string& name) const { return folder_ + "/graphzero/" + name; }

 private:
  static constexpr const char* kVariables[] = {"XDG_CACHE_HOME", "HOME"};
  std::string folder_;
  std::optional<std::string> before_[2];
};

}  // namespace gz
