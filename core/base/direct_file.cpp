#include "core/base/direct_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace gz {

DirectFile::DirectFile(const File& file) : path_(file.path()) {
  try {
    open(file);
    const DirectMemory block(alignment_, alignment_);
    read_at({block.data(), alignment_}, std::min(file.size(), alignment_), 0);
  } catch (...) {
    if (handle_ != kNoFile) close_file(handle_);
    throw;
  }
}

DirectFile::~DirectFile() { close_file(handle_); }

void DirectFile::read_at(std::span<std::byte> out, std::size_t needed, std::uint64_t offset,
                         std::size_t have) const {
  while (have < needed) {
    // A direct read starts at a block. Only the end of the file cuts one in its middle, so reading
    // that block again makes no progress.
    const std::size_t at = have / alignment_ * alignment_;
    const std::int64_t count = read_some_at(handle_, out.subspan(at), offset + at);
    if (count < 0) {
      const int code = static_cast<int>(-count);
      throw IoError(code, path_,
                    concat("cannot read ", needed - at, " bytes at byte ", offset + at, ": ",
                           std::strerror(code)));
    }
    const std::size_t now = at + static_cast<std::size_t>(count);
    if (now <= have) {
      throw IoError(EIO, path_,
                    concat("file ends at byte ", offset + now, ", expected ", needed - now,
                           " more bytes there; write files anew beside the old one instead of "
                           "truncating them"));
    }
    have = now;
  }
}

}  // namespace gz
