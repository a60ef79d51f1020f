#include "core/gather/read_queue.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

class RingQueue final : public ReadQueue {
 public:
  RingQueue(std::size_t depth, std::span<std::byte> memory, const DirectFile& often)
      : ring_(static_cast<unsigned>(depth)) {
    ring_.register_memory(memory);
    ring_.register_file(often.handle());
  }

  void read(const DirectFile& file, std::byte* into, unsigned length, std::uint64_t offset,
            std::uint64_t tag) override {
    ring_.read(file.handle(), into, length, offset, tag);
  }
  std::size_t wait(std::span<IoRing::Done> done, std::size_t at_least) override {
    return ring_.wait(done, at_least);
  }
  std::size_t in_flight() const override { return ring_.in_flight(); }

 private:
  IoRing ring_;
};

class ThreadQueue final : public ReadQueue {
 public:
  explicit ThreadQueue(std::size_t depth) {
    // Twice as many were slower on two cores.
    const std::size_t count = std::min<std::size_t>(depth, 32);
    for (std::size_t i = 0; i < count; ++i) {
      try {
        threads_.push_back(engine_thread(stop_, [this] { serve(); }));
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;
        break;  // as many as the system has
      }
    }
  }

  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    asked_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void read(const DirectFile& file, std::byte* into, unsigned length, std::uint64_t offset,
            std::uint64_t tag) override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back({&file, into, length, offset, tag});
    }
    ++in_flight_;
    asked_.notify_one();
  }

  std::size_t wait(std::span<IoRing::Done> done, std::size_t at_least) override {
    at_least = std::min({at_least, in_flight_, done.size()});
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return answers_.size() >= at_least; });
    const std::size_t count = std::min(answers_.size(), done.size());
    std::copy_n(answers_.begin(), count, done.begin());
    answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(count));
    in_flight_ -= count;
    return count;
  }

  std::size_t in_flight() const override { return in_flight_; }

 private:
  struct Request {
    const DirectFile* file;
    std::byte* into;
    unsigned length;
    std::uint64_t offset;
    std::uint64_t tag;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_.wait(lock, [&] { return stop_ || !requests_.empty(); });
      if (stop_) return;
      const Request request = requests_.front();
      requests_.pop_front();
      lock.unlock();
      const int result = request.file->read_some({request.into, request.length}, request.offset);
      lock.lock();
      answers_.push_back({request.tag, result});
      answered_.notify_one();
    }
  }

  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable answered_;
  std::deque<Request> requests_;
  std::deque<IoRing::Done> answers_;
  std::size_t in_flight_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> ring_queue(std::size_t depth, std::span<std::byte> memory,
                                      const DirectFile& often) {
  return std::make_unique<RingQueue>(depth, memory, often);
}

std::unique_ptr<ReadQueue> thread_queue(std::size_t depth) {
  return std::make_unique<ThreadQueue>(depth);
}

}  // namespace gz
