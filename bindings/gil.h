// The GIL around calls of the core, also while the interpreter ends.
#pragma once

#include <Python.h>

#include <utility>

#include "core/base/thread_end.h"

namespace gz {

// The GIL, given up until the end of the scope.
//
// Once the interpreter has begun to end, Python up to 3.13 answers a thread that wants the GIL back
// with pthread_exit, which unwinds the stack: the first noexcept function on it, and nanobind's all
// are, would end the process with SIGABRT. Such a thread sleeps here instead, as from 3.14 on
// Python lets it, until the process is gone. It has nothing left to do, and what its frames hold
// stays valid for threads of the core that still work for it.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) { given_up() = state_; }
  ~WithoutGil() {
    given_up() = nullptr;
    take(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  // The GIL again, for a moment in which the core asks Python something, on a thread of Python that
  // may have given it up. What Python runs meanwhile, such as a signal handler, may give it up
  // anew.
  class Pause {
   public:
    Pause() : state_(std::exchange(given_up(), nullptr)) {
      if (state_ != nullptr) take(state_);
    }
    ~Pause() {
      if (state_ != nullptr) given_up() = PyEval_SaveThread();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    PyThreadState* const state_;
  };

 private:
  // This thread's state, while the GIL is given up. PyGILState_Ensure could find it too, but not
  // safely once the interpreter is gone.
  static PyThreadState*& given_up() {
    static thread_local PyThreadState* state = nullptr;
    return state;
  }

  static void take(PyThreadState* state) noexcept {
    const auto restore = [](void* taken) {
      PyEval_RestoreThread(static_cast<PyThreadState*>(taken));
    };
    call_without_ending(restore, state);
  }

  PyThreadState* const state_;
};

// Runs `body` with the GIL released. Nothing in it may touch a Python object.
template <class Body>
auto without_gil(Body&& body) {
  const WithoutGil released;
  return body();
}

}  // namespace gz
