#include "reconcilers/gather.h"

#include <algorithm>

#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"
#include "render/labels.h"

namespace inference::reconcilers {
namespace {

render::Refusal refuse(std::string reason, std::string path, std::string message) {
  return {std::move(reason), {{std::move(path), std::move(message)}}};
}

std::expected<std::optional<crd::InferenceProfile>, render::Refusal> decode_profile(const Json& object) {
  auto profile = crd::decode_inference_profile(object);
  if (profile) return std::optional(std::move(*profile));
  crd::FieldErrors errors;
  for (const auto& error : profile.error()) {
    errors.push_back(
        {"spec.profileRef.name", "InferenceProfile " + runtime::ref_of(object).name + ": " + crd::to_string(error)});
  }
  return std::unexpected(render::Refusal{"ProfileInvalid", std::move(errors)});
}

bool is_newer(const Json& object, const Json& other) {
  return runtime::version_number(runtime::resource_version_of(object)) >
         runtime::version_number(runtime::resource_version_of(other));
}

/// Ours that the cache has not shown yet take the place of what it shows.
std::vector<Object> with_unseen(std::vector<Object> cached, std::vector<Object> unseen, std::string_view owner_uid) {
  for (Object& written : unseen) {
    if (!is_controlled_by(*written, owner_uid)) continue;
    const auto same = std::ranges::find_if(
        cached, [&](const Object& object) { return runtime::ref_of(*object) == runtime::ref_of(*written); });
    if (same == cached.end()) {
      cached.push_back(std::move(written));
    } else if (is_newer(*written, **same)) {
      *same = std::move(written);
    }
  }
  return cached;
}

}  // namespace

runtime::Index index_pods() {
  return {kPodOwnerIndex, [](const Json& pod) {
            std::vector<std::string> keys;
            for (const auto& owner : owner_of_pod(pod)) keys.push_back(owner.to_string());
            return keys;
          }};
}

std::vector<client::ObjectRef> owner_of_pod(const Json& pod) {
  const auto metadata = pod.find("metadata");
  if (metadata == pod.end() || !metadata->contains("labels")) return {};
  const Json& labels = (*metadata)["labels"];
  const auto name = labels.find(render::kNameLabel);
  if (name == labels.end() || !name->is_string()) return {};
  return {{metadata->value("namespace", ""), name->get<std::string>()}};
}

const runtime::Lister& Caches::of(const client::Resource& child) const {
  const auto found = std::ranges::find(children, child, &std::pair<client::Resource, runtime::Lister>::first);
  if (found == children.end()) throw std::logic_error("no cache holds children of kind " + child.kind);
  return found->second;
}

const Json* Observed::status() const {
  const auto found = object->find("status");
  return found == object->end() ? nullptr : &*found;
}

std::expected<std::optional<crd::InferenceProfile>, render::Refusal> choose_profile(
    const std::optional<std::string>& named, const runtime::Lister& profiles) {
  if (named) {
    const Object object = profiles.get({"", *named});
    if (object == nullptr) {
      return std::unexpected(
          refuse("ProfileNotFound", "spec.profileRef.name", "there is no InferenceProfile " + *named));
    }
    return decode_profile(*object);
  }
  std::vector<Object> defaults;
  for (const Object& object : profiles.list()) {
    if (object->value("/spec/default"_json_pointer, false)) defaults.push_back(object);
  }
  if (defaults.empty()) return std::nullopt;
  if (defaults.size() == 1) return decode_profile(*defaults.front());
  std::string names;
  for (const Object& object : defaults) names += (names.empty() ? "" : ", ") + runtime::ref_of(*object).name;
  return std::unexpected(refuse(
      "ProfileAmbiguous", "spec.profileRef",
      "several InferenceProfiles are marked as default (" + names + "): name one, or let only one be the default"));
}

std::optional<Observed> gather(const Caches& caches, OwnWrites& own, const client::ObjectRef& ref) {
  // Each version, and what we have written beyond it, is read before the cache, which can then only be newer: what is
  // forgotten in between because the cache has come to show it is found there.
  std::vector<Object> unseen = own.unseen(ref, client::resources::kInferenceDeployment, caches.deployments.version());
  Object object = caches.deployments.get(ref);
  if (object == nullptr || (*object)["metadata"].contains("deletionTimestamp")) {
    own.forget(ref);
    return std::nullopt;
  }
  for (Object& written : unseen) {
    if (runtime::uid_of(*written) == runtime::uid_of(*object) && is_newer(*written, *object))
      object = std::move(written);
  }
  Observed observed{.object = object,
                    .deployment = std::unexpected(render::Refusal{}),
                    .profile = std::nullopt,
                    .children = {},
                    .pods = {}};
  if (auto decoded = crd::decode_inference_deployment(*object)) {
    observed.profile = choose_profile(decoded->spec.profile_ref, caches.profiles);
    observed.deployment = std::move(*decoded);
  } else {
    observed.deployment = std::unexpected(render::Refusal{"InvalidSpec", std::move(decoded.error())});
  }
  const std::string uid = (*object)["metadata"].value("uid", "");
  for (const auto& [resource, lister] : caches.children) {
    std::vector<Object> written = own.unseen(ref, resource, lister.version());
    std::vector<Object> cached = lister.by_index(runtime::index_by_owner_uid().name, uid);
    for (Object& child : with_unseen(std::move(cached), std::move(written), uid))
      observed.children.push_back({resource, std::move(child)});
  }
  observed.pods = caches.pods.by_index(kPodOwnerIndex, ref.to_string());
  if (caches.claims) observed.claims = caches.claims->by_index(kPodOwnerIndex, ref.to_string());
  if (caches.gates != nullptr) observed.gated = caches.gates->of(ref);
  return observed;
}

}  // namespace inference::reconcilers
