// Memory from the system itself, in whole pages. One implementation per system.
#pragma once

#include <cstddef>

namespace gz {

inline constexpr std::size_t kHugePage = 2 << 20;

// The system's page; that of file formats is kPage.
std::size_t machine_page();

// Zeros. Blocks of kHugePage and more lie in huge pages where the system has them. Throws
// std::bad_alloc.
void* map_memory(std::size_t bytes);
void unmap_memory(void* data, std::size_t bytes) noexcept;

// Gives back what the C library keeps of many small objects, where it can be told to.
void trim_heap() noexcept;

}  // namespace gz
