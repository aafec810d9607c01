#include "e2e/faults/random_user.h"

#include <gtest/gtest.h>

#include <array>
#include <iterator>

#include "e2e/model.h"

namespace inference::e2e {

using namespace client::resources;

void RandomUser::act() {
  const std::size_t what = dice(100);
  if (wanted_.empty() || what < 48) return create();
  if (what < 88) return change();
  remove();
}

Json RandomUser::random_spec() {
  // Most have no pods: what is tested is the operator, and pods are work for everything else on the machine.
  Json spec = {{"model", {{"uri", "file:///var/cache/models/m" + std::to_string(dice(4))}}},
               {"parallelism", {{"tensor", 2}}},
               {"replicas", 1 + dice(2)},
               {"suspend", dice(6) != 0},
               {"nodes", dice(5) < 2 ? 2 : 1},
               {"resources", {{"cpu", 1}, {"memory", "16Gi"}}}};
  if (dice(2) == 0) spec["engine"] = {{"args", {"--seed=" + std::to_string(dice(1000))}}};
  if (dice(3) == 0) spec["serving"] = {{"maxModelLen", 1024 * (1 + dice(8))}};
  if (dice(4) == 0) spec["drain"] = {{"timeoutSeconds", 60 + dice(600)}};
  return spec;
}

std::string RandomUser::any_name() {
  return std::next(wanted_.begin(), static_cast<std::ptrdiff_t>(dice(wanted_.size())))->first;
}

void RandomUser::create() {
  const std::string name = "m" + std::to_string(created_++);
  put(wanted_[name] = model(ns_, name, random_spec()));
}

void RandomUser::change() {
  static constexpr std::array kFields = {"model",  "replicas", "replicas", "suspend", "nodes",
                                         "engine", "engine",   "serving",  "drain"};
  Json& object = wanted_[any_name()];
  const std::string field = kFields[dice(kFields.size())];
  const Json other = random_spec();
  if (other.contains(field)) {
    object["spec"][field] = other[field];
  } else {
    object["spec"].erase(field);
  }
  put(object);
}

void RandomUser::remove() {
  const std::string name = any_name();
  client::ApiError last;
  const bool removed = eventually([&] {
    auto answer = cluster_.api().remove(kInferenceDeployment, {ns_, name}, {}, {});
    if (!answer) last = answer.error();
    return answer.has_value() || last.is_not_found();
  });
  EXPECT_TRUE(removed) << name << ": " << last.to_string();
  if (dice(3) == 0) {
    put(wanted_[name] = model(ns_, name, random_spec()));
  } else {
    wanted_.erase(name);
  }
}

void RandomUser::change_profile() {
  profile_ = {{"apiVersion", "inference-operator.dev/v1alpha1"},
              {"kind", "InferenceProfile"},
              {"metadata", {{"name", ns_}}},
              {"spec", {{"default", true}, {"defaults", {{"drain", {{"timeoutSeconds", 700 + dice(600)}}}}}}}};
  put(profile_);
}

void RandomUser::put(const Json& object) {
  const client::Resource* resource = client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
  client::ApiError last;
  const bool written = eventually([&] {
    auto answer =
        cluster_.api().apply(*resource, object, {.force = client::Force::kYes, .field_manager = "a-user"}, {});
    if (!answer) last = answer.error();
    return answer.has_value();
  });
  EXPECT_TRUE(written) << object.dump() << ": " << last.to_string();
}

}  // namespace inference::e2e
