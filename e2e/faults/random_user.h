#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "base/json.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {

/// Someone who creates, changes and deletes InferenceDeployments of one namespace at random, and remembers what should
/// be there. What is done follows from the seed alone.
class RandomUser {
 public:
  RandomUser(RealCluster& cluster, std::string ns, std::uint64_t seed)
      : cluster_(cluster), ns_(std::move(ns)), engine_(seed) {}

  /// One thing, whatever it is; the API server may be away for a while.
  void act();
  /// Changes one field of one object.
  void change();
  /// Creates or changes the profile that concerns every object.
  void change_profile();

  /// From 0 to `below` - 1.
  [[nodiscard]] std::size_t dice(std::size_t below) { return engine_() % below; }
  /// How many different objects have been created so far.
  [[nodiscard]] int created() const { return created_; }
  [[nodiscard]] const std::map<std::string, Json>& wanted() const { return wanted_; }
  [[nodiscard]] const Json& profile() const { return profile_; }

 private:
  [[nodiscard]] Json random_spec();
  [[nodiscard]] std::string any_name();
  void create();
  /// Deletes one object, and every third time makes another of the same name at once.
  void remove();
  void put(const Json& object);

  RealCluster& cluster_;
  const std::string ns_;
  std::mt19937_64 engine_;
  int created_ = 0;
  std::map<std::string, Json> wanted_;  // by name
  Json profile_;
};

}  // namespace inference::e2e
