// Times as ISO 8601 writes them in, whole units since 1970 in UTC out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gz {

enum class TimeUnit : std::uint8_t { kSecond, kMillisecond, kMicrosecond, kNanosecond };

enum class TimeFault : std::uint8_t {
  kNone,
  kNoTime,  // not written as a time, or no day or hour that there is
  kFiner,   // it has a fraction of the unit
  kTooFar,  // 64 bits cannot count so many units
};

struct IsoTime {
  std::int64_t value = 0;
  TimeFault fault = TimeFault::kNone;
  TimeUnit needed = TimeUnit::kSecond;  // kFiner: the coarsest unit that holds it
  bool holds = true;                    // kFiner: whether `needed` does; nothing is finer than it
  bool has_offset = false;              // whether it says how far it is from UTC
};

// "2024-02-29", "2024-02-29T23:59", "2024-02-29 23:59:59.5+01:00": years 0001 to 9999, a `T` or a
// blank before the hour, a point or comma before the fraction, then `Z`, an offset, or nothing,
// which means UTC. 24:00 is midnight at the end of its day; there are no leap seconds. Never
// rounds.
IsoTime parse_iso_time(std::string_view text, TimeUnit unit);

// Many of them.
struct IsoTimes {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> have_offsets;
  std::optional<std::size_t> wrong;  // the first with a fault; it and those behind it are not there
  IsoTime fault;                     // that of `wrong`
};

// Text `i` is bytes[offsets[i], offsets[i + 1]). Throws std::invalid_argument if offsets lead
// outside of it.
IsoTimes parse_iso_times(std::span<const std::byte> bytes, std::span<const std::int64_t> offsets,
                         TimeUnit unit);

}  // namespace gz
