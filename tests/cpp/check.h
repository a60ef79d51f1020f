// A test is a TEST(name) body; EXPECT reports and goes on, SKIP says what the system lacks and ends
// the test. No library: nothing else needs installing.
#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace gz::test {

struct Case {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Skipped {
  std::string reason;
};

struct Register {
  Register(const char* name, std::function<void()> body) {
    cases().push_back({name, std::move(body)});
  }
};

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace gz::test

#define TEST(name)                                                      \
  static void test_##name();                                            \
  static const gz::test::Register register_##name(#name, &test_##name); \
  static void test_##name()

#define SKIP(reason) \
  throw gz::test::Skipped { reason }

#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ++gz::test::failures();                                                          \
      std::cerr << __FILE__ << ":" << __LINE__ << ": expected " << #condition << "\n"; \
    }                                                                                  \
  } while (false)
