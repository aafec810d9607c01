#include <algorithm>
#include <set>

#include "audit/amount.h"
#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"
#include "base/parse_integer.h"
#include "crd/quantity.h"

namespace inference::audit {
namespace {

using crd::Quantity;

/// Why one resource keeps its pod from being Guaranteed; "" when it does not.
std::string fault_of(std::string_view resource, const std::string& limit, const std::string& request) {
  const std::string name(resource);
  if (!amount(limit)) return amount(request) ? name + " has no limit" : name + " has neither request nor limit";
  if (request.empty()) return "";  // the API server copies the limit
  const auto requested = amount(request);
  if (requested && *requested == *amount(limit)) return "";
  return name + " requests " + request + " of a limit of " + limit;
}

/// For what there is one amount of: the limit, and where there is none the request.
Json guaranteed_patch(const Subject& subject, const Container& container) {
  PatchWriter patch(subject.object());
  for (const char* resource : {"cpu", "memory"}) {
    const std::string limit = container.limit(resource);
    const std::string request = container.request(resource);
    if (fault_of(resource, limit, request).empty()) continue;
    const std::string& wanted = amount(limit) ? limit : request;
    if (!amount(wanted)) return Json::array();
    if (wanted != limit) patch.set(below(container.pointer, {"resources", "limits", resource}), wanted);
    if (wanted != request) patch.set(below(container.pointer, {"resources", "requests", resource}), wanted);
  }
  return patch.take();
}

/// Whether the pod's own resources, which then alone decide its class, are there; and their fault.
std::optional<std::string> fault_of_pod_resources(const PodTemplate& pod) {
  const Json& resources = member(pod.spec(), "resources");
  if (!resources.is_object() || (member(resources, "limits").empty() && member(resources, "requests").empty()))
    return std::nullopt;
  const Json as_container = {{"resources", resources}};
  const Container all{.pointer = "", .json = &as_container};
  for (const char* resource : {"cpu", "memory"}) {
    if (std::string fault = fault_of(resource, all.limit(resource), all.request(resource)); !fault.empty())
      return fault;
  }
  return "";
}

/// The CPUs that the engine's container may use, as written.
std::string cpus_of(const Container& container) {
  const std::string limit = container.limit("cpu");
  return limit.empty() ? container.request("cpu") : limit;
}

std::set<std::string> gpu_resources(const Container& container) {
  std::set<std::string> resources;
  for (const char* list : {"limits", "requests"}) {
    const Json& amounts = member(member(*container.json, "resources"), list);
    if (!amounts.is_object()) continue;
    for (const auto& [resource, unused] : amounts.items()) {
      if (is_gpu_resource(resource)) resources.insert(resource);
    }
  }
  return resources;
}

/// What is wrong with the amount of one GPU resource.
std::optional<Found> gpu_fault(const Subject& subject, const Container& container, const std::string& resource) {
  const std::string limit = container.limit(resource);
  const std::string request = container.request(resource);
  const auto limited = Quantity::parse(limit);
  const auto requested = Quantity::parse(request);
  const std::string& written = limit.empty() ? request : limit;
  const std::string pointer = below(container.pointer, {"resources", limit.empty() ? "requests" : "limits", resource});
  if ((limited && !limited->is_whole()) || (requested && !requested->is_whole())) {
    const std::string& fraction = limited && !limited->is_whole() ? limit : request;
    return Found{.pointer = pointer,
                 .message = resource + " " + fraction + " is a fraction, which the API server refuses",
                 .fix = "ask for whole GPUs; shares and slices of GPUs have resources of their own"};
  }
  const bool differ = limited && requested && *limited != *requested;
  if (!limit.empty() && !differ) return std::nullopt;
  PatchWriter patch(subject.object());
  patch.set(below(container.pointer, {"resources", limit.empty() ? "limits" : "requests", resource}), written);
  return Found{.pointer = pointer,
               .message = resource +
                          (limit.empty() ? " is requested without a limit"
                                         : " has a limit of " + limit + " and a request of " + request) +
                          ", which the API server refuses",
               .fix = "set the limit to " + written + " and the request to the same or to nothing",
               .patch = patch.take()};
}

/// What is wrong with one variable that sizes a pool of threads.
std::optional<Found> thread_fault(const GpuContainer& gpu, const char* name) {
  const auto variable = find_variable(*gpu.container, name);
  const auto threads = variable && variable->value ? parse_integer<std::int64_t>(*variable->value) : std::nullopt;
  const auto cpus = amount(cpus_of(*gpu.container));
  if (!threads || !cpus || *threads <= cpus->units()) return std::nullopt;
  return Found{.pointer = variable->pointer + "/value",
               .message = std::string(name) + " is " + *variable->value + " on " + cpus_of(*gpu.container) +
                          " CPUs: the threads take each other's time",
               .fix = "set at most the number of CPUs, better a quarter of it"};
}

}  // namespace

Founds qos_guaranteed(const Subject& subject) {
  Founds found;
  for (const PodTemplate* pod : subject.pods) {
    if (const auto fault = fault_of_pod_resources(*pod)) {
      if (!fault->empty())
        found.push_back({.pointer = pod->spec_pointer() + "/resources",
                         .message = "the pod is not Guaranteed: its " + *fault,
                         .fix = "give cpu and memory of the pod equal requests and limits"});
      continue;
    }
    for (const Container& container : pod->containers) {
      std::string faults;
      for (const char* resource : {"cpu", "memory"}) {
        const std::string fault = fault_of(resource, container.limit(resource), container.request(resource));
        if (!fault.empty()) faults += (faults.empty() ? "" : ", ") + fault;
      }
      if (faults.empty()) continue;
      found.push_back({.pointer = container.pointer + "/resources",
                       .message = "the pod is not Guaranteed, so it gets no CPUs of its own and is evicted early: " +
                                  container.title() + ": " + faults,
                       .fix = "set limits of cpu and memory, and requests that equal them or none",
                       .patch = guaranteed_patch(subject, container)});
    }
  }
  return found;
}

Founds integer_cpu(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const std::string cpus = cpus_of(*gpu.container);
    const auto parsed = amount(cpus);
    if (!parsed || parsed->is_whole()) continue;
    const std::string list = gpu.container->limit("cpu").empty() ? "requests" : "limits";
    const std::string whole = std::to_string(parsed->units());
    PatchWriter patch(subject.object());
    patch.set(below(gpu.pointer(), {"resources", "limits", "cpu"}), whole);
    if (!gpu.container->request("cpu").empty())
      patch.set(below(gpu.pointer(), {"resources", "requests", "cpu"}), whole);
    found.push_back(
        {.pointer = below(gpu.pointer(), {"resources", list, "cpu"}),
         .message = "cpu " + cpus + " is no whole number, so the kubelet gives the engine no CPUs of its own",
         .fix = "ask for " + whole,
         .patch = patch.take()});
  }
  return found;
}

Founds cpu_limit_without_static(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    if (!amount(gpu.container->limit("cpu"))) continue;
    found.push_back(
        {.pointer = below(gpu.pointer(), {"resources", "limits", "cpu"}),
         .message = "the limit throttles the engine unless the node's kubelet has cpuManagerPolicy static and sets no "
                    "quota for CPUs that belong to one container",
         .fix = "check the kubelet's configuration on the GPU nodes"});
  }
  return found;
}

Founds gpu_limits_only(const Subject& subject) {
  Founds found;
  for (const PodTemplate* pod : subject.pods) {
    for (const Container& container : pod->containers) {
      for (const std::string& resource : gpu_resources(container)) {
        if (auto fault = gpu_fault(subject, container, resource)) found.push_back(std::move(*fault));
      }
    }
  }
  return found;
}

Founds threads_from_quota(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    std::string missing;
    PatchWriter patch(subject.object());
    const auto cpus = amount(cpus_of(*gpu.container));
    const std::string threads = cpus ? std::to_string(std::max<std::int64_t>(1, cpus->units() / 4)) : "";
    bool all_known = true;
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM"}) {
      if (find_variable(*gpu.container, name) || may_have_variable(*gpu.container, gpu.engine, name)) continue;
      missing += (missing.empty() ? "" : ", ") + std::string(name);
      const std::string value = std::string_view(name) == "TOKENIZERS_PARALLELISM" ? "false" : threads;
      patch.append(gpu.pointer() + "/env", {{"name", name}, {"value", value}});
      all_known = all_known && !value.empty();
    }
    if (!missing.empty())
      found.push_back({.pointer = gpu.pointer() + "/env",
                       .message = missing + " not set: libraries start as many threads as the node has cores, "
                                            "whatever the container's quota is",
                       .fix = "set the numbers of threads to about a quarter of the CPUs, and TOKENIZERS_PARALLELISM "
                              "to false",
                       .patch = all_known ? patch.take() : Json::array()});
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
      if (auto fault = thread_fault(gpu, name)) found.push_back(std::move(*fault));
    }
  }
  return found;
}

}  // namespace inference::audit
