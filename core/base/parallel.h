// The core's own thread pool: OpenMP's hangs in forked data-loader workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace gz {

// Threads a parallel call may use: what was set, else GRAPHZERO_NUM_THREADS, else usable_cores().
int num_threads();
// Of these, how many a parallel call made here may use: one inside of another, and on an engine's
// thread.
std::size_t usable_threads();
// 0 goes back to the default. Throws std::invalid_argument if negative or above 4096.
void set_num_threads(std::int64_t count);

// Called about twenty times a second by the thread that waits for a long call, with no lock held.
// It may throw; the call then stops and the exception reaches the caller. This is how the bindings
// let Ctrl-C through without the core knowing Python.
void set_interrupt_check(void (*check)());

// For long loops outside parallel_chunks or inside one body, on any thread. Costs a look at the
// clock; throws if the call is to stop.
void check_interrupt();

// Whether the call that this thread works for was interrupted.
bool is_interrupted();

// Calls body(begin, end) for chunks of `grain` items that together cover 0 … count-1, on the
// caller's and the pool's threads. Which thread runs which chunk is open, so a body writes only to
// places that belong to its items. If chunks throw, the exception of the lowest one reaches the
// caller, whatever the number of threads. A call made from inside a body runs on that thread alone.
// Bodies that wait for a device more than they compute may ask for more `threads` than
// num_threads(), which 0 stands for.
void parallel_chunks(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t begin, std::size_t end)>& body,
                     std::size_t threads = 0);

// body(i) for every i below count.
template <class Body>
void parallel_for(std::size_t count, Body&& body) {
  // Enough chunks to balance skewed work, few enough that claiming one costs nothing beside it.
  const auto threads = static_cast<std::size_t>(num_threads());
  const std::size_t grain = std::clamp<std::size_t>(count / (16 * threads), 1, 4096);
  parallel_chunks(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

// What check_interrupt() throws on a thread of the pool whose caller was interrupted.
struct GivenUp : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// What check_interrupt() throws on an engine's thread that is to end.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// A thread for an engine that runs beside its caller for long: signals go elsewhere, parallel calls
// made on it run on it alone, and check_interrupt() throws Stopped once `stop` is set. `body`
// throws nothing; `stop` outlives the thread. Throws std::system_error if there are no threads
// left.
std::thread engine_thread(const std::atomic<bool>& stop, std::function<void()> body);

}  // namespace gz
