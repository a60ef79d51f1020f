#include <exception>
#include <iostream>

#include "tests/cpp/check.h"

int main() {
  int failed = 0;
  int skipped = 0;
  for (const auto& test : gz::test::cases()) {
    const int before = gz::test::failures();
    try {
      test.body();
    } catch (const gz::test::Skipped& skip) {
      ++skipped;
      std::cout << "skipped " << test.name << ": " << skip.reason << "\n";
    } catch (const std::exception& error) {
      ++gz::test::failures();
      std::cerr << test.name << ": threw " << error.what() << "\n";
    }
    if (gz::test::failures() > before) {
      ++failed;
      std::cerr << "FAILED " << test.name << "\n";
    }
  }
  const int total = static_cast<int>(gz::test::cases().size());
  std::cout << total - failed - skipped << " passed, " << failed << " failed, " << skipped
            << " skipped\n";
  return failed == 0 ? 0 : 1;
}
