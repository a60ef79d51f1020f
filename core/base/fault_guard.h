// Survives page faults on a mapped file that can no longer be read.
#pragma once

#include <cstddef>

namespace gz {

// Reading a page past the end of a file that another process truncated raises SIGBUS, which by
// default kills the process. While a FaultGuard lives, such a fault inside its range is answered
// with pages of zeros, the guard is marked as broken and one line is written to standard error;
// faults anywhere else go to the handler that was there before. The engine turns a broken guard
// into an IoError; a plain array view has no way to raise and reads zeros.
class FaultGuard {
 public:
  // `descriptor` is the file behind the range, `name` the path to print; both must outlive this.
  FaultGuard(std::byte* data, std::size_t length, bool writable, int descriptor, const char* name);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  // Throws IoError if the file has shrunk below the range, or a page of it could not be read.
  void check_intact() const;
  // The same of the mapping, if any, that an array from outside lies in: a view of a file reads
  // zeros when that shrinks, so a call that reads one asks afterwards. The array's
  // owner keeps the mapping alive meanwhile.
  static void check_intact_at(const void* address);

 private:
  struct Slot;
  friend struct FaultHandler;
  Slot* slot_;
};

}  // namespace gz
