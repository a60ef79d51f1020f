#include <filesystem>
#include <fstream>

#include "core/base/cache_file.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_cache.h"

namespace gz {
namespace {

TEST(a_cache_file_is_what_was_written_last) {
  const ScratchCache cache;
  EXPECT(!read_cache_file("name"));
  write_cache_file("name", "first and longer");
  write_cache_file("name", "second");
  EXPECT(read_cache_file("name") == "second");
  EXPECT(std::filesystem::exists(cache.file("name")));
}

TEST(without_an_absolute_cache_folder_it_lies_in_the_home_folder) {
  if (test::kIsWindows) SKIP("Windows has one variable for it, LOCALAPPDATA");
  const ScratchCache cache;
  test::set_variable("XDG_CACHE_HOME", "somewhere");
  test::set_variable("HOME", cache.folder().c_str());
  write_cache_file("name", "text");
  EXPECT(read_cache_file("name") == "text");
  EXPECT(std::filesystem::exists(cache.folder() + "/.cache/graphzero/name"));
  test::unset_variable("HOME");
  write_cache_file("name", "lost");
  EXPECT(!read_cache_file("name"));
}

TEST(a_cache_folder_that_cannot_be_used_is_no_error) {
  const ScratchCache cache;
  std::ofstream(cache.folder() + "/graphzero") << "a file where the folder would be";
  write_cache_file("name", "text");
  EXPECT(!read_cache_file("name"));
}

TEST(a_cache_file_that_is_too_long_is_not_read) {
  const ScratchCache cache;
  write_cache_file("name", std::string(64 << 10, 'x'));
  EXPECT(read_cache_file("name")->size() == 64 << 10);
  write_cache_file("name", std::string((64 << 10) + 1, 'x'));
  EXPECT(!read_cache_file("name"));
}

}  // namespace
}  // namespace gz
