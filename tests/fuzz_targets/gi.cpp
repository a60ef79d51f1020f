// The container and the .gi on it.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/store/id_dictionary.h"
#include "core/store/verify.h"
#include "tests/fuzz_targets/container_mutator.h"
#include "tests/fuzz_targets/fuzz.h"

namespace gz::fuzz {
namespace {

std::vector<OnlySections::Range> sections_of(const GiLayout& layout) {
  std::vector<OnlySections::Range> ranges;
  for (const Section& section : layout.sections)
    if (section.kind <= kGiSlots) ranges.push_back({section.offset, section.length});
  return ranges;
}

void require_ids(std::span<const NodeId> ids, const IdDictionary& dictionary) {
  for (const NodeId id : ids) {
    require(id == kUnknownLabel ||
                (id >= 0 && static_cast<std::uint64_t>(id) < dictionary.num_labels()),
            "an id that is not there");
  }
}

std::vector<NodeId> some_ids(const IdDictionary& dictionary) {
  const auto count = static_cast<NodeId>(dictionary.num_labels());
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < std::min<NodeId>(count, 40); ++id) ids.push_back(id);
  if (count > 40) ids.push_back(count - 1);
  return ids;
}

void use_integers(const IdDictionary& dictionary, bool proven) {
  const auto ids = some_ids(dictionary);
  std::vector<std::int64_t> labels(ids.size());
  if (!attempt(proven, [&] { dictionary.integers(ids, labels); })) return;
  std::vector<NodeId> found(ids.size());
  attempt(proven, [&] {
    dictionary.find(labels, found);
    require_ids(found, dictionary);
    if (proven) require(found == ids, "a label that does not lead back to its id");
  });
  std::vector<std::int64_t> others = {0, -1, 1, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t label : labels)
    others.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(label) + 1));
  found.resize(others.size());
  attempt(proven, [&] {
    dictionary.find(others, found);
    require_ids(found, dictionary);
  });
}

void use_strings(const IdDictionary& dictionary, bool proven) {
  const auto ids = some_ids(dictionary);
  std::vector<NodeId> found(ids.size());
  attempt(proven, [&] {
    const StringBatch batch = dictionary.strings(ids);
    const StringLabels labels = {batch.bytes, batch.offsets};
    dictionary.find(labels, found);
    require_ids(found, dictionary);
    if (proven) require(found == ids, "a label that does not lead back to its id");
  });
  // Not one after the other: one label whose bytes are bad must not hide the next.
  for (const NodeId id : ids) attempt(proven, [&] { dictionary.strings(std::span(&id, 1)); });
  const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789 a b";
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i <= text.size(); ++i) offsets.push_back(static_cast<std::int64_t>(i));
  offsets.push_back(offsets.back());
  found.resize(offsets.size() - 1);
  attempt(proven, [&] {
    dictionary.find(StringLabels{std::as_bytes(std::span(text)), offsets}, found);
    require_ids(found, dictionary);
  });
}

void use_ids(const std::string& path) {
  VerifyProgress progress;
  bool proven = false;
  attempt([&] {
    const auto checks = verify_ids(path, progress);
    proven = std::all_of(checks.begin(), checks.end(),
                         [](const Check& check) { return check.problem.empty(); });
  });
  std::optional<IdDictionary> dictionary;
  if (!attempt(proven, [&] { dictionary.emplace(path); })) return;
  const OnlySections hidden(dictionary->mapping(), sections_of(dictionary->layout()));
  if (dictionary->layout().kind == LabelKind::kInteger) {
    use_integers(*dictionary, proven);
  } else {
    use_strings(*dictionary, proven);
  }
}

}  // namespace
}  // namespace gz::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gz::fuzz::use_one_thread();
  const gz::fuzz::InputFile file(std::as_bytes(std::span(data, size)));
  gz::fuzz::use_ids(file.path());
  return 0;
}
