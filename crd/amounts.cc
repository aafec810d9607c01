#include "crd/amounts.h"

#include <algorithm>

namespace inference::crd {
namespace {

Amounts requests_in(const Json& holder) {
  return read_amounts(holder.value("/resources/requests"_json_pointer, Json::object()));
}

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) sum[name] = sum[name] + amount;
}

void raise(Amounts& most, const Amounts& other) {
  for (const auto& [name, amount] : other) most[name] = std::max(most[name], amount);
}

}  // namespace

Amounts read_amounts(const Json& list) {
  Amounts amounts;
  for (const auto& [name, text] : list.items()) {
    if (auto amount = Quantity::parse(text.is_string() ? text.get<std::string>() : text.dump()))
      amounts[name] = *amount;
  }
  return amounts;
}

Amounts requests_of(const Json& pod) {
  const Json spec = pod.value("spec", Json::object());
  Amounts running;
  for (const Json& container : spec.value("containers", Json::array())) add(running, requests_in(container));
  Amounts sidecars;
  Amounts starting;
  for (const Json& container : spec.value("initContainers", Json::array())) {
    Amounts requests = requests_in(container);
    if (container.value("restartPolicy", "") == "Always") {
      add(running, requests);
      add(sidecars, requests);
      raise(starting, sidecars);
    } else {
      add(requests, sidecars);
      raise(starting, requests);
    }
  }
  raise(running, starting);
  for (const auto& [name, amount] : requests_in(spec)) running[name] = amount;
  add(running, read_amounts(spec.value("overhead", Json::object())));
  running["pods"] = Quantity(1);
  return running;
}

bool covers(const Amounts& available, const Amounts& needed) {
  return std::ranges::all_of(needed, [&](const auto& need) {
    if (need.second <= Quantity()) return true;
    const auto found = available.find(need.first);
    return found != available.end() && found->second >= need.second;
  });
}

void subtract(Amounts& available, const Amounts& used) {
  for (const auto& [name, amount] : used) {
    if (const auto found = available.find(name); found != available.end()) found->second = found->second - amount;
  }
}

std::int64_t gpus_in(const Amounts& amounts) {
  std::int64_t sum = 0;
  for (const auto& [name, amount] : amounts) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) continue;
    const std::string device = name.substr(slash + 1);
    if (device.starts_with("gpu") || device.starts_with("mig-")) sum += amount.units();
  }
  return sum;
}

}  // namespace inference::crd
