# Files are mapped as they lie on disk: little-endian, and larger than what 32 bits can address.
# Before CMake 3.20 the byte order is not known here; core/format/container.cpp proves it again.
if(CMAKE_CXX_BYTE_ORDER STREQUAL "BIG_ENDIAN")
  message(FATAL_ERROR "graphzero: expected a little-endian machine, such as x86-64 or arm64, found a big-endian one")
endif()
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  math(EXPR bits "8 * ${CMAKE_SIZEOF_VOID_P}")
  message(FATAL_ERROR "graphzero: expected a 64-bit machine and compiler, found ${bits} bits")
endif()
