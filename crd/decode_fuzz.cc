// The objects of a YAML text as both kinds, as they come from a file and from the cluster.

#include "base/fuzzing.h"
#include "base/yaml_reader.h"
#include "crd/decode.h"

namespace inference::crd {
namespace {

void check_errors(const FieldErrors& errors) {
  if (errors.empty()) broken("a failure has an error");
  for (const FieldError& error : errors) {
    if (error.message.empty()) broken("an error says what is wrong", error.path);
    if (to_string(error).find('\n') != std::string::npos) broken("an error is one line", to_string(error));
  }
}

/// `part` is the key of what was decoded as `json` in the object, in which it is then replaced by it.
template <typename Decode, typename JsonOf>
void check_kind(const Json& object, const Decode& decode, const Json::json_pointer& part, const JsonOf& json_of) {
  const auto in_cluster = decode(object, Source::kCluster);
  const auto in_file = decode(object, Source::kFile);
  if (!in_cluster) check_errors(in_cluster.error());
  if (!in_file) check_errors(in_file.error());
  if (in_file && !in_cluster) broken("the reader of files is the stricter one");
  if (!in_cluster) return;
  const Json& json = json_of(*in_cluster);
  if (in_file && json_of(*in_file) != json) broken("both sources give the same");
  Json cleaned = object;
  cleaned[part] = json;
  const auto again = decode(cleaned, Source::kCluster);
  if (!again) broken("what was decoded is valid itself", to_string(again.error().front()));
  if (json_of(*again) != json) broken("what was decoded is decoded as itself", json.dump());
}

void check(const Json& object) {
  check_kind(object, decode_inference_deployment, Json::json_pointer("/spec"),
             [](const InferenceDeployment& decoded) -> const Json& { return decoded.spec_json; });
  check_kind(object, decode_inference_profile, Json::json_pointer("/spec/defaults"),
             [](const InferenceProfile& decoded) -> const Json& { return decoded.defaults_json; });
  const auto deployment = decode_inference_deployment(object);
  if (!deployment) return;
  if (const auto spec = decode_spec(deployment->spec_json); !spec)
    broken("a valid object has a valid spec", to_string(spec.error().front()));
}

}  // namespace
}  // namespace inference::crd

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inference;
  const auto documents = read_yaml_documents(fuzz_text(data, size));
  if (!documents) return 0;
  for (const JsonDocument& document : *documents) crd::check(document.value);
  return 0;
}
