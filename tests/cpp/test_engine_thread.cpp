#ifndef _WIN32
#include <pthread.h>
#endif
#include <signal.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "core/base/parallel.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

TEST(parallel_calls_on_an_engine_thread_run_on_it_alone) {
  const std::atomic<bool> stop{false};
  std::atomic<int> calls{0}, elsewhere{0};
  set_num_threads(4);
  engine_thread(stop, [&] {
    const auto self = std::this_thread::get_id();
    parallel_for(1000, [&](std::size_t) {
      ++calls;
      if (std::this_thread::get_id() != self) ++elsewhere;
    });
  }).join();
  set_num_threads(0);
  EXPECT(calls == 1000 && elsewhere == 0);
}

TEST(a_stopped_engine_thread_leaves_its_loops) {
  std::atomic<bool> stop{false}, began{false}, stopped{false};
  std::thread thread = engine_thread(stop, [&] {
    try {
      while (true) {
        check_interrupt();
        began = true;
      }
    } catch (const Stopped&) {
      stopped = true;
    }
  });
  while (!began) std::this_thread::yield();
  stop = true;
  thread.join();
  EXPECT(stopped);
}

TEST(a_stopped_engine_thread_leaves_parallel_calls_between_chunks) {
  std::atomic<bool> stop{false};
  std::atomic<int> chunks{0};
  bool stopped = false;
  engine_thread(stop, [&] {
    try {
      parallel_chunks(100, 1, [&](std::size_t, std::size_t) {
        if (++chunks == 10) stop = true;
      });
    } catch (const Stopped&) {
      stopped = true;
    }
  }).join();
  EXPECT(stopped && chunks == 10);
}

TEST(an_interrupt_is_not_for_engine_threads) {
  const std::atomic<bool> stop{false};
  bool interrupted = false;
  set_interrupt_check([] { throw std::runtime_error("interrupted"); });
  engine_thread(stop, [&] {
    try {
      check_interrupt();
    } catch (...) {
      interrupted = true;
    }
  }).join();
  set_interrupt_check(nullptr);
  EXPECT(!interrupted);
}

TEST(signals_go_to_other_threads_than_the_engines) {
#ifdef _WIN32
  SKIP("Windows sends no signals to threads");
#else
  const std::atomic<bool> stop{false};
  sigset_t blocked;
  engine_thread(stop, [&] { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); }).join();
  EXPECT(sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1);
  EXPECT(sigismember(&blocked, SIGBUS) == 0 && sigismember(&blocked, SIGSEGV) == 0);
#endif
}

}  // namespace
}  // namespace gz
