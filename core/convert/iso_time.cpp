#include "core/convert/iso_time.h"

#include <chrono>
#include <stdexcept>

namespace gz {
namespace {

constexpr int kFractionDigits = 9;
constexpr std::int64_t kDay = 24 * 60 * 60;
constexpr std::int64_t kPerSecond[] = {1, 1'000, 1'000'000, 1'000'000'000};

// Takes what it reads off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool is_done() const { return text_.empty(); }

  bool take(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool take_one_of(std::string_view wanted) {
    if (text_.empty() || wanted.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }

  // Exactly `count` digits; -1 if there are fewer.
  int number(std::size_t count) {
    if (text_.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return -1;
      value = 10 * value + (text_[i] - '0');
    }
    text_.remove_prefix(count);
    return value;
  }

  // The digits of a fraction; false if there are none.
  bool fraction(std::int64_t& nanoseconds, int& last_digit) {
    int place = 0;
    nanoseconds = 0;
    last_digit = 0;
    for (; !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; ++place) {
      const int digit = text_.front() - '0';
      if (place < kFractionDigits) nanoseconds = 10 * nanoseconds + digit;
      if (digit != 0) last_digit = place + 1;
      text_.remove_prefix(1);
    }
    if (place == 0) return false;
    for (; place < kFractionDigits; ++place) nanoseconds *= 10;
    return true;
  }

 private:
  std::string_view text_;
};

// Seconds since 1970, the fraction of the last one, and how many digits of that are needed.
struct Moment {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  int fraction_digits = 0;
  bool has_offset = false;
};

bool read_date(Reader& text, Moment& moment) {
  const int year = text.number(4);
  if (year < 1 || !text.take('-')) return false;
  const int month = text.number(2);
  if (month < 1 || !text.take('-')) return false;
  const int day = text.number(2);
  if (day < 1) return false;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return false;
  moment.seconds = std::chrono::sys_days{date}.time_since_epoch().count() * kDay;
  return true;
}

bool read_hours(Reader& text, Moment& moment) {
  const int hour = text.number(2);
  if (hour < 0 || hour > 24 || !text.take(':')) return false;
  const int minute = text.number(2);
  if (minute < 0 || minute > 59) return false;
  int second = 0;
  if (text.take(':')) {
    second = text.number(2);
    if (second < 0 || second > 59) return false;
    if (text.take_one_of(".,") && !text.fraction(moment.nanoseconds, moment.fraction_digits))
      return false;
  }
  if (hour == 24 && (minute != 0 || second != 0 || moment.fraction_digits != 0)) return false;
  moment.seconds += (hour * 60 + minute) * 60 + second;
  return true;
}

bool read_offset(Reader& text, Moment& moment) {
  if (text.is_done()) return true;
  moment.has_offset = true;
  if (text.take_one_of("Zz")) return true;
  const bool is_west = text.take('-');
  if (!is_west && !text.take('+')) return false;
  const int hours = text.number(2);
  if (hours < 0 || hours > 23) return false;
  int minutes = 0;
  if (!text.is_done()) {
    text.take(':');
    minutes = text.number(2);
    if (minutes < 0 || minutes > 59) return false;
  }
  const int offset = (hours * 60 + minutes) * 60;
  moment.seconds += is_west ? offset : -offset;
  return true;
}

}  // namespace

IsoTime parse_iso_time(std::string_view text, TimeUnit unit) {
  Reader reader(text);
  Moment moment;
  IsoTime time;
  const bool is_time =
      read_date(reader, moment) &&
      (reader.is_done() || (reader.take_one_of("Tt ") && read_hours(reader, moment) &&
                            read_offset(reader, moment) && reader.is_done()));
  if (!is_time) {
    time.fault = TimeFault::kNoTime;
    return time;
  }
  time.has_offset = moment.has_offset;
  const auto own_digits = 3 * static_cast<int>(unit);
  if (moment.fraction_digits > own_digits) {
    time.fault = TimeFault::kFiner;
    time.holds = moment.fraction_digits <= kFractionDigits;
    time.needed = time.holds ? static_cast<TimeUnit>((moment.fraction_digits + 2) / 3)
                             : TimeUnit::kNanosecond;
    return time;
  }
  const std::int64_t scale = kPerSecond[static_cast<std::size_t>(unit)];
  const std::int64_t fraction = moment.nanoseconds / (kPerSecond[3] / scale);
  if (__builtin_mul_overflow(moment.seconds, scale, &time.value) ||
      __builtin_add_overflow(time.value, fraction, &time.value)) {
    time.fault = TimeFault::kTooFar;
  }
  return time;
}

IsoTimes parse_iso_times(std::span<const std::byte> bytes, std::span<const std::int64_t> offsets,
                         TimeUnit unit) {
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  const std::size_t count = offsets.empty() ? 0 : offsets.size() - 1;
  IsoTimes times;
  times.values.reserve(count);
  times.have_offsets.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > bytes.size()) {
      throw std::invalid_argument("times: expected offsets inside the text, found others");
    }
    const IsoTime time =
        parse_iso_time({text + begin, static_cast<std::size_t>(end - begin)}, unit);
    if (time.fault != TimeFault::kNone) {
      times.wrong = i;
      times.fault = time;
      return times;
    }
    times.values.push_back(time.value);
    times.have_offsets.push_back(time.has_offset);
  }
  return times;
}

}  // namespace gz
