// Which pages of a mapping are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gz {

// `data` begins a page. Empty where the kernel refuses.
std::optional<std::uint64_t> resident_pages(std::byte* data, std::uint64_t size);

}  // namespace gz
