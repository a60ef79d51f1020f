#include "core/gather/read_cost.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cache_file.h"
#include "core/base/error.h"
#include "core/base/parse_number.h"
#include "core/base/process.h"
#include "core/base/types.h"

namespace gz {
namespace {

constexpr std::uint64_t kWidestGap = 256 << 10;
constexpr std::uint64_t kSmallFile = 16 << 20;
constexpr double kSlowRead = 1e-4;  // no queue of an SSD takes so long from one to the next
constexpr std::int64_t kWeek = 7 * 24 * 3600;
constexpr const char* kCacheFile = "read_cost";
constexpr const char* kVariable = "GRAPHZERO_READ_GAP";

// A line of the cache file: device, seconds per read, seconds per byte, second since 1970.
struct Entry {
  std::uint64_t device = 0;
  ReadCost cost;
  std::int64_t measured = 0;
};

std::optional<Entry> parse(std::string_view line) {
  Entry entry;
  const auto take = [&](auto& number) {
    const auto [end, error] = parse_number(line.data(), line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return error == std::errc{};
  };
  const auto space = [&] {
    const bool found = line.starts_with(' ');
    line.remove_prefix(found ? 1 : 0);
    return found;
  };
  const bool sound = take(entry.device) && space() && take(entry.cost.per_read) && space() &&
                     take(entry.cost.per_byte) && space() && take(entry.measured) && line.empty() &&
                     std::isfinite(entry.cost.per_read) && std::isfinite(entry.cost.per_byte) &&
                     entry.cost.per_read >= 0 && entry.cost.per_byte > 0;
  return sound ? std::optional(entry) : std::nullopt;
}

std::vector<Entry> fresh_entries(std::int64_t now) {
  std::vector<Entry> entries;
  const std::string text = read_cache_file(kCacheFile).value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto entry = parse(line);
    if (entry && entry->measured <= now && entry->measured > now - kWeek) entries.push_back(*entry);
  }
  return entries;
}

// A list that only grows needs no lock, which a forked child could find taken for ever. Two threads
// may both measure a device; either result will do.
struct Known {
  std::uint64_t device;
  ReadCost cost;
  const Known* next;
};

std::atomic<const Known*> first_known{nullptr};

std::optional<ReadCost> known_cost(std::uint64_t device) {
  for (const Known* known = first_known.load(); known != nullptr; known = known->next) {
    if (known->device == device) return known->cost;
  }
  return std::nullopt;
}

ReadCost keep(std::uint64_t device, const ReadCost& cost) {
  auto* const known = new Known{device, cost, first_known.load()};
  while (!first_known.compare_exchange_weak(known->next, known)) {
  }
  return cost;
}

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::uint64_t parse_gap(const char* text) {
  const std::string_view all = text;
  std::uint64_t number = 0;
  const auto [parsed, error] = parse_number(text, text + all.size(), number);
  std::string unit(parsed, text + all.size());
  std::erase(unit, ' ');
  for (char& letter : unit) letter = static_cast<char>(std::tolower(letter));
  // As in a block of 4 kB, these are kilobytes of 1024.
  const bool kilo = unit == "k" || unit == "kb" || unit == "kib";
  const std::uint64_t most = kilo ? kWidestGap / 1024 : kWidestGap;
  if (error != std::errc{} || !(kilo || unit.empty() || unit == "b") || number > most) {
    throw std::invalid_argument(concat("environment variable ", kVariable,
                                       ": expected 0 to 256kB, such as 8192 or 16kB, found '", text,
                                       "'"));
  }
  return (kilo ? number * 1024 : number) / kPage * kPage;
}

}  // namespace

std::uint64_t ReadCost::gap() const {
  const double bytes = std::min(per_read / per_byte, static_cast<double>(kWidestGap));
  return static_cast<std::uint64_t>(bytes) / kPage * kPage;
}

std::optional<ReadCost> cost_of(const ReadTimes& times) {
  if (times.large_seconds <= times.small_seconds && times.small_seconds < kSlowRead)
    return std::nullopt;
  const auto difference = static_cast<double>(times.large_bytes - times.small_bytes);
  ReadCost cost;
  // A disk that turns may take no longer for 64 kB; its bytes are cheap but not free.
  cost.per_byte = std::max(times.large_seconds - times.small_seconds, 1e-9) / difference;
  cost.per_read =
      std::max(times.small_seconds - cost.per_byte * static_cast<double>(times.small_bytes), 0.0);
  return cost;
}

std::optional<ReadCost> remembered_cost(std::uint64_t device, std::int64_t now) {
  for (const Entry& entry : fresh_entries(now)) {
    if (entry.device == device) return entry.cost;
  }
  return std::nullopt;
}

void remember_cost(std::uint64_t device, const ReadCost& cost, std::int64_t now) {
  std::vector<Entry> entries = fresh_entries(now);
  std::erase_if(entries, [&](const Entry& entry) { return entry.device == device; });
  entries.push_back({device, cost, now});
  std::string text;
  for (const Entry& entry : entries) {
    text += concat(entry.device, ' ', entry.cost.per_read, ' ', entry.cost.per_byte, ' ',
                   entry.measured, '\n');
  }
  write_cache_file(kCacheFile, text);
}

ReadCost read_cost(const DirectFile& file, std::uint64_t file_size) {
  if (file_size < kSmallFile || file.has_holes()) return {};
  const std::uint64_t device = file.device();
  if (const auto known = known_cost(device)) return *known;
  const std::int64_t now = seconds_since_1970();
  if (const auto remembered = remembered_cost(device, now)) return keep(device, *remembered);
  const auto times = time_reads(file, file_size);
  const auto cost = times ? cost_of(*times) : std::nullopt;
  if (!cost) return {};  // and the next file is measured
  remember_cost(device, *cost, now);
  return keep(device, *cost);
}

std::uint64_t read_gap(const DirectFile& file, std::uint64_t file_size) {
  if (const auto text = environment_variable(kVariable)) return parse_gap(text->c_str());
  return read_cost(file, file_size).gap();
}

}  // namespace gz
