#include "core/gather/reader_choice.h"

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/gather/direct_reader.h"
#include "core/gather/mmap_reader.h"

namespace gz {
namespace {

constexpr const char* kNames[] = {"auto", "mmap", "direct", "pread"};

const char* name_of(ReaderKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

// One digit behind the point.
std::string size_text(std::uint64_t bytes) {
  const bool large = bytes >= 1'000'000'000;
  const std::uint64_t tenths =
      (bytes + (large ? 50'000'000 : 50'000)) / (large ? 100'000'000 : 100'000);
  return concat(tenths / 10, ".", tenths % 10, large ? " GB" : " MB");
}

}  // namespace

ReaderKind reader_for(std::uint64_t size, std::optional<std::uint64_t> resident,
                      std::uint64_t available) {
  const bool fits = size < available / 2;
  const bool is_there = resident.value_or(0) >= size - size / 10;
  return fits || is_there ? ReaderKind::kMmap : ReaderKind::kDirect;
}

ChosenReader choose_reader(const std::shared_ptr<const MappedFile>& mapping,
                           const RowLayout& layout, ReaderKind wanted) {
  std::string why;
  if (wanted == ReaderKind::kAuto) {
    const std::uint64_t size = mapping->size();
    const std::uint64_t available = available_memory();
    const auto resident = mapping->resident_bytes();
    wanted = reader_for(size, resident, available);
    why = concat(size_text(size), ", ", size_text(available), " available");
    if (wanted == ReaderKind::kMmap && size >= available / 2)
      why += concat(", ", size_text(*resident), " in the page cache");
  } else {
    why = "asked for";
  }
  PlanOptions plan;
  const auto with = [&](std::shared_ptr<RowReader> reader, ReaderKind kind,
                        std::shared_ptr<const DirectFile> file = nullptr) {
    return ChosenReader{std::move(reader),
                        std::move(file),
                        {kind, concat(mapping->path(), ": ", name_of(kind), ": ", why), plan.gap}};
  };
  if (wanted != ReaderKind::kMmap) {
    try {
      const auto file = std::make_shared<const DirectFile>(mapping->file());
      plan = plan_options(*file, mapping->size());
      const auto reader = [&](DirectReader::By by) {
        return std::make_shared<DirectReader>(file, layout, mapping->size(), plan, by);
      };
      if (wanted == ReaderKind::kDirect) {
        try {
          return with(reader(DirectReader::By::kRing), ReaderKind::kDirect, file);
        } catch (const IoError& error) {
          why += concat("; no direct reader: ", error.path(), " ", error.what());
        }
      }
      return with(reader(DirectReader::By::kThreads), ReaderKind::kPread, file);
    } catch (const IoError& error) {
      why += concat("; no ", name_of(wanted), " reader: the file ", error.what());
    }
  }
  return with(std::make_shared<MmapReader>(mapping, layout), ReaderKind::kMmap);
}

}  // namespace gz
