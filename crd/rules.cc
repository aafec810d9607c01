#include "crd/rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "crd/integer.h"
#include "crd/pattern.h"
#include "crd/quantity.h"

namespace inference::crd {
namespace {

// What CEL's has() and field selection do, for values that may be of any type. Null is absent: the API server drops it
// first.
const Json* member(const Json& self, const char* key) {
  if (!self.is_object()) return nullptr;
  const auto found = self.find(key);
  return found == self.end() || found->is_null() ? nullptr : &*found;
}

bool has(const Json& self, const char* key) {
  return member(self, key) != nullptr;
}

std::optional<std::int64_t> integer(const Json& self, const char* key) {
  const Json* value = member(self, key);
  return value == nullptr ? std::nullopt : as_integer(*value);
}

const std::string* text(const Json& self, const char* key) {
  const Json* value = member(self, key);
  return value == nullptr ? nullptr : value->get_ptr<const std::string*>();
}

const std::string* text(const Json& self) {
  return self.get_ptr<const std::string*>();
}

std::optional<Quantity> quantity(const std::string* written) {
  if (written == nullptr) return std::nullopt;
  const auto parsed = Quantity::parse(*written);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

const std::string* object_name(const Json& self) {
  const Json* metadata = member(self, "metadata");
  return metadata == nullptr ? nullptr : text(*metadata, "name");
}

// Longer ones are refused by maxLength, and matching a text of megabytes would only take time.
constexpr std::size_t kLongestMatched = 8192;

bool matches(const std::string& value, const Pattern& pattern) {
  return value.size() > kLongestMatched || pattern.found_in(value);
}

bool name_is_a_dns_label(const Json& self) {
  static const Pattern label("^[a-z]([-a-z0-9]*[a-z0-9])?$");
  const std::string* name = object_name(self);
  return name == nullptr || matches(*name, label);
}

bool name_fits_a_service(const Json& self) {
  const std::string* name = object_name(self);
  return name == nullptr || name->size() <= 57;
}

bool name_fits_a_leader_worker_set(const Json& self) {
  const std::string* name = object_name(self);
  const Json* spec = member(self, "spec");
  if (name == nullptr || spec == nullptr) return true;
  return integer(*spec, "nodes").value_or(1) < 2 || name->size() <= 46;
}

bool replicas_or_autoscaling(const Json& self) {
  return !(has(self, "replicas") && has(self, "autoscaling"));
}

bool gpus_divide_by_nodes(const Json& self) {
  const Json* parallelism = member(self, "parallelism");
  const auto nodes = integer(self, "nodes");
  if (parallelism == nullptr || !nodes || *nodes < 1) return true;
  const auto pipeline = integer(*parallelism, "pipeline");
  const auto tensor = has(*parallelism, "tensor") ? integer(*parallelism, "tensor") : 1;
  if (!pipeline || !tensor) return true;
  return static_cast<__int128>(*tensor) * *pipeline % *nodes == 0;
}

bool uri_has_a_known_scheme(const Json& self) {
  constexpr std::array kSchemes = {"hf://", "s3://", "gs://", "https://", "oci://", "pvc://", "file://"};
  return text(self) == nullptr ||
         std::ranges::any_of(kSchemes, [&](const char* scheme) { return text(self)->starts_with(scheme); });
}

bool uri_names_something(const Json& self) {
  if (text(self) == nullptr) return true;
  const std::size_t scheme = text(self)->find("://");
  return scheme != std::string::npos && scheme > 0 && text(self)->size() > scheme + 3;
}

bool hf_uri_is_well_formed(const Json& self) {
  static const Pattern form("^hf://[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$");
  return text(self) == nullptr || !text(self)->starts_with("hf://") || matches(*text(self), form);
}

bool has_no_dot_folders(const std::string& path) {
  static const Pattern dots("/[.][.]?(/|$)");
  return path.size() > kLongestMatched || !dots.found_in(path);
}

bool pvc_uri_is_well_formed(const Json& self) {
  static const Pattern form("^pvc://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[A-Za-z0-9._@+=-]+)+$");
  if (text(self) == nullptr || !text(self)->starts_with("pvc://")) return true;
  return matches(*text(self), form) && has_no_dot_folders(*text(self));
}

bool file_uri_is_well_formed(const Json& self) {
  static const Pattern form("^file://(/[A-Za-z0-9._@+=-]+){2,}$");
  if (text(self) == nullptr || !text(self)->starts_with("file://")) return true;
  return matches(*text(self), form) && has_no_dot_folders(*text(self));
}

bool autoscaling_bounds_are_ordered(const Json& self) {
  const auto least = integer(self, "minReplicas");
  const auto most = integer(self, "maxReplicas");
  return !least || !most || *least <= *most;
}

bool env_has_one_source(const Json& self) {
  return !self.is_object() || has(self, "value") != has(self, "valueFrom");
}

bool gloo_takes_one_interface(const Json& self) {
  const std::string* name = text(self, "name");
  const std::string* value = text(self, "value");
  if (name == nullptr || value == nullptr || *name != "GLOO_SOCKET_IFNAME") return true;
  return !value->starts_with('^') && value->find(',') == std::string::npos;
}

bool value_from_has_one_source(const Json& self) {
  constexpr std::array kSources = {"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef"};
  return !self.is_object() || std::ranges::count_if(kSources, [&](const char* key) { return has(self, key); }) == 1;
}

bool is_a_share(const Json& self) {
  if (text(self) == nullptr) return true;
  const std::string& written = *text(self);
  double share = 0;
  const auto result = std::from_chars(written.data(), written.data() + written.size(), share, std::chars_format::fixed);
  if (result.ec != std::errc() || result.ptr != written.data() + written.size()) return true;
  return share > 0 && share <= 1;
}

bool mig_needs_sharing_mig(const Json& self) {
  return !has(self, "mig") || text(self, "sharing") == nullptr || *text(self, "sharing") == "MIG";
}

bool claim_needs_dra(const Json& self) {
  return !has(self, "claim") || text(self, "mode") == nullptr || *text(self, "mode") == "DRA";
}

bool shares_serve_alone(const Json& self) {
  const Json* accelerator = member(self, "accelerator");
  if (accelerator == nullptr) return true;
  const std::string* sharing = text(*accelerator, "sharing");
  if (!has(*accelerator, "mig") && (sharing == nullptr || *sharing == "None")) return true;
  const Json none = Json::object();
  const Json* written = member(self, "parallelism");
  const Json& parallelism = written == nullptr ? none : *written;
  const auto tensor = has(parallelism, "tensor") ? integer(parallelism, "tensor") : 1;
  const auto nodes = has(self, "nodes") ? integer(self, "nodes") : 1;
  const auto pipeline = has(parallelism, "pipeline") ? integer(parallelism, "pipeline") : nodes;
  return !tensor || !pipeline || (*tensor == 1 && *pipeline == 1);
}

bool shared_memory_is_less(const Json& self) {
  const auto memory = quantity(text(self, "memory"));
  const auto shared = quantity(text(self, "sharedMemory"));
  return !memory || !shared || *shared < *memory;
}

bool is_an_amount_of_memory(const Json& self) {
  static const Quantity limit = Quantity::parse("1Ei").value();
  const auto amount = quantity(text(self));
  return !amount || (*amount > Quantity() && *amount < limit);
}

bool rollout_can_move(const Json& self) {
  const auto is_zero = [&](const char* key) {
    return integer(self, key) == 0 || (text(self, key) != nullptr && *text(self, key) == "0%");
  };
  return !is_zero("maxSurge") || !is_zero("maxUnavailable");
}

constexpr std::string_view kAmount = "must be more than 0 and less than 1Ei";
constexpr std::string_view kOneSource = "must have exactly one of value and valueFrom";
constexpr std::string_view kGloo =
    "GLOO_SOCKET_IFNAME takes the name of one interface; only NCCL understands ^ and lists";
constexpr std::string_view kValueFrom =
    "must have exactly one of secretKeyRef, configMapKeyRef, fieldRef and resourceFieldRef";

constexpr Rule kRules[] = {
    {"", "the name must be a DNS label that starts with a letter (a-z, 0-9 and -), since Services take it over",
     name_is_a_dns_label},
    {"", "the name must have at most 57 characters, since its Service adds 6 to it and 63 is the limit",
     name_fits_a_service},
    {"",
     "the name must have at most 46 characters when nodes is more than 1, since a LeaderWorkerSet adds 17 to it and 63 "
     "is the limit",
     name_fits_a_leader_worker_set},
    {"spec", "replicas and autoscaling exclude each other, since the autoscaler writes replicas",
     replicas_or_autoscaling},
    {"spec", "tensor x pipeline must be divisible by nodes, since every node gets the same number of GPUs",
     gpus_divide_by_nodes},
    {"spec", "tensor x pipeline must be 1 on shared GPUs and on MIG slices, since NCCL joins whole GPUs only",
     shares_serve_alone},
    {"spec.model.uri", "must start with hf://, s3://, gs://, https://, oci://, pvc:// or file://",
     uri_has_a_known_scheme},
    {"spec.model.uri", "must name something after the scheme", uri_names_something},
    {"spec.model.uri", "an hf:// URI must be hf://ORGANISATION/NAME; the commit goes into revision",
     hf_uri_is_well_formed},
    {"spec.model.uri", "a pvc:// URI must be pvc://CLAIM/PATH, without . and .. in the path", pvc_uri_is_well_formed},
    {"spec.model.uri",
     "a file:// URI must be a plain absolute path at least two folders deep, e.g. file:///var/models/llama, without . "
     "and ..",
     file_uri_is_well_formed},
    {"spec.autoscaling", "minReplicas must not be more than maxReplicas", autoscaling_bounds_are_ordered},
    {"spec.engine.env[*]", kOneSource, env_has_one_source},
    {"spec.engine.env[*]", kGloo, gloo_takes_one_interface},
    {"spec.engine.env[*].valueFrom", kValueFrom, value_from_has_one_source},
    {"spec.serving.gpuMemoryUtilization", "must be more than 0 and at most 1", is_a_share},
    {"spec.accelerator", "mig needs sharing MIG", mig_needs_sharing_mig},
    {"spec.accelerator", "claim needs mode DRA", claim_needs_dra},
    {"spec.accelerator.claim.memory", kAmount, is_an_amount_of_memory},
    {"spec.accelerator.claim.alternatives[*].memory", kAmount, is_an_amount_of_memory},
    {"spec.resources", "sharedMemory must be less than memory, since /dev/shm counts as memory", shared_memory_is_less},
    {"spec.resources.memory", kAmount, is_an_amount_of_memory},
    {"spec.resources.sharedMemory", kAmount, is_an_amount_of_memory},
    {"spec.network.env[*]", kOneSource, env_has_one_source},
    {"spec.network.env[*]", kGloo, gloo_takes_one_interface},
    {"spec.network.env[*].valueFrom", kValueFrom, value_from_has_one_source},
    {"spec.rollout", "maxSurge and maxUnavailable can't both be 0", rollout_can_move},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule* find_rule(std::string_view scope, std::string_view message) {
  const auto found =
      std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.scope == scope && rule.message == message; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace inference::crd
