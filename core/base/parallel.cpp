#include "core/base/parallel.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parse_number.h"
#include "core/base/process.h"
#include "core/base/spin.h"

namespace gz {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(50);
constexpr int kMaxThreads = 4096;

std::atomic<int> chosen_threads{0};  // 0: the default
std::atomic<void (*)()> interrupt_check{nullptr};
thread_local bool is_pool_thread = false;

int default_threads() {
  static const int count = [] {
    if (const auto text = environment_variable("GRAPHZERO_NUM_THREADS")) {
      int wished = 0;
      const char* const end = text->data() + text->size();
      const auto [parsed, error] = parse_number(text->data(), end, wished);
      if (error != std::errc{} || parsed != end || wished < 1 || wished > kMaxThreads) {
        throw std::invalid_argument(
            concat("environment variable GRAPHZERO_NUM_THREADS: expected 1 to ", kMaxThreads,
                   ", found '", *text, "'"));
      }
      return wished;
    }
    return usable_cores();
  }();
  return count;
}

struct Job {
  std::function<void(std::size_t, std::size_t)> body;
  std::size_t count = 0;
  std::size_t grain = 1;
  std::size_t num_chunks = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};         // no further chunk is started
  std::atomic<bool> interrupted{false};  // and those that run may give up
  std::atomic<std::size_t> helpers_running{0};

  // Guarded by the pool's mutex.
  std::size_t helpers_wanted = 0;
  std::exception_ptr error;
  std::size_t error_chunk = std::numeric_limits<std::size_t>::max();
};

// The job whose chunk this thread runs.
thread_local Job* current_job = nullptr;

// Set on threads of an engine.
thread_local const std::atomic<bool>* engine_stop = nullptr;

class Pool {
 public:
  void run(const std::shared_ptr<Job>& job, std::size_t num_helpers) {
    bool are_all_wanted = false;
    {
      const std::lock_guard lock(mutex_);
      start_threads(num_helpers);
      job->helpers_wanted = std::min(num_helpers, num_started_);
      jobs_.push_back(job);
      are_all_wanted = job->helpers_wanted == num_started_;
    }
    // There may be many more threads than this job can use. If not, one call is cheaper.
    if (are_all_wanted) {
      work_waiting_.notify_all();
    } else {
      for (std::size_t i = 0; i < num_helpers; ++i) work_waiting_.notify_one();
    }
    work(*job);

    std::unique_lock lock(mutex_);
    job->helpers_wanted = 0;  // nobody else may join
    std::erase(jobs_, job);
    lock.unlock();
    spin_until([&] { return job->helpers_running.load() == 0; });
    lock.lock();
    while (job->helpers_running > 0) {
      if (helper_done_.wait_for(lock, kPollEvery) == std::cv_status::timeout) {
        lock.unlock();
        poll(*job);
        lock.lock();
      }
    }
    // Taken out of the job, which a helper may be the last to hold: an exception of Python is let
    // go by the thread that it came from.
    if (job->error) std::rethrow_exception(std::exchange(job->error, nullptr));
  }

 private:
  // Chunks are claimed in ascending order and a claimed chunk always runs, so when one throws, all
  // lower ones have run or are running: the lowest error is the same for any number of threads.
  void work(Job& job) {
    current_job = &job;
    while (!job.stop.load(std::memory_order_relaxed)) {
      const std::size_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= job.num_chunks) break;
      try {
        const std::size_t begin = chunk * job.grain;
        job.body(begin, std::min(begin + job.grain, job.count));
        check_interrupt();
      } catch (const GivenUp&) {
        job.stop = true;  // the error is that of the thread that was interrupted
      } catch (...) {
        const bool was_interrupted = !is_pool_thread && job.interrupted;
        fail(job, was_interrupted ? 0 : chunk + 1, std::current_exception());
      }
    }
    current_job = nullptr;
  }

  // An interrupt counts as chunk 0: it wins over any error of the work it cut short.
  void poll(Job& job) {
    current_job = &job;
    try {
      check_interrupt();
    } catch (...) {
      fail(job, 0, std::current_exception());
    }
    current_job = nullptr;
  }

  void fail(Job& job, std::size_t chunk, std::exception_ptr error) {
    job.stop = true;
    const std::lock_guard lock(mutex_);
    if (chunk < job.error_chunk) {
      job.error_chunk = chunk;
      job.error = std::move(error);
    }
  }

  // A machine that has no threads left gets the work done with those there are.
  void start_threads(std::size_t wanted) {
    while (num_started_ < wanted) {
      try {
        std::thread(&Pool::serve, this).detach();
      } catch (const std::system_error&) {
        return;
      }
      ++num_started_;
    }
  }

  void serve() {
    leave_signals_to_others();
    is_pool_thread = true;
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                      [](const auto& job) { return job->helpers_wanted > 0; });
      if (found == jobs_.end()) {
        work_waiting_.wait(lock);
        continue;
      }
      const std::shared_ptr<Job> job = *found;
      --job->helpers_wanted;
      ++job->helpers_running;
      lock.unlock();
      work(*job);
      lock.lock();
      --job->helpers_running;
      helper_done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_waiting_;
  std::condition_variable helper_done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::size_t num_started_ = 0;
};

// Never destroyed: its threads sleep until the process ends. A forked child has none of them, so it
// forgets the parent's pool, locks and all, and starts its own when it needs one.
std::atomic<Pool*> the_pool{nullptr};

Pool& pool() {
  Pool* current = the_pool.load();
  if (current != nullptr) return *current;
  static const bool registered = [] {
    at_fork(nullptr, nullptr, [] {
      the_pool = nullptr;
      current_job = nullptr;
    });
    return true;
  }();
  static_cast<void>(registered);
  auto* const fresh = new Pool;
  if (the_pool.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;
  return *current;
}

}  // namespace

int num_threads() {
  const int chosen = chosen_threads.load();
  return chosen > 0 ? chosen : default_threads();
}

std::size_t usable_threads() {
  const bool is_alone = current_job != nullptr || engine_stop != nullptr;
  return is_alone ? 1 : static_cast<std::size_t>(num_threads());
}

void set_num_threads(std::int64_t count) {
  if (count < 0 || count > kMaxThreads) {
    throw std::invalid_argument(concat("number of threads: expected 1 to ", kMaxThreads,
                                       ", or 0 for the default, found ", count));
  }
  chosen_threads = static_cast<int>(count);
}

void set_interrupt_check(void (*check)()) { interrupt_check = check; }

void check_interrupt() {
  if (is_pool_thread) {
    if (current_job != nullptr && current_job->interrupted) throw GivenUp();
    return;
  }
  if (engine_stop != nullptr) {
    if (engine_stop->load(std::memory_order_relaxed)) throw Stopped();
    return;
  }
  const auto check = interrupt_check.load();
  if (check == nullptr) return;
  thread_local std::chrono::steady_clock::time_point checked;
  const auto now = std::chrono::steady_clock::now();
  if (now - checked < kPollEvery) return;
  checked = now;
  try {
    check();
  } catch (...) {
    if (current_job != nullptr) current_job->interrupted = true;
    throw;
  }
}

bool is_interrupted() { return current_job != nullptr && current_job->interrupted; }

void parallel_chunks(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body,
                     std::size_t threads) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  if (current_job != nullptr || engine_stop != nullptr || count <= grain) {
    for (std::size_t begin = 0; begin < count; begin += grain) {
      if (engine_stop != nullptr) check_interrupt();
      body(begin, std::min(begin + grain, count));
    }
    return;
  }
  auto job = std::make_shared<Job>();
  job->body = body;
  job->count = count;
  job->grain = grain;
  job->num_chunks = (count - 1) / grain + 1;
  if (threads == 0) threads = static_cast<std::size_t>(num_threads());
  pool().run(job, std::min(threads, job->num_chunks) - 1);
}

std::thread engine_thread(const std::atomic<bool>& stop, std::function<void()> body) {
  return std::thread([&stop, body = std::move(body)] {
    leave_signals_to_others();
    engine_stop = &stop;
    body();
  });
}

}  // namespace gz
