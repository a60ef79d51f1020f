#include "core/gather/gather.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "core/base/buffer.h"
#include "core/base/checked.h"
#include "core/base/direct_file.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/gather/direct_reader.h"
#include "core/gather/mmap_reader.h"
#include "core/gather/pread_reader.h"

namespace gz {
namespace {

// From here on the machine is asked whether the result fits.
constexpr std::uint64_t kAskFrom = std::uint64_t{64} << 20;

// A plan takes some 40 bytes a row, so it is made for parts of a large call.
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;

constexpr const char* kNames[] = {"auto", "mmap", "direct", "pread"};

const char* name_of(ReaderKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string size_text(std::uint64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1);
  if (bytes >= 1'000'000'000) {
    text << static_cast<double>(bytes) / 1e9 << " GB";
  } else {
    text << static_cast<double>(bytes) / 1e6 << " MB";
  }
  return text.str();
}

}  // namespace

ReaderKind reader_for(std::uint64_t size, std::optional<std::uint64_t> resident,
                      std::uint64_t available) {
  const bool fits = size < available / 2;
  const bool is_there = resident.value_or(0) >= size - size / 10;
  return fits || is_there ? ReaderKind::kMmap : ReaderKind::kDirect;
}

Gatherer::Gatherer(const Features& features)
    : mapping_(features.mapping()), row_map_(features.row_map()) {
  layout_ = {features.layout().data_offset, features.row_bytes(),
             static_cast<std::uint64_t>(features.num_rows())};
}

Gatherer::Made Gatherer::make(ReaderKind wanted) const {
  std::string why;
  if (wanted == ReaderKind::kAuto) {
    const std::uint64_t size = mapping_->size();
    const std::uint64_t available = available_memory();
    const auto resident = mapping_->resident_bytes();
    wanted = reader_for(size, resident, available);
    why = concat(size_text(size), ", ", size_text(available), " available");
    if (wanted == ReaderKind::kMmap && size >= available / 2)
      why += concat(", ", size_text(*resident), " in the page cache");
  } else {
    why = "asked for";
  }
  const auto with = [&](std::shared_ptr<RowReader> reader, ReaderKind kind) {
    return Made{std::move(reader),
                {kind, concat(mapping_->path(), ": ", name_of(kind), ": ", why)}};
  };
  if (wanted != ReaderKind::kMmap) {
    try {
      const auto file = std::make_shared<const DirectFile>(mapping_->file());
      if (wanted == ReaderKind::kDirect) {
        try {
          return with(std::make_shared<DirectReader>(file, layout_, mapping_->size()),
                      ReaderKind::kDirect);
        } catch (const IoError& error) {
          why += concat("; no direct reader: io_uring ", error.what());
        }
      }
      return with(std::make_shared<PreadReader>(file, layout_, mapping_->size()),
                  ReaderKind::kPread);
    } catch (const IoError& error) {
      why += concat("; no ", name_of(wanted), " reader: the file ", error.what());
    }
  }
  return with(std::make_shared<MmapReader>(mapping_, layout_), ReaderKind::kMmap);
}

Gatherer::Made Gatherer::reader(ReaderKind wanted) {
  const std::lock_guard lock(mutex_);
  Made& made = made_[static_cast<std::size_t>(wanted)];
  if (!made.reader) made = make(wanted);
  return made;
}

void Gatherer::check(std::span<const std::int64_t> ids) const {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<std::uint64_t>(ids[i]) >= layout_.num_rows) {
      throw std::out_of_range(concat("ids[", i, "]: row ", ids[i], " is not in ", mapping_->path(),
                                     ", which has ", layout_.num_rows, " rows"));
    }
  }
}

std::size_t Gatherer::result_bytes(std::size_t count) const {
  const std::string job =
      concat(mapping_->path(), ": gathering ", count, " rows of ", layout_.row_bytes, " bytes");
  const auto bytes = checked_mul(count, layout_.row_bytes);
  if (!bytes) throw MemoryShortage(concat(job, ": more than 2^64 bytes"));
  if (*bytes >= kAskFrom) require_memory(*bytes, job);
  return *bytes;
}

void Gatherer::gather(std::span<const std::int64_t> ids, std::span<std::byte> out,
                      ReaderKind wanted) {
  const auto bytes = checked_mul(ids.size(), layout_.row_bytes);
  if (!bytes || *bytes != out.size()) {
    throw std::invalid_argument(concat("out: expected ", ids.size(), " rows of ", layout_.row_bytes,
                                       " bytes, found ", out.size(), " bytes"));
  }
  check(ids);
  const Made made = reader(wanted);
  const GatherCounts counts = guarded(*mapping_, [&] {
    GatherCounts sum;
    if (out.empty()) {
      sum.rows = ids.size();
      return sum;
    }
    Buffer<std::int64_t> rows;
    if (row_map_) rows.extend(std::min(kRowsAtOnce, ids.size()));
    for (std::size_t begin = 0; begin < ids.size(); begin += kRowsAtOnce) {
      auto part = ids.subspan(begin, std::min(kRowsAtOnce, ids.size() - begin));
      if (row_map_) {
        row_map_->translate(part, {rows.data(), part.size()});
        part = rows.span().first(part.size());
      }
      sum += made.reader->gather(part, out.data() + begin * layout_.row_bytes);
    }
    return sum;
  });
  const std::lock_guard lock(mutex_);
  choice_ = made.choice;
  counts_ += counts;
}

ReaderChoice Gatherer::choice() const {
  const std::lock_guard lock(mutex_);
  return choice_;
}

GatherCounts Gatherer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gz
