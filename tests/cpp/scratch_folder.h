// A new folder among the system's temporary ones, removed at the end with all that is in it.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/base/process.h"

namespace gz {

class ScratchFolder {
 public:
  ScratchFolder() {
    static int count = 0;
    path_ =
        std::filesystem::temp_directory_path() / concat("gz_tests-", process_id(), "-", count++);
    std::filesystem::create_directory(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace gz
