#include <cpuid.h>
#include <immintrin.h>

#include <concepts>

#include "core/gather/item_conversion.h"
#include "core/gather/item_loops.h"

namespace gz {
namespace {

constexpr std::size_t kLanes = 8;

template <class Conversion>
[[gnu::target("avx2,f16c")]] void convert(const std::byte* items, std::size_t count, float scale,
                                          std::byte* out) {
  std::size_t done = 0;
  if constexpr (std::same_as<Conversion, Float16ToFloat32>) {
    for (; done + kLanes <= count; done += kLanes) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(items + 2 * done));
      _mm256_storeu_ps(reinterpret_cast<float*>(out + 4 * done), _mm256_cvtph_ps(halves));
    }
  } else if constexpr (std::same_as<Conversion, Float32ToFloat16>) {
    for (; done + kLanes <= count; done += kLanes) {
      const __m256 floats = _mm256_loadu_ps(reinterpret_cast<const float*>(items + 4 * done));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * done),
                       _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
    }
  }
  using Stored = typename Conversion::Stored;
  using Converted = decltype(Conversion::of(Stored(), scale));
  convert_each<Conversion>(items + done * sizeof(Stored), count - done, scale,
                           out + done * sizeof(Converted));
}

// Asked of the processor itself: the runtime that __builtin_cpu_supports needs is not in every
// toolchain. AVX works only where the system keeps the upper halves of its registers, too.
bool has_avx2_and_f16c() {
  constexpr unsigned kSavedRegisters = 0b110;  // XMM and YMM, in XCR0
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_F16C) == 0 || (c & bit_OSXSAVE) == 0)
    return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kSavedRegisters) != kSavedRegisters) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
}

}  // namespace

ConvertItems processor_conversion(const ItemTypes& types) {
  static const bool supported = has_avx2_and_f16c();  // a virtual machine takes long to answer
  if (!supported) return nullptr;
  return with_conversion(types, []<class Conversion>() { return &convert<Conversion>; });
}

}  // namespace gz
