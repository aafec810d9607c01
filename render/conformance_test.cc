// Checks the rows of render/conformance.yaml against the recorded renderings of render/golden (golden_test.cc proves
// that those are what is rendered).

#include <gtest/gtest.h>

#include <filesystem>

#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "render/fixtures.h"

namespace inference::render {
namespace {

namespace fs = std::filesystem;

std::vector<Json> read_documents(const fs::path& path) {
  const auto documents = read_yaml_documents(read_file(path));
  EXPECT_TRUE(documents.has_value() && !documents->empty()) << path;
  std::vector<Json> values;
  for (const auto& document : documents.value()) values.push_back(document.value);
  return values;
}

std::string unescape(std::string token) {
  for (const auto& [from, to] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
    for (std::size_t at = 0; (at = token.find(from, at)) != std::string::npos; ++at) token.replace(at, 2, to);
  }
  return token;
}

/// A JSON pointer in which an item of a list may be named; null when nothing is there.
const Json* find(const Json& object, std::string_view pointer) {
  const Json* node = &object;
  std::istringstream tokens{std::string(pointer.substr(1))};
  for (std::string token; std::getline(tokens, token, '/');) {
    token = unescape(token);
    const Json* next = nullptr;
    if (node->is_object() && node->contains(token)) next = &(*node)[token];
    if (node->is_array()) {
      for (const Json& item : *node) {
        if (item.is_object() && item.value("name", Json()) == token) next = &item;
      }
    }
    if (next == nullptr) return nullptr;
    node = next;
  }
  return node;
}

std::string text_of(const Json& scalar) {
  return scalar.is_string() ? scalar.get<std::string>() : scalar.dump();
}

bool holds(const Json& wanted, const Json& got) {
  if (wanted.is_object()) {
    return got.is_object() && std::ranges::all_of(wanted.items(), [&](const auto& entry) {
             return got.contains(entry.key()) && holds(entry.value(), got[entry.key()]);
           });
  }
  if (wanted.is_array()) return got.is_array() && std::ranges::equal(wanted, got, holds);
  return !got.is_structured() && text_of(wanted) == text_of(got);
}

/// Whether the list holds the item, or the items next to each other.
bool has(const Json& list, const Json& wanted) {
  const Json items = wanted.is_array() ? wanted : Json::array({wanted});
  return list.is_array() &&
         !std::ranges::search(list, items, [](const Json& got, const Json& item) { return holds(item, got); }).empty();
}

void check(const Json& row, const Json& object) {
  const Json* got = find(object, row["at"].get<std::string>());
  if (row.contains("absent")) {
    EXPECT_EQ(got, nullptr) << row;
    return;
  }
  ASSERT_NE(got, nullptr) << row;
  if (row.contains("is")) {
    EXPECT_TRUE(holds(row["is"], *got)) << row << " is " << *got;
  }
  if (row.contains("has")) {
    EXPECT_TRUE(has(*got, row["has"])) << row << " of " << *got;
  }
  if (row.contains("lacks")) {
    EXPECT_FALSE(has(*got, row["lacks"])) << row << " of " << *got;
  }
  EXPECT_TRUE(row.contains("is") || row.contains("has") || row.contains("lacks") || row.contains("present"))
      << row << " checks nothing";
}

TEST(Conformance, EveryRowHoldsInTheRecordedRenderings) {
  const fs::path folder = source_path("render");
  std::size_t rows = 0;
  for (const Json& list : read_documents(folder / "conformance.yaml")) {
    for (const Json& group : list) {
      const std::string name = group["case"];
      SCOPED_TRACE(name);
      std::vector<Json> found;
      for (const Json& object : read_documents(folder / "golden" / name / "rendered.yaml")) {
        if (object["kind"] == group["kind"]) found.push_back(object);
      }
      ASSERT_EQ(found.size(), group.value("count", 1U)) << group["kind"];
      for (const Json& row : group["rows"]) {
        check(row, found.front());
        ++rows;
      }
    }
  }
  EXPECT_GT(rows, 90U);
}

TEST(Conformance, TheCheckerNoticesWhatIsWrong) {
  const Json object = {{"list", {"a", "b", "c"}}, {"named", {{{"name", "x"}, {"value", 1}}}}};
  EXPECT_EQ(*find(object, "/named/x/value"), 1);
  EXPECT_EQ(find(object, "/named/y"), nullptr);
  EXPECT_TRUE(has(object["list"], {"b", "c"}));
  EXPECT_FALSE(has(object["list"], {"a", "c"}));
  EXPECT_TRUE(holds("8", 8));
  EXPECT_FALSE(holds({{"a", 1}}, {{"b", 1}}));
  EXPECT_FALSE(holds({"a"}, {"a", "b"}));
}

}  // namespace
}  // namespace inference::render
