#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/clock.h"
#include "operator/client/api_client.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/informer.h"
#include "operator/runtime/recorder.h"
#include "reconcilers/gates/board.h"
#include "reconcilers/gates/decision.h"

namespace inference::reconcilers::gates {

/// Lifts the scheduling gates of whole groups, for all groups of the cluster in one pass: there is one key only, so
/// that no two releases count on the same room. What it does follows from the pods' state alone, so that a pass that
/// was cut short is taken up by the next, of this process or another.
class GateKeeper final : public runtime::Reconciler {
 public:
  struct Sources {
    runtime::Lister gated;      // all pods with our gang label
    runtime::Informer& nodes;   // started when the first group is held: a cluster without gates does not pay for them
    runtime::Informer& others;  // all other pods; started likewise
  };
  /// `tell` is called with each owner of whom the board says something new. All references outlive the keeper.
  GateKeeper(Sources sources, std::shared_ptr<Board> board, std::shared_ptr<const Pauses> pauses,
             std::function<void(const client::ObjectRef&)> tell, client::ApiClient& api, runtime::Recorder& recorder,
             Clock& clock);

  [[nodiscard]] std::expected<runtime::Result, runtime::ReconcileError> reconcile(const runtime::Request& request,
                                                                                  std::stop_token stop) override;

  /// Pods released in one pass; then nodes and pods are looked at anew.
  static constexpr std::size_t kReleasesPerPass = 64;

 private:
  [[nodiscard]] bool is_ready(std::stop_token stop);
  void publish(const std::vector<Waiting>& waiting);
  [[nodiscard]] std::expected<void, runtime::ReconcileError> release(const Member& member, std::stop_token stop);
  [[nodiscard]] std::expected<void, runtime::ReconcileError> recover(const Recovery& recovery, std::stop_token stop);
  [[nodiscard]] std::expected<runtime::Result, runtime::ReconcileError> carry_out(const Decision& decision,
                                                                                  std::stop_token stop);

  const Sources sources_;
  const std::shared_ptr<Board> board_;
  const std::shared_ptr<const Pauses> pauses_;
  const std::function<void(const client::ObjectRef&)> tell_;
  client::ApiClient& api_;
  runtime::Recorder& recorder_;
  Clock& clock_;
  bool started_ = false;  // the informers; used by the one worker, like the next
  Memory memory_;
};

/// Whether what a pod takes of its node has changed: it was bound, has ended or is gone. A predicate for handlers.
[[nodiscard]] bool changes_room(const runtime::Change& change);

/// The one key of its queue.
inline const client::ObjectRef kAllGroups{"", "groups"};

}  // namespace inference::reconcilers::gates
