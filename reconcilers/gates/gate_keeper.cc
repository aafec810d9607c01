#include "reconcilers/gates/gate_keeper.h"

#include <algorithm>

#include "base/logging.h"
#include "render/labels.h"

namespace inference::reconcilers::gates {
namespace {

using runtime::ReconcileError;
using runtime::Result;

/// For the first lists of nodes and pods; what takes longer is said in status meanwhile.
constexpr std::chrono::seconds kSyncPatience{2};

/// The pod is gone, which the cache will show.
bool is_gone(const client::ApiError& error) {
  return error.is_not_found() || error.is_conflict();
}

}  // namespace

bool changes_room(const runtime::Change& change) {
  const auto room = [](const Object& pod) {
    if (pod == nullptr) return std::string();
    const std::string phase = pod->value("/status/phase"_json_pointer, "");
    return phase == "Succeeded" || phase == "Failed" ? std::string() : pod->value("/spec/nodeName"_json_pointer, "");
  };
  return room(change.before) != room(change.after);
}

GateKeeper::GateKeeper(Sources sources, std::shared_ptr<Board> board, std::shared_ptr<const Pauses> pauses,
                       std::function<void(const client::ObjectRef&)> tell, client::ApiClient& api,
                       runtime::Recorder& recorder, Clock& clock)
    : sources_(std::move(sources)),
      board_(std::move(board)),
      pauses_(std::move(pauses)),
      tell_(std::move(tell)),
      api_(api),
      recorder_(recorder),
      clock_(clock) {}

std::expected<Result, ReconcileError> GateKeeper::reconcile(const runtime::Request& /*request*/, std::stop_token stop) {
  const std::vector<Object> gated = sources_.gated.list();
  std::vector<Group> groups = read_groups(gated);
  memory_.update(groups, clock_.now());
  memory_.pause(pauses_->all(), clock_.now(), clock_.wall_now());
  const bool settled = std::ranges::all_of(
      groups, [](const Group& group) { return group.count(Member::State::kBound) == std::ssize(group.members); });
  if (settled) {
    publish({});
    return Result::await_change();
  }
  if (!is_ready(stop)) {
    std::vector<Waiting> waiting;
    const std::string cause = sources_.nodes.last_error() + sources_.others.last_error();
    for (const Group& group : groups) {
      if (group.count(Member::State::kHeld) > 0)
        waiting.push_back({group.owner, group.since(),
                           "group " + group.name.leader() + " waits until nodes and pods are known" +
                               (cause.empty() ? "" : ": " + cause)});
    }
    publish(waiting);
    return Result::requeue_after(kSyncPatience, "nodes and pods are being listed");
  }
  std::vector<Node> nodes;
  for (const Object& node : sources_.nodes.lister().list()) nodes.push_back(read_node(*node));
  for (const Object& pod : sources_.others.lister().list()) occupy(nodes, *pod);
  for (const Object& pod : gated) occupy(nodes, *pod);
  const Decision decision = decide(std::move(nodes), groups, memory_, clock_.now());
  // From here on everything is decided; what follows only carries it out and tells.
  auto outcome = carry_out(decision, stop);
  if (!stop.stop_requested()) publish(decision.waiting);
  return outcome;
}

bool GateKeeper::is_ready(std::stop_token stop) {
  if (!started_) {
    log::info("a group is held by scheduling gates: nodes and all pods are watched from now on");
    sources_.nodes.start();
    sources_.others.start();
    started_ = true;
  }
  const TimePoint deadline = clock_.now() + kSyncPatience;
  return sources_.nodes.wait_for_sync(deadline, stop) && sources_.others.wait_for_sync(deadline, stop);
}

void GateKeeper::publish(const std::vector<Waiting>& waiting) {
  for (const client::ObjectRef& owner : board_->publish(waiting)) tell_(owner);
}

std::expected<Result, ReconcileError> GateKeeper::carry_out(const Decision& decision, std::stop_token stop) {
  // What one group meets (a policy that refuses the change of its pods) must not hold up the others.
  std::optional<ReconcileError> failure;
  const auto succeeds = [&failure](const std::expected<void, ReconcileError>& done) {
    if (!done && !failure) failure = done.error();
    return done.has_value();
  };
  for (const Recovery& recovery : decision.recoveries) (void)succeeds(recover(recovery, stop));
  std::size_t released = 0;
  for (const Member& member : decision.releases) {
    if (released == kReleasesPerPass || stop.stop_requested()) break;
    if (succeeds(release(member, stop))) ++released;
  }
  if (failure) return std::unexpected(*failure);
  if (released == kReleasesPerPass) return Result::requeue_after(Duration::zero(), "more groups may fit");
  if (!decision.look_again) return Result::await_change();
  return Result::requeue_after(std::max(*decision.look_again - clock_.now(), Duration::zero()),
                               "a group is refused or pauses");
}

std::expected<void, ReconcileError> GateKeeper::release(const Member& member, std::stop_token stop) {
  const std::string gate = "/spec/schedulingGates/" + std::to_string(member.gate);
  const Json operations = {{{"op", "test"}, {"path", "/metadata/uid"}, {"value", member.uid}},
                           {{"op", "test"}, {"path", gate + "/name"}, {"value", render::kGangGate}},
                           {{"op", "remove"}, {"path", gate}}};
  const auto patched = api_.json_patch(client::resources::kPod, member.ref, operations, stop);
  if (patched) {
    memory_.released(member);
    log::info("released a pod of a group that fits", {{"object", member.ref.to_string()}});
    return {};
  }
  if (is_gone(patched.error())) return {};
  return std::unexpected(ReconcileError::retry("release pod " + member.ref.to_string(), patched.error()));
}

std::expected<void, ReconcileError> GateKeeper::recover(const Recovery& recovery, std::stop_token stop) {
  const auto removed =
      api_.remove(client::resources::kPod, recovery.leader, {.uid = recovery.leader_uid}, std::move(stop));
  if (!removed && is_gone(removed.error())) return {};
  if (!removed)
    return std::unexpected(
        ReconcileError::retry("delete the leader of the split group " + recovery.leader.to_string(), removed.error()));
  memory_.split(recovery.group, recovery.leader_uid, clock_.now());
  log::warning("a group is made anew: other pods took a node that it was to have",
               {{"object", recovery.owner.to_string()}, {"group", recovery.leader.to_string()}});
  recorder_.record(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", {{"name", recovery.leader.name}, {"namespace", recovery.leader.ns}, {"uid", recovery.leader_uid}}}},
      {runtime::EventNote::Type::kWarning, "GroupSplit", "Recreate",
       "other pods took a node that this group was to have: the group is made anew and waits until all of "
       "it fits"});
  return {};
}

}  // namespace inference::reconcilers::gates
