// Objects of the core that one thread uses at a time: another one gets an error, not a crash.
#pragma once

#include <atomic>
#include <stdexcept>
#include <utility>

#include "bindings/arrays.h"
#include "core/base/error.h"
#include "core/base/process.h"

namespace gz {

// The calls of one object.
class OneAtATime {
 public:
  // `name` is that of the class, in Python.
  explicit OneAtATime(const char* name) : name_(name) {}

  // Held for the length of a call. Throws std::logic_error, a RuntimeError in Python, if another
  // call is under way.
  class Call {
   public:
    explicit Call(OneAtATime& calls) : calls_(calls) {
      const long here = process_id();
      if (calls_.process_.exchange(here) == here) {
        throw std::logic_error(concat(calls_.name_, ": is in use by another thread; give each ",
                                      "thread its own, or hold a lock around the calls"));
      }
    }
    ~Call() { calls_.process_ = 0; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OneAtATime& calls_;
  };

 private:
  const char* name_;
  // Whose call is under way, 0 for none. That of a parent ended, for a child, with the fork.
  std::atomic<long> process_{0};
};

// An object that is made and kept together with its calls.
template <class Object>
class OneThread {
 public:
  template <class... Arguments>
  explicit OneThread(const char* name, Arguments&&... arguments)
      : calls_(name), object_(std::forward<Arguments>(arguments)...) {}

  // Runs body(object) with the GIL released.
  template <class Body>
  auto use(Body&& body) {
    const OneAtATime::Call call(calls_);
    return without_gil([&] { return body(object_); });
  }

  // For what is safe beside a call on another thread.
  const Object& look() const { return object_; }

 private:
  OneAtATime calls_;
  Object object_;
};

}  // namespace gz
