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
    : mapping_(features.mapping()), stored_(features.layout().dtype) {
  layout_ = {features.layout().data_offset, features.row_bytes(),
             static_cast<std::uint64_t>(features.num_rows())};
  if (const auto offset = features.layout().scale_offset)
    scales_.emplace(mapping_, RowLayout{*offset, sizeof(float), layout_.num_rows});
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

RowCopy Gatherer::row_copy(std::optional<Dtype> dtype) const {
  return {stored_, scales_.has_value(), layout_.row_bytes / item_size(stored_), dtype};
}

std::size_t Gatherer::result_bytes(std::size_t count, std::optional<Dtype> dtype) const {
  const std::uint64_t row_bytes = row_copy(dtype).out_bytes();
  const std::string job =
      concat(mapping_->path(), ": gathering ", count, " rows of ", row_bytes, " bytes");
  const auto bytes = checked_mul(count, row_bytes);
  if (!bytes) throw MemoryShortage(concat(job, ": more than 2^64 bytes"));
  if (*bytes >= kAskFrom) require_memory(*bytes, job);
  return *bytes;
}

void Gatherer::gather(std::span<const std::int64_t> ids, std::span<std::byte> out,
                      ReaderKind wanted, std::optional<Dtype> dtype) {
  const RowCopy copy = row_copy(dtype);
  const auto bytes = checked_mul(ids.size(), copy.out_bytes());
  if (!bytes || *bytes != out.size()) {
    throw std::invalid_argument(concat("out: expected ", ids.size(), " rows of ", copy.out_bytes(),
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
    Buffer<float> scales;
    for (std::size_t begin = 0; begin < ids.size(); begin += kRowsAtOnce) {
      const auto part = ids.subspan(begin, std::min(kRowsAtOnce, ids.size() - begin));
      std::byte* const place = out.data() + begin * copy.out_bytes();
      if (!copy.converts()) {
        sum += made.reader->gather(part, place);
        continue;
      }
      scales.clear();
      if (copy.needs_scales())
        scales_->gather(part, reinterpret_cast<std::byte*>(scales.extend(part.size())));
      sum += made.reader->gather_converted(part, scales.span(), copy, place);
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
