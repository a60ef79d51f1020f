// One number of bytes, divided among all that a pipeline holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace gz {

// What was measured and asked for.
struct Needs {
  std::uint64_t memory = 0;
  std::optional<std::uint64_t> cache;  // asked for by the user
  std::uint64_t sample_bytes = 0;      // ids of the largest batch, as they are handed out
  std::uint64_t row_bytes = 0;         // its attributes, as they are handed out
  std::uint64_t swept_bytes = 0;       // size of all rows that are read from the device
  std::uint64_t swept_rows = 0;        // of these, those of the largest batch
  std::size_t threads = 1;
  std::size_t most_samplers = 1;  // of these
};

struct Budget {
  std::size_t threads = 1;
  std::size_t samplers = 1;       // threads that sample at the same time, as memory allows
  std::uint64_t working = 0;      // of these
  std::uint64_t reads = 0;        // in flight
  std::size_t num_outputs = 2;    // finished batches, and those being filled
  std::uint64_t outputs = 0;      // bytes of these
  std::uint64_t output_rows = 0;  // of one, the rows
  // Rows that stay: what was asked for, or all. Else the window has what they may take.
  std::uint64_t cache = 0;
  std::uint64_t window = 0;        // batches ahead: their samples and the rows read for them
  std::uint64_t least_window = 0;  // of these
};

// Names the least memory that would do, and what needs less. Both are there apart from the message
// too, for a caller that gave a share of a larger number.
class BudgetTooSmall : public std::invalid_argument {
 public:
  BudgetTooSmall(const std::string& problem, const std::string& advice, std::uint64_t least)
      : std::invalid_argument(problem + "; " + advice), advice_(advice), least_(least) {}

  const std::string& advice() const { return advice_; }
  std::uint64_t least() const { return least_; }

 private:
  std::string advice_;
  std::uint64_t least_;
};

// Throws BudgetTooSmall.
Budget split_memory(const Needs& needs);

}  // namespace gz
