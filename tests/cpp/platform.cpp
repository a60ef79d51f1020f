#include "tests/cpp/platform.h"

#ifdef _WIN32
#include <windows.h>
#endif

#ifdef __linux__
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#endif

#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz::test {

bool is_wine() {
#ifdef _WIN32
  return ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
#else
  return false;
#endif
}

#ifdef __linux__

void require_io_ring() {
  io_uring_params params{};
  const long ring = ::syscall(__NR_io_uring_setup, 1, &params);
  if (ring < 0) SKIP(std::string("no io_uring here: ") + std::strerror(errno));
  ::close(static_cast<int>(ring));
}

// An answer that is all zeros: the file system has no direct reads, or qemu passed on only the part
// of the answer that it knows.
void require_direct_reads() {
  constexpr unsigned kDirectAlignment = 0x2000;  // STATX_DIOALIGN, which older headers lack
  constexpr std::size_t kOffsetAlignmentAt = 0x9c;
  const ScratchFile scratch(1, "gz_tests.probe");
  alignas(8) std::array<std::byte, 256> answer{};
  const long failed =
      ::syscall(__NR_statx, AT_FDCWD, scratch.path().c_str(), 0, kDirectAlignment, answer.data());
  std::uint32_t told = 0, alignment = 0;
  std::memcpy(&told, answer.data(), sizeof told);
  std::memcpy(&alignment, answer.data() + kOffsetAlignmentAt, sizeof alignment);
  if (failed == 0 && (told & kDirectAlignment) != 0 && alignment == 0)
    SKIP("no reads past the page cache here, says statx");
}

#else

void require_io_ring() {
  if (!kIsWindows) SKIP("this system has no ring of reads");
}
void require_direct_reads() {}

#endif

}  // namespace gz::test
