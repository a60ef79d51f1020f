// Which reader suits a file and the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/direct_file.h"
#include "core/base/file.h"
#include "core/gather/row_reader.h"

namespace gz {

enum class ReaderKind : std::uint8_t { kAuto, kMmap, kDirect, kPread };

struct ReaderChoice {
  ReaderKind kind = ReaderKind::kAuto;  // never kAuto once chosen
  std::string reason;                   // "x.gd: direct: 20.1 GB, 3.9 GB available"
  std::uint64_t read_gap = 0;           // of a reader that plans its reads (PlanOptions)
};

struct ChosenReader {
  std::shared_ptr<RowReader> reader;
  std::shared_ptr<const DirectFile> file;  // null if read through the mapping
  ReaderChoice choice;
};

// What kAuto means for a file of `size` bytes: a mapping if it is mostly in the page cache or fits
// there with as much again to spare, else the device.
ReaderKind reader_for(std::uint64_t size, std::optional<std::uint64_t> resident,
                      std::uint64_t available);

// A reader that this system does not have is replaced by the next best.
ChosenReader choose_reader(const std::shared_ptr<const MappedFile>& mapping,
                           const RowLayout& layout, ReaderKind wanted);

}  // namespace gz
