// A host tool of the build: `crd_embed NAME=FILE.yaml …` writes to standard output a C++ source with each file as
// compact JSON.
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/yaml_reader.h"

int main(int argc, char** argv) {
  std::cout << "#include \"crd/embedded_crds.h\"\n\nnamespace inference::crd {\n";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t split = argument.find('=');
    const std::string file = argument.substr(split + 1);
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    const auto documents = inference::read_yaml_documents(text.str());
    if (!stream || !documents || documents->size() != 1) {
      std::cerr << file << ": " << (documents ? "must be one readable document" : documents.error().message) << "\n";
      return 1;
    }
    std::cout << "const std::string_view " << argument.substr(0, split) << " = R\"crd-json("
              << documents->front().value.dump() << ")crd-json\";\n";
  }
  std::cout << "}  // namespace inference::crd\n";
  return std::cout.flush() ? 0 : 1;
}
