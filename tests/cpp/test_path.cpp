#include "core/base/path.h"
#include "core/base/temporary_name.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"

namespace gz {
namespace {

TEST(a_path_is_a_folder_and_a_name) {
  EXPECT(folder_of("g.gl") == "." && name_of("g.gl") == "g.gl");
  EXPECT(folder_of("a/g.gl") == "a" && name_of("a/g.gl") == "g.gl");
  EXPECT(folder_of("/g.gl") == "/" && name_of("/g.gl") == "g.gl");
  EXPECT(folder_of("a//g.gl") == "a/" && name_of("a//g.gl") == "g.gl");
}

TEST(a_path_of_windows_has_drives_and_two_separators) {
  if (!test::kIsWindows) SKIP("these are names of files elsewhere");
  EXPECT(folder_of("a\\g.gl") == "a" && name_of("a\\g.gl") == "g.gl");
  EXPECT(folder_of("a\\b/g.gl") == "a\\b" && name_of("a\\b/g.gl") == "g.gl");
  EXPECT(folder_of("C:\\g.gl") == "C:\\" && name_of("C:\\g.gl") == "g.gl");
  EXPECT(folder_of("C:g.gl") == "C:." && name_of("C:g.gl") == "g.gl");
}

TEST(a_temporary_name_is_that_of_one_target) {
  const std::string name = name_of(temporary_path("a/g.gl"));
  EXPECT(folder_of(temporary_path("a/g.gl")) == "a");
  EXPECT(is_temporary_name(name, "g.gl"));
  EXPECT(is_temporary_name(name, "elsewhere/g.gl"));
  EXPECT(!is_temporary_name(name, "g"));
  EXPECT(!is_temporary_name(name, "gl"));
  EXPECT(!is_temporary_name("g.gl", "g.gl"));
  EXPECT(temporary_path("g.gl") != temporary_path("g.gl"));
}

}  // namespace
}  // namespace gz
