// What must hold whatever happens, over many random turns of clusters.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "reconcilers/gates/decision.h"

namespace inference::reconcilers::gates {
namespace {

constexpr TimePoint kNow{std::chrono::seconds{1000}};

/// A cluster of decided values, for many random turns: reading objects takes most of the time.
struct Fleet {
  std::vector<Node> nodes;                     // `free` is what `most` has beside the bound pods
  std::vector<Group> groups;                   // the oldest first
  std::map<std::string, std::size_t> node_of;  // of bound pods, by uid
  Memory memory;

  void add_node(int gpus, const char* product) {
    Node node{.name = "n" + std::to_string(nodes.size()), .labels = {{"product", product}}, .open = true};
    node.most = node.free = {{"gpu", crd::Quantity(gpus)}};
    nodes.push_back(std::move(node));
  }
  void add_group(const std::vector<int>& gpus, const char* product) {
    Group group{.name = {"llm", "g" + std::to_string(++groups_made_), 0}, .owner = {"llm", "m"}};
    group.size = std::ssize(gpus);
    for (std::size_t worker = 0; worker < gpus.size(); ++worker) {
      Member member{.ref = {"llm", group.name.leader() + "-" + std::to_string(worker)}};
      member.uid = member.ref.name;
      member.needs = {.requests = {{"gpu", crd::Quantity(gpus[worker])}}, .selector = {{"product", product}}};
      group.members.push_back(std::move(member));
    }
    groups.push_back(std::move(group));
  }
  Member& member(const std::string& uid) {
    for (Group& group : groups) {
      for (Member& member : group.members) {
        if (member.uid == uid) return member;
      }
    }
    throw std::logic_error("no pod " + uid);
  }
  [[nodiscard]] Decision decide() {
    memory.update(groups, kNow);
    return gates::decide(nodes, groups, memory, kNow);
  }
  void bind(Member& member, std::size_t node) {
    subtract(nodes[node].free, member.needs.requests);
    member.state = Member::State::kBound;
    node_of[member.uid] = node;
  }
  void end(std::size_t index) {
    for (const Member& member : groups[index].members) {
      crd::Amounts& free = nodes[node_of.at(member.uid)].free;
      for (const auto& [name, amount] : member.needs.requests) free[name] = free[name] + amount;
    }
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(index));
  }
  int groups_made_ = 0;
};

/// Whether all pods find a node at the same time, by trying everything.
bool all_fit(std::vector<Node>& nodes, const std::vector<Needs>& pods, std::size_t from = 0) {
  if (from == pods.size()) return true;
  for (Node& node : nodes) {
    if (!admits(node, pods[from]) || !covers(node.free, pods[from].requests)) continue;
    const crd::Amounts before = node.free;
    subtract(node.free, pods[from].requests);
    if (all_fit(nodes, pods, from + 1)) return true;
    node.free = before;
  }
  return false;
}

TEST(GatesProperty, NothingIsReleasedThatDoesNotFitBesideAllThatIsPromised) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto one_of = [&random](const std::vector<int>& choices) { return choices[random() % choices.size()]; };
    const auto product = [&] { return one_of({0, 1}) == 0 ? "A" : "B"; };
    Fleet fleet;
    for (int node = 0; node < 5; ++node) fleet.add_node(one_of({4, 8}), product());
    for (int group = 0; group < 5; ++group) {
      std::vector<int> gpus(static_cast<std::size_t>(one_of({1, 2, 3})), one_of({2, 4, 8}));
      gpus[0] = one_of({2, 4, 8});
      fleet.add_group(gpus, product());
    }
    // What was released in the first turn waits for its nodes in the second, when more groups have come.
    std::vector<Needs> promised;
    for (int turn = 0; turn < 2; ++turn) {
      for (const Member& released : fleet.decide().releases) {
        fleet.member(released.uid).state = Member::State::kReleased;
        promised.push_back(released.needs);
      }
      fleet.add_group({one_of({2, 4, 8}), one_of({2, 4})}, product());
    }
    std::ranges::sort(promised, std::greater(), [](const Needs& needs) { return needs.requests.at("gpu").units(); });
    EXPECT_TRUE(all_fit(fleet.nodes, promised)) << "seed " << seed;
  }
}

/// Plays a cluster of whole-node pods: groups come, are released (now and then only in part, when the operator is
/// killed), are bound by a scheduler that takes any node, run for a while and end.
class Play {
 public:
  explicit Play(unsigned seed) : random_(seed) {
    for (int node = 0; node < 6; ++node) fleet_.add_node(8, node < 4 ? "A" : "B");
  }

  void run() {
    for (int step = 0; step < 400 && (fleet_.groups_made_ < 12 || !fleet_.groups.empty()); ++step) {
      if (fleet_.groups_made_ < 12 && chance(3)) come();
      if (chance(8)) fleet_.memory = Memory();  // restarted
      turn();
      if (chance(2)) schedule();
      if (chance(4)) end_one();
    }
    EXPECT_EQ(fleet_.groups_made_, 12);
    EXPECT_TRUE(fleet_.groups.empty()) << fleet_.groups[0].name.leader() << " was never placed";
  }

 private:
  bool chance(unsigned of) { return random_() % of == 0; }

  void come() {
    const bool few = chance(3);
    const std::size_t size = 1 + random_() % (few ? 2 : 4);
    fleet_.add_group(std::vector<int>(size, 8), few ? "B" : "A");
  }

  void turn() {
    const Decision decision = fleet_.decide();
    EXPECT_TRUE(decision.recoveries.empty());
    check_turns(decision);
    for (const Member& released : decision.releases) {
      if (chance(6)) return;  // killed in between
      fleet_.member(released.uid).state = Member::State::kReleased;
      fleet_.memory.released(released);
    }
  }

  /// No older group that needs the same nodes is left waiting.
  void check_turns(const Decision& decision) {
    std::set<std::string> released;
    for (const Member& member : decision.releases) released.insert(member.uid);
    std::set<std::string> waiting;  // products
    for (const Group& group : fleet_.groups) {
      if (group.count(Member::State::kHeld) != group.size) continue;
      const std::string product = group.members[0].needs.selector["product"];
      if (released.contains(group.members[0].uid)) {
        EXPECT_FALSE(waiting.contains(product)) << group.name.leader() << " has passed an older one";
      } else {
        waiting.insert(product);
      }
    }
  }

  void schedule() {
    for (Group& group : fleet_.groups) {
      for (Member& member : group.members) {
        if (member.state != Member::State::kReleased) continue;
        std::vector<std::size_t> fitting;
        for (std::size_t node = 0; node < fleet_.nodes.size(); ++node) {
          if (admits(fleet_.nodes[node], member.needs) && covers(fleet_.nodes[node].free, member.needs.requests))
            fitting.push_back(node);
        }
        ASSERT_FALSE(fitting.empty()) << member.uid << " was released and has no node";
        fleet_.bind(member, fitting[random_() % fitting.size()]);
      }
    }
  }

  /// The oldest group of which all pods have nodes ends.
  void end_one() {
    for (std::size_t index = 0; index < fleet_.groups.size(); ++index) {
      if (fleet_.groups[index].count(Member::State::kBound) == fleet_.groups[index].size) return fleet_.end(index);
    }
  }

  std::mt19937 random_;
  Fleet fleet_;
};

TEST(GatesProperty, EveryGroupIsPlacedInItsTurnAndNoneIsLeftHalfPlaced) {
  for (unsigned seed = 0; seed < 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play(seed).run();
  }
}

}  // namespace
}  // namespace inference::reconcilers::gates
