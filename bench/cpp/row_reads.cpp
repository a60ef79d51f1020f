// What a machine allows a gather of rows, without graphzero. Prints JSON.
//   row_reads copy FILE OFFSET ROW_BYTES IDS THREADS   rows of a MADV_RANDOM mapping, copied by a
//     loop that prefetches; IDS holds int64. The first and the best of 7 rounds.
//   row_reads ring FILE THREADS DEPTH SECONDS [BYTES]  so many, 4 kB if not told, at random places,
//     past the page cache, DEPTH reads in flight per thread (io_uring), with what spares the kernel
//     work: registered memory and file, completions left to the thread that waits, 32 of them at a
//     time
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct Mapped {
  explicit Mapped(const char* path) : file(open(path, O_RDONLY)) {
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) fail(path);
    size = static_cast<std::size_t>(status.st_size);
    void* const mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) fail("mmap");
    madvise(mapping, size, MADV_RANDOM);
    data = static_cast<const char*>(mapping);
  }
  int file;
  std::size_t size = 0;
  const char* data = nullptr;
};

int copy(char** argv) {
  const Mapped mapped(argv[0]);
  const char* const rows = mapped.data + std::strtoull(argv[1], nullptr, 10);
  const std::size_t size = std::strtoull(argv[2], nullptr, 10);
  std::ifstream source(argv[3], std::ios::binary | std::ios::ate);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(source.tellg()) / sizeof(std::int64_t));
  source.seekg(0).read(reinterpret_cast<char*>(ids.data()),
                       static_cast<std::streamsize>(ids.size() * sizeof(std::int64_t)));
  const std::size_t threads = std::strtoull(argv[4], nullptr, 10);
  std::vector<char> out(ids.size() * size);
  constexpr std::size_t kAhead = 6;
  double first = 0, best = 1e9;
  for (int round = 0; round < 8; ++round) {
    const auto begin = Clock::now();
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const std::size_t end = ids.size() * (t + 1) / threads;
        for (std::size_t i = ids.size() * t / threads; i < end; ++i) {
          if (i + kAhead < end) {
            const char* const next = rows + static_cast<std::size_t>(ids[i + kAhead]) * size;
            for (std::size_t at = 0; at < size; at += 64) __builtin_prefetch(next + at);
          }
          std::memcpy(&out[i * size], rows + static_cast<std::size_t>(ids[i]) * size, size);
        }
      });
    }
    workers.clear();
    (round == 0 ? first : best) = round == 0 ? since(begin) : std::min(best, since(begin));
  }
  std::uint64_t sum = 0;
  for (const char byte : out) sum += static_cast<unsigned char>(byte);
  std::printf("{\"rows\": %zu, \"first\": %.6f, \"best\": %.6f, \"sum\": %llu}\n", ids.size(),
              first, best, static_cast<unsigned long long>(sum));
  return 0;
}

struct Ring {
  explicit Ring(unsigned depth) {
    io_uring_params params{};
    params.flags = 3u << 12;  // one issuer, deferred work: Linux 6.1
    file = static_cast<int>(syscall(__NR_io_uring_setup, depth, &params));
    if (file < 0) fail("io_uring_setup");
    const std::size_t bytes =
        std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                              params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    const auto map = [&](std::size_t size, off_t offset) {
      void* const mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
      if (mapping == MAP_FAILED) fail("mmap");
      return static_cast<char*>(mapping);
    };
    char* const rings = map(bytes, IORING_OFF_SQ_RING);
    entries = reinterpret_cast<io_uring_sqe*>(
        map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    const auto field = [&](unsigned at) { return reinterpret_cast<unsigned*>(rings + at); };
    sq_tail = field(params.sq_off.tail);
    sq_array = field(params.sq_off.array);
    sq_mask = *field(params.sq_off.ring_mask);
    cq_head = field(params.cq_off.head);
    cq_tail = field(params.cq_off.tail);
    cq_mask = *field(params.cq_off.ring_mask);
    done = reinterpret_cast<io_uring_cqe*>(rings + params.cq_off.cqes);
  }

  void know(int from, char* memory, std::size_t size) {
    const iovec range = {memory, size};
    if (syscall(__NR_io_uring_register, file, IORING_REGISTER_BUFFERS, &range, 1) != 0 ||
        syscall(__NR_io_uring_register, file, IORING_REGISTER_FILES, &from, 1) != 0)
      fail("io_uring_register");
  }

  void read(char* into, unsigned bytes, std::uint64_t offset, unsigned slot) {
    const unsigned tail = *sq_tail;
    io_uring_sqe& entry = entries[tail & sq_mask];
    entry = {};
    entry.opcode = IORING_OP_READ_FIXED;
    entry.flags = IOSQE_FIXED_FILE;
    entry.addr = reinterpret_cast<std::uint64_t>(into);
    entry.len = bytes;
    entry.off = offset;
    entry.user_data = slot;
    sq_array[tail & sq_mask] = tail & sq_mask;
    std::atomic_ref(*sq_tail).store(tail + 1, std::memory_order_release);
    ++queued;
  }

  int file;
  unsigned queued = 0;
  io_uring_sqe* entries;
  unsigned *sq_tail, *sq_array, *cq_head, *cq_tail;
  unsigned sq_mask, cq_mask;
  io_uring_cqe* done;
};

std::uint64_t read_blocks(int file, std::uint64_t size, unsigned bytes, unsigned depth,
                          double seconds, unsigned seed) {
  Ring ring(depth);
  char* const memory = static_cast<char*>(std::aligned_alloc(4096, std::size_t{depth} * bytes));
  std::memset(memory, 0, std::size_t{depth} * bytes);
  ring.know(file, memory, std::size_t{depth} * bytes);
  std::mt19937_64 random(seed);
  const auto start = [&](unsigned slot) {
    ring.read(memory + std::size_t{slot} * bytes, bytes, random() % (size / bytes) * bytes, slot);
  };
  for (unsigned slot = 0; slot < depth; ++slot) start(slot);
  std::uint64_t count = 0;
  const auto begin = Clock::now();
  while (since(begin) < seconds) {
    const long submitted = syscall(__NR_io_uring_enter, ring.file, ring.queued,
                                   std::min(depth, 32u), IORING_ENTER_GETEVENTS, nullptr, 0);
    if (submitted < 0) fail("io_uring_enter");
    ring.queued -= static_cast<unsigned>(submitted);
    const unsigned tail = std::atomic_ref(*ring.cq_tail).load(std::memory_order_acquire);
    unsigned head = *ring.cq_head;
    for (; head != tail; ++head, ++count) {
      const io_uring_cqe& one = ring.done[head & ring.cq_mask];
      if (one.res != static_cast<int>(bytes)) std::exit(3);
      start(static_cast<unsigned>(one.user_data));
    }
    std::atomic_ref(*ring.cq_head).store(head, std::memory_order_release);
  }
  return count;  // reads in flight end with the process; their memory is never freed
}

int ring(char** argv, unsigned bytes) {
  const int file = open(argv[0], O_RDONLY | O_DIRECT);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) fail(argv[0]);
  const auto threads = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const auto depth = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  const double seconds = std::strtod(argv[3], nullptr);
  std::vector<std::uint64_t> counts(threads);
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      counts[t] = read_blocks(file, static_cast<std::uint64_t>(status.st_size), bytes, depth,
                              seconds, t + 1);
    });
  }
  workers.clear();
  std::uint64_t count = 0;
  for (const std::uint64_t each : counts) count += each;
  std::printf("{\"reads\": %llu, \"seconds\": %.3f, \"cpu\": %.3f}\n",
              static_cast<unsigned long long>(count), seconds,
              static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7 && std::string(argv[1]) == "copy") return copy(argv + 2);
  if (argc == 6 && std::string(argv[1]) == "ring") return ring(argv + 2, 4096);
  if (argc == 7 && std::string(argv[1]) == "ring")
    return ring(argv + 2, static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10)));
  std::fprintf(stderr,
               "row_reads copy FILE OFFSET ROW_BYTES IDS THREADS\n"
               "row_reads ring FILE THREADS DEPTH SECONDS [BYTES]\n");
  return 2;
}
