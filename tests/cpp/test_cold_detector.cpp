// Stretches of reads that request their pages first, or do not.
#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/file.h"
#include "core/store/cold_detector.h"
#include "core/store/page_requests.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

constexpr std::size_t kPages = 2048;

// Reads a byte of every page, in stretches of 512.
class Reads {
 public:
  explicit Reads(const std::string& path)
      : mapping_(std::make_shared<const File>(path), MappedFile::Mode::kReadOnly) {
    mapping_.advise(Advice::kRandom);
  }

  void run(ColdDetector& detector) {
    constexpr std::size_t kStretch = 512;
    for (std::size_t begin = 0; begin < kPages; begin += kStretch) {
      const auto request = [&](std::size_t first, std::size_t last) {
        std::vector<const void*> addresses;
        for (std::size_t i = first; i < last; ++i) addresses.push_back(page(i));
        request_scattered(addresses);
        requested += last - first;
      };
      detector.stretch(begin, begin + kStretch, request, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
          right += *page(i) == ScratchFile::byte_at(i * 4096);
      });
    }
  }

  std::size_t requested = 0;
  std::size_t right = 0;

 private:
  const std::byte* page(std::size_t i) const { return mapping_.data() + i * 4096; }
  MappedFile mapping_;
};

TEST(the_first_reads_of_a_stretch_tell_whether_to_request_the_others) {
#ifndef __linux__
  SKIP("only Linux tells a thread's page faults");
#else
  const ScratchFile file(kPages * 4096, "gz_tests_cold.scratch");
  const int descriptor = ::open(file.path().c_str(), O_RDONLY);
  ::fsync(descriptor);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  Reads reads(file.path());
  ColdDetector detector;
  const std::uint64_t before = thread_major_faults();
  reads.run(detector);
  EXPECT(reads.right == kPages);
  EXPECT(thread_major_faults() - before < kPages / 8);
  // All but the first 64; none where the file system keeps files in memory.
  EXPECT(reads.requested == kPages - 64 || reads.requested == 0);
#endif
}

TEST(pages_that_are_in_memory_are_not_requested) {
  const ScratchFile file(kPages * 4096, "gz_tests_warm.scratch");
  Reads reads(file.path());
  ColdDetector detector;
  reads.run(detector);
  EXPECT(reads.right == kPages);
  EXPECT(reads.requested == 0);
}

}  // namespace
}  // namespace gz
