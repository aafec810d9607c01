#include "operator/runtime/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

Json object(const std::string& ns, const std::string& name, const std::string& version, const std::string& owner = "") {
  Json json = {{"metadata", {{"namespace", ns}, {"name", name}, {"resourceVersion", version}}}};
  if (!owner.empty()) json["metadata"]["ownerReferences"] = {{{"uid", owner}, {"name", "o"}}};
  return json;
}

std::vector<std::string> names(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  for (const Object& o : objects) names.push_back((*o)["metadata"]["name"]);
  return names;
}

using Names = std::vector<std::string>;

TEST(Store, ServesWhatWasAppliedOrderedByNamespaceAndName) {
  StoreWriter writer;
  const Lister lister = writer.lister();
  EXPECT_EQ(writer.apply(object("b", "x", "1")).before, nullptr);
  (void)writer.apply(object("a", "z", "2"));
  (void)writer.apply(object("a", "y", "3"));
  (void)writer.apply(object("aa", "w", "4"));
  EXPECT_EQ(names(lister.list()), (Names{"y", "z", "w", "x"}));
  EXPECT_EQ(lister.refs(), (std::vector<client::ObjectRef>{{"a", "y"}, {"a", "z"}, {"aa", "w"}, {"b", "x"}}));
  EXPECT_EQ(lister.size(), 4u);
  EXPECT_NE(lister.get({"a", "z"}), nullptr);
  EXPECT_EQ(lister.get({"b", "z"}), nullptr);
}

TEST(Store, TellsTheStateBeforeAndAfterAChange) {
  StoreWriter writer;
  const Json first = object("a", "x", "1");
  const Json second = object("a", "x", "2");
  (void)writer.apply(first);
  const Change updated = writer.apply(second);
  EXPECT_EQ(*updated.before, first);
  EXPECT_EQ(*updated.after, second);
  const Change removed = writer.remove({"a", "x"});
  EXPECT_EQ(*removed.before, second);
  EXPECT_EQ(removed.after, nullptr);
  EXPECT_EQ(writer.remove({"a", "x"}).before, nullptr);
  EXPECT_EQ(writer.lister().size(), 0u);
}

TEST(Store, LeavesASnapshotThatAReaderHoldsAsItWas) {
  StoreWriter writer;
  (void)writer.apply(object("a", "x", "1"));
  const Object held = writer.lister().get({"a", "x"});
  (void)writer.apply(object("a", "x", "2"));
  (void)writer.remove({"a", "x"});
  EXPECT_EQ((*held)["metadata"]["resourceVersion"], "1");
}

TEST(Store, SwapsASnapshotInAtOnceAndNamesWhatDiffers) {
  StoreWriter writer;
  const Lister lister = writer.lister();
  for (const char* name : {"same", "changed", "gone"}) (void)writer.apply(object("a", name, "1"));

  writer.begin_snapshot();
  writer.add_to_snapshot(object("a", "dropped", "9"));
  writer.begin_snapshot();  // the first attempt was cut off
  writer.add_to_snapshot(object("a", "same", "1"));
  writer.add_to_snapshot(object("a", "changed", "2"));
  writer.add_to_snapshot(object("a", "new", "3"));
  EXPECT_EQ(names(lister.list()), (Names{"changed", "gone", "same"})) << "the old one is served until the swap";

  std::map<std::string, std::pair<bool, bool>> seen;
  writer.commit_snapshot([&seen](const Change& change) {
    seen[change.ref.name] = {change.before != nullptr, change.after != nullptr};
  });
  EXPECT_EQ(names(lister.list()), (Names{"changed", "new", "same"}));
  const std::map<std::string, std::pair<bool, bool>> expected{
      {"changed", {true, true}}, {"gone", {true, false}}, {"new", {false, true}}};
  EXPECT_EQ(seen, expected);
}

TEST(Store, TellsAnObjectThatWasMadeAnewWhileAwayFromOneThatChanged) {
  StoreWriter writer;
  const auto incarnation = [](const char* uid, const char* version) {
    Json made = object("a", "m", version);
    made["metadata"]["uid"] = uid;
    made["metadata"]["generation"] = 1;
    return made;
  };
  (void)writer.apply(incarnation("u1", "1"));
  writer.begin_snapshot();
  writer.add_to_snapshot(incarnation("u2", "7"));
  std::vector<std::string> told;
  writer.commit_snapshot([&told](const Change& change) {
    const auto title = [](const Object& object) { return object == nullptr ? "nothing" : uid_of(*object); };
    told.push_back(title(change.before) + " to " + title(change.after));
  });
  EXPECT_EQ(told, (std::vector<std::string>{"u1 to nothing", "nothing to u2"}));
}

TEST(Store, FindsChildrenByTheUidOfTheirOwner) {
  StoreWriter writer({index_by_owner_uid()});
  const Lister lister = writer.lister();
  (void)writer.apply(object("a", "one", "1", "u1"));
  (void)writer.apply(object("a", "two", "1", "u1"));
  (void)writer.apply(object("a", "three", "1", "u2"));
  EXPECT_EQ(names(lister.by_index("owner", "u1")), (Names{"one", "two"}));
  (void)writer.apply(object("a", "two", "2", "u2"));
  EXPECT_EQ(names(lister.by_index("owner", "u1")), Names{"one"});
  EXPECT_EQ(names(lister.by_index("owner", "u2")), (Names{"three", "two"}));
  (void)writer.remove({"a", "three"});
  EXPECT_EQ(names(lister.by_index("owner", "u2")), Names{"two"});
  EXPECT_EQ((*lister.by_index("owner", "u2")[0])["metadata"]["resourceVersion"], "2");

  writer.begin_snapshot();
  writer.add_to_snapshot(object("a", "four", "1", "u1"));
  writer.commit_snapshot([](const Change&) {});
  EXPECT_EQ(names(lister.by_index("owner", "u1")), Names{"four"});
  EXPECT_TRUE(lister.by_index("owner", "u2").empty());
  EXPECT_TRUE(lister.by_index("no such index", "u1").empty());
}

TEST(Store, TakesStrangeObjectsAndIndexesThatNameAKeyTwice) {
  StoreWriter writer({index_by_owner_uid(), {.name = "twice", .keys = [](const Json&) { return Names{"k", "k"}; }}});
  for (const char* text : {"{}", "[]", "null", R"({"metadata":1})", R"({"metadata":{"ownerReferences":[1,{}]}})"}) {
    (void)writer.apply(Json::parse(text));
  }
  EXPECT_EQ(writer.lister().by_index("twice", "k").size(), 1u);
  (void)writer.remove({"", ""});
  EXPECT_TRUE(writer.lister().by_index("twice", "k").empty());
}

TEST(Store, OutlivesItsWriterThroughAReader) {
  auto writer = std::make_unique<StoreWriter>();
  (void)writer->apply(object("a", "x", "1"));
  const Lister lister = writer->lister();
  writer.reset();
  EXPECT_EQ(lister.size(), 1u);
}

TEST(Store, ShowsReadersWholeSnapshotsWhileItIsWritten) {
  StoreWriter writer({index_by_owner_uid()});
  std::atomic<bool> torn = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&torn, lister = writer.lister()](std::stop_token stop) {
      while (!stop.stop_requested()) {
        const std::vector<Object> all = lister.list();
        // Each snapshot below has 0 or 50 objects, all of one version.
        if (!all.empty() && all.size() != 50) torn = true;
        for (const Object& o : all) {
          if ((*o)["metadata"]["resourceVersion"] != (*all.front())["metadata"]["resourceVersion"]) torn = true;
        }
        (void)lister.by_index("owner", "u");
      }
    });
  }
  for (int version = 0; version < 20; ++version) {
    writer.begin_snapshot();
    for (int i = 0; i < 50; ++i) {
      writer.add_to_snapshot(object("a", std::to_string(i), std::to_string(version), "u"));
    }
    writer.commit_snapshot([](const Change&) {});
  }
  readers.clear();
  EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace inference::runtime
