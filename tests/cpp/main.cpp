#include <exception>
#include <iostream>
#include <string_view>

#include "tests/cpp/check.h"

// With an argument: the tests whose names contain it.
int main(int count, char** words) {
  const std::string_view wanted = count > 1 ? words[1] : "";
  int total = 0;
  int failed = 0;
  int skipped = 0;
  for (const auto& test : gz::test::cases()) {
    if (test.name.find(wanted) == std::string::npos) continue;
    const int before = gz::test::failures();
    ++total;
    try {
      test.body();
    } catch (const gz::test::Skipped& skip) {
      ++skipped;
      std::cout << "skipped " << test.name << ": " << skip.reason << std::endl;
    } catch (const std::exception& error) {
      ++gz::test::failures();
      std::cerr << test.name << ": threw " << error.what() << "\n";
    }
    if (gz::test::failures() > before) {
      ++failed;
      std::cerr << "FAILED " << test.name << "\n";
    }
  }
  std::cout << total - failed - skipped << " passed, " << failed << " failed, " << skipped
            << " skipped\n";
  return failed == 0 ? 0 : 1;
}
