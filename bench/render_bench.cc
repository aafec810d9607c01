// How many complete sets of objects one core renders in a second: decisions and trees, from the decoded spec to JSON.
// Prints one line for each input.

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/yaml_reader.h"
#include "crd/decode.h"
#include "render/render.h"
#include "render/template_set.h"

namespace {

using inference::Json;
namespace render = inference::render;

// What is asked of a release build, for the single-node set.
constexpr double kWantedSetsPerSecond = 5000;

inference::crd::InferenceDeployment read_deployment(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto documents = inference::read_yaml_documents(text.str());
  if (!documents || documents->empty()) throw std::runtime_error("cannot read " + path);
  auto deployment = inference::crd::decode_inference_deployment(documents->front().value);
  if (!deployment) throw std::runtime_error(path + ": " + to_string(deployment.error().front()));
  return *std::move(deployment);
}

/// Renders for at least a second of processor time and returns sets per second of it: what else the machine does does
/// not matter.
double measure(const inference::crd::InferenceDeployment& deployment) {
  const render::Input input{.deployment = deployment,
                            .profile = nullptr,
                            .cluster = {.leader_worker_set = true, .volcano = render::VolcanoGroups::kLeaderWorkerSet},
                            .recorded_gang = {}};
  const auto& templates = render::TemplateSet::embedded();
  std::size_t objects = 0;
  std::size_t sets = 0;
  const auto processor_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double start = processor_seconds();
  double elapsed = 0;
  while (elapsed < 1.0) {
    for (int i = 0; i < 50; ++i, ++sets) {
      const auto rendered = render::render(input, templates);
      if (!rendered) {
        throw std::runtime_error(rendered.error().reason + " " + to_string(rendered.error().errors.front()));
      }
      objects += rendered->objects.size();
    }
    elapsed = processor_seconds() - start;
  }
  // The count of objects is printed so that nothing can be optimised away.
  const double rate = static_cast<double>(sets) / elapsed;
  std::printf("%8.0f sets a second (%.0f µs a set, %zu objects each)  %s\n", rate, 1e6 / rate, objects / sets,
              deployment.metadata.name.c_str());
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: render_bench INPUT.yaml…   (the first is the single-node one that the target is for)\n");
    return 2;
  }
  try {
    std::printf("cores: %u, one used\n", std::thread::hardware_concurrency());
    double first = 0;
    for (int i = 1; i < argc; ++i) {
      const double rate = measure(read_deployment(argv[i]));
      if (i == 1) first = rate;
    }
    return first >= kWantedSetsPerSecond ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
