#include "reconcilers/cluster_facts.h"

#include <algorithm>
#include <string>

#include "operator/client/resource.h"
#include "reconcilers/queue_facts.h"
#include "reconcilers/volcano_facts.h"

namespace inference::reconcilers {
namespace {

using Answer = std::expected<bool, client::ApiError>;

/// Whether discovery of the resource's group version lists it. A group version that is not served is a 404, and no
/// error.
Answer is_served(client::ApiClient& api, const client::Resource& resource, std::stop_token stop) {
  const auto list = api.get_raw("/apis/" + resource.api_version(), stop);
  if (!list) return list.error().is_not_found() ? Answer(false) : std::unexpected(list.error());
  return std::ranges::any_of(list->value("resources", Json::array()),
                             [&](const Json& entry) { return entry.value("name", "") == resource.plural; });
}

Answer exists(client::ApiClient& api, const client::Resource& resource, const std::string& name, std::stop_token stop) {
  const auto object = api.get(resource, {"", name}, stop);
  if (object) return true;
  return object.error().is_not_found() ? Answer(false) : std::unexpected(object.error());
}

}  // namespace

std::expected<render::ClusterFacts, client::ApiError> ClusterFactsSource::get(std::stop_token stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (known_ && clock_.now() - asked_ < kFreshFor) return *known_;
  }
  // Asked without the lock: two workers may ask at once, and both get the truth.
  auto facts = ask(stop);
  if (!facts) return facts;
  const std::scoped_lock lock(mutex_);
  known_ = *facts;
  asked_ = clock_.now();
  return facts;
}

std::expected<render::ClusterFacts, client::ApiError> ClusterFactsSource::get_with_queue(const client::ObjectRef& queue,
                                                                                         std::stop_token stop) {
  auto facts = get(stop);
  if (!facts || !facts->kueue) return facts;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(queues_, [&](const auto& entry) { return clock_.now() - entry.second.asked >= kFreshFor; });
    const auto known = queues_.find(queue);
    if (known != queues_.end()) {
      facts->queue = known->second.facts;
      return facts;
    }
  }
  auto answer = ask_queue(api_, queue.ns, queue.name, stop);
  if (!answer) return std::unexpected(answer.error());
  facts->queue = *answer;
  const std::scoped_lock lock(mutex_);
  queues_[queue] = {std::move(*answer), clock_.now()};
  return facts;
}

std::expected<render::ClusterFacts, client::ApiError> ClusterFactsSource::ask(std::stop_token stop) {
  using namespace client::resources;
  const Answer groups = is_served(api_, kLeaderWorkerSet, stop);
  if (!groups) return std::unexpected(groups.error());
  const Answer volcano = is_served(api_, kVolcanoPodGroup, stop);
  if (!volcano) return std::unexpected(volcano.error());
  const Answer kueue = is_served(api_, kLocalQueue, stop);
  if (!kueue) return std::unexpected(kueue.error());
  Answer native = is_served(api_, kPodGroup, stop);
  if (native && *native) native = exists(api_, kMutatingAdmissionPolicy, kGangPolicyName, stop);
  if (native && *native) native = exists(api_, kMutatingAdmissionPolicyBinding, kGangPolicyName, stop);
  if (!native) return std::unexpected(native.error());
  const Answer claims = is_served(api_, kResourceClaimTemplate, stop);
  if (!claims) return std::unexpected(claims.error());
  const Answer domains = is_served(api_, kComputeDomain, stop);
  if (!domains) return std::unexpected(domains.error());
  render::ClusterFacts facts{.leader_worker_set = *groups,
                             .native_gang = *native,
                             .kueue = *kueue,
                             .dra = *claims,
                             .compute_domain = *domains};
  if (*volcano) ask_volcano(api_, own_namespace_, facts, stop);
  return facts;
}

}  // namespace inference::reconcilers
