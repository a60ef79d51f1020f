#include <filesystem>
#include <thread>

#include "core/base/error.h"
#include "core/base/path_lock.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

bool is_free(const std::string& path) { return PathLock(path, /*wait=*/false).is_held(); }

TEST(a_lock_keeps_others_out_until_it_ends) {
  const ScratchFile scratch(10);
  {
    PathLock lock(scratch.path(), /*wait=*/false);
    EXPECT(lock.is_held());
    EXPECT(!is_free(scratch.path()));
    lock.release();
    EXPECT(!lock.is_held());
    EXPECT(is_free(scratch.path()));
    const PathLock again(scratch.path(), /*wait=*/true);
    EXPECT(again.is_held());
    EXPECT(!is_free(scratch.path()));
  }
  EXPECT(is_free(scratch.path()));
}

TEST(what_is_not_there_is_not_locked) {
  EXPECT(!is_free("gz_tests.none"));
  const std::string message = test::message_of([] { PathLock("gz_tests.none", /*wait=*/true); });
  EXPECT(message.find("cannot lock: No such file or directory") == 0);
}

TEST(who_waits_for_a_folder_that_is_replaced_gets_the_new_one) {
  const std::string path = "gz_tests.locked", old = "gz_tests.replaced";
  std::filesystem::create_directory(path);
  {
    PathLock first(path, /*wait=*/true);
    std::thread waiting([&] {
      for (bool is_there = false; !is_there;) {
        try {
          const PathLock lock(path, /*wait=*/true);
          is_there = lock.is_held();
          EXPECT(!is_free(path));
          EXPECT(!is_free(old));  // the first one has it still
        } catch (const IoError&) {
          // Between the two calls below.
        }
      }
    });
    std::filesystem::rename(path, old);
    std::filesystem::create_directory(path);
    waiting.join();
    first.release();
    EXPECT(is_free(old));
    EXPECT(is_free(path));
  }
  std::filesystem::remove(path);
  std::filesystem::remove(old);
}

}  // namespace
}  // namespace gz
