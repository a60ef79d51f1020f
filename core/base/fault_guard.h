// Survives page faults on a mapped file that can no longer be read.
#pragma once

#include <cstddef>

#include "core/base/file_handle.h"

namespace gz {

struct FaultSlot;

// Reading a page past the end of a file that another process truncated raises SIGBUS, which by
// default kills the process; Windows lets nobody truncate a mapped file, but a share or device that
// goes away raises EXCEPTION_IN_PAGE_ERROR. While a FaultGuard lives, such a fault inside its range
// is answered with pages of zeros, the guard is marked as broken and one line is written to
// standard error; faults anywhere else go to the handler that was there before. The engine turns a
// broken guard into an IoError; a plain array view has no way to raise and reads zeros.
class FaultGuard {
 public:
  // `file` is what lies behind the range, `name` the path to print; both must outlive this.
  FaultGuard(std::byte* data, std::size_t length, bool writable, FileHandle file, const char* name);
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
  FaultSlot* slot_;
};

}  // namespace gz
