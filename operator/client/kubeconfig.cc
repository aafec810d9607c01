#include "operator/client/kubeconfig.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "base/yaml_reader.h"
#include "operator/client/base64.h"
#include "operator/client/file_watch.h"
#include "operator/client/server_url.h"

namespace inference::client {

namespace {

/// An entry of `clusters`, `users` or `contexts`, and where it stands.
struct Entry {
  const Json* value = nullptr;  // the part below `cluster`, `user` or `context`
  const KubeconfigFile* file = nullptr;
  std::string path;  // "users[alice].user", for errors
};

struct ParsedFile {
  const KubeconfigFile* file;
  Json root;
};

/// Stops the parse: thrown and caught in this file only, since nearly every line below can fail.
struct Fault {
  std::string message;
};

[[noreturn]] void fail(const Entry& entry, std::string_view field, std::string_view message) {
  throw Fault{entry.file->path + ": " + entry.path + (field.empty() ? "" : "." + std::string(field)) + ": " +
              std::string(message)};
}

std::string text(const Entry& entry, const char* field) {
  const auto it = entry.value->find(field);
  if (it == entry.value->end() || it->is_null()) return {};
  if (!it->is_string()) fail(entry, field, "must be a string");
  return it->get<std::string>();
}

bool flag(const Entry& entry, const char* field) {
  const auto it = entry.value->find(field);
  if (it == entry.value->end() || it->is_null()) return false;
  if (!it->is_boolean()) fail(entry, field, "must be true or false");
  return it->get<bool>();
}

/// Relative paths are meant from the file's own folder, wherever we run.
std::string resolve(const Entry& entry, const std::string& path) {
  if (path.empty()) return {};
  return (std::filesystem::absolute(entry.file->path).parent_path() / path).lexically_normal().string();
}

PemSource pem(const Entry& entry, const std::string& field) {
  PemSource source{.file = resolve(entry, text(entry, field.c_str()))};
  const std::string data = text(entry, (field + "-data").c_str());
  if (data.empty()) return source;
  auto decoded = decode_base64(data);
  if (!decoded) fail(entry, field + "-data", "is no base64");
  source.inline_pem = Secret(std::move(*decoded));
  return source;
}

/// The first entry of that name in any file; kubectl merges so.
std::optional<Entry> find(const std::vector<ParsedFile>& files, const std::string& list, const std::string& part,
                          std::string_view name) {
  for (const ParsedFile& file : files) {
    const auto entries = file.root.find(list);
    if (entries == file.root.end() || entries->is_null()) continue;
    if (!entries->is_array()) throw Fault{file.file->path + ": " + list + ": must be a list"};
    for (const Json& entry : *entries) {
      if (!entry.is_object() || entry.value("name", Json()) != Json(name)) continue;
      const auto value = entry.find(part);
      const std::string path = list + "[" + std::string(name) + "]." + part;
      if (value == entry.end() || !value->is_object())
        throw Fault{file.file->path + ": " + path + ": must be an object"};
      return Entry{&*value, file.file, path};
    }
  }
  return std::nullopt;
}

std::vector<ParsedFile> parse_files(const std::vector<KubeconfigFile>& files) {
  std::vector<ParsedFile> parsed;
  for (const KubeconfigFile& file : files) {
    auto documents = read_yaml_documents(file.text);
    if (!documents)
      throw Fault{file.path + ":" + std::to_string(documents.error().line) + ": " + documents.error().message};
    if (documents->empty()) continue;
    if (documents->size() > 1) throw Fault{file.path + ": holds more than one document"};
    if (!documents->front().value.is_object()) throw Fault{file.path + ": is no kubeconfig"};
    parsed.push_back({&file, std::move(documents->front().value)});
  }
  return parsed;
}

std::string paths_of(const std::vector<KubeconfigFile>& files) {
  std::string paths;
  for (const KubeconfigFile& file : files) paths += (paths.empty() ? "" : ":") + file.path;
  return paths;
}

/// For who has mistyped one: "there are: a, b".
std::string known_contexts(const std::vector<ParsedFile>& files) {
  constexpr std::size_t kMax = 20;
  std::set<std::string> names;
  for (const ParsedFile& file : files) {
    const auto entries = file.root.find("contexts");
    if (entries == file.root.end() || !entries->is_array()) continue;
    for (const Json& entry : *entries) {
      if (entry.is_object() && entry.value("name", Json()).is_string()) names.insert(entry["name"]);
    }
  }
  if (names.empty()) return "there are none";
  std::string list;
  std::size_t left = kMax;
  for (const std::string& name : names) {
    if (left-- == 0) return "there are " + std::to_string(names.size()) + ": " + list + ", …";
    list += (list.empty() ? "" : ", ") + name;
  }
  return "there are: " + list;
}

std::string context_name(const std::vector<ParsedFile>& files, const std::string& paths, std::string_view asked) {
  if (!asked.empty()) return std::string(asked);
  for (const ParsedFile& file : files) {
    const auto current = file.root.find("current-context");
    if (current == file.root.end() || current->is_null()) continue;
    if (!current->is_string()) throw Fault{file.file->path + ": current-context: must be a string"};
    if (const auto& name = current->get_ref<const std::string&>(); !name.empty()) return name;
  }
  throw Fault{paths + ": no context is named and none is current; " + known_contexts(files)};
}

void read_cluster(const Entry& cluster, ClientConfig& config) {
  config.server = text(cluster, "server");
  auto url = parse_server_url(config.server);
  if (!url) fail(cluster, "server", url.error());
  config.certificate_authority = pem(cluster, "certificate-authority");
  config.tls_server_name = text(cluster, "tls-server-name");
  config.insecure_skip_tls_verify = flag(cluster, "insecure-skip-tls-verify");
  if (config.insecure_skip_tls_verify && !config.certificate_authority.empty()) {
    fail(cluster, "insecure-skip-tls-verify", "makes no sense beside a certificate authority");
  }
  if (url->is_tls() && !config.insecure_skip_tls_verify && config.certificate_authority.empty()) {
    fail(cluster, "certificate-authority", "is missing; the system's own store is not used");
  }
  config.proxy_url = text(cluster, "proxy-url");
  if (config.proxy_url.empty()) return;
  auto proxy = parse_server_url(config.proxy_url);
  if (!proxy) fail(cluster, "proxy-url", proxy.error());
  if (proxy->is_tls()) fail(cluster, "proxy-url", "TLS to a proxy is not supported, use http://");
}

ExecPlugin read_exec(const Entry& exec, const Entry& cluster) {
  ExecPlugin plugin{.api_version = text(exec, "apiVersion"),
                    .command = text(exec, "command"),
                    .install_hint = text(exec, "installHint")};
  constexpr std::array<std::string_view, 2> kVersions = {"client.authentication.k8s.io/v1",
                                                         "client.authentication.k8s.io/v1beta1"};
  if (std::ranges::find(kVersions, plugin.api_version) == kVersions.end()) {
    fail(exec, "apiVersion", "is neither client.authentication.k8s.io/v1 nor /v1beta1");
  }
  if (plugin.command.empty()) fail(exec, "command", "is missing");
  if (text(exec, "interactiveMode") == "Always")
    fail(exec, "interactiveMode", "Always can't be met: nobody is at a terminal here");
  // As client-go: a bare name is looked up in PATH, anything with a folder in it is a path.
  if (plugin.command.find('/') != std::string::npos) plugin.command = resolve(exec, plugin.command);
  if (const auto args = exec.value->find("args"); args != exec.value->end() && !args->is_null()) {
    if (!args->is_array() || !std::ranges::all_of(*args, &Json::is_string))
      fail(exec, "args", "must be a list of strings");
    plugin.args = args->get<std::vector<std::string>>();
  }
  if (const auto env = exec.value->find("env"); env != exec.value->end() && !env->is_null()) {
    if (!env->is_array()) fail(exec, "env", "must be a list");
    for (const Json& variable : *env) {
      const Entry entry{&variable, exec.file, exec.path + ".env"};
      if (!variable.is_object() || text(entry, "name").empty()) fail(exec, "env", "must be a list of {name, value}");
      plugin.env.emplace_back(text(entry, "name"), text(entry, "value"));
    }
  }
  plugin.provide_cluster_info = flag(exec, "provideClusterInfo");
  const auto extensions = cluster.value->find("extensions");
  if (extensions == cluster.value->end() || !extensions->is_array()) return plugin;
  for (const Json& extension : *extensions) {
    const bool ours = extension.is_object() && extension.value("name", Json()) == "client.authentication.k8s.io/exec";
    if (ours) plugin.cluster_config = extension.value("extension", Json());
  }
  return plugin;
}

void read_user(const Entry& user, const Entry& cluster, ClientConfig& config) {
  // Each of these would act as somebody else than meant if it were just left out.
  for (const char* field : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.value->contains(field)) fail(user, field, "impersonation is not supported");
  }
  for (const char* field : {"username", "password"}) {
    if (user.value->contains(field))
      fail(user, field, "basic authentication is not supported (the API server has dropped it)");
  }
  if (user.value->contains("auth-provider"))
    fail(user, "auth-provider", "is not supported (kubectl has dropped it); use exec");
  config.client_certificate = pem(user, "client-certificate");
  config.client_key = pem(user, "client-key");
  if (config.client_certificate.empty() != config.client_key.empty()) {
    fail(user, config.client_key.empty() ? "client-key" : "client-certificate", "is missing");
  }
  config.token = Secret(text(user, "token"));
  config.token_file = resolve(user, text(user, "tokenFile"));
  const auto exec = user.value->find("exec");
  if (exec == user.value->end() || exec->is_null()) return;
  if (!exec->is_object()) fail(user, "exec", "must be an object");
  if (!config.client_certificate.empty()) fail(user, "exec", "can't be combined with a client certificate");
  config.exec = read_exec(Entry{&*exec, user.file, user.path + ".exec"}, cluster);
}

ClientConfig make_config(const std::vector<KubeconfigFile>& files, std::string_view asked) {
  const std::vector<ParsedFile> parsed = parse_files(files);
  const std::string name = context_name(parsed, paths_of(files), asked);
  const auto context = find(parsed, "contexts", "context", name);
  if (!context) throw Fault{paths_of(files) + ": there is no context '" + name + "'; " + known_contexts(parsed)};
  const std::string cluster_name = text(*context, "cluster");
  const auto cluster = find(parsed, "clusters", "cluster", cluster_name);
  if (!cluster) fail(*context, "cluster", "there is no cluster '" + cluster_name + "'");
  ClientConfig config;
  read_cluster(*cluster, config);
  // A context without user is anonymous; one that names a missing user is a mistake.
  if (const std::string user_name = text(*context, "user"); !user_name.empty()) {
    const auto user = find(parsed, "users", "user", user_name);
    if (!user) fail(*context, "user", "there is no user '" + user_name + "'");
    read_user(*user, *cluster, config);
  }
  if (std::string ns = text(*context, "namespace"); !ns.empty()) config.default_namespace = std::move(ns);
  return config;
}

/// Messages quote names from the file, which may hold line breaks and escape sequences.
ConfigError one_line(const std::string& message) {
  return {.message = escape_for_terminal(message)};
}

}  // namespace

std::expected<ClientConfig, ConfigError> parse_kubeconfig(const std::vector<KubeconfigFile>& files,
                                                          std::string_view context) {
  try {
    return make_config(files, context);
  } catch (const Fault& fault) {
    return std::unexpected(one_line(fault.message));
  } catch (const Json::exception& e) {
    return std::unexpected(one_line(paths_of(files) + ": " + e.what()));
  } catch (const std::filesystem::filesystem_error& e) {
    return std::unexpected(one_line(paths_of(files) + ": " + e.what()));
  }
}

std::expected<std::vector<KubeconfigFile>, ConfigError> read_kubeconfig_files(std::string_view list) {
  std::vector<KubeconfigFile> files;
  std::string first_problem = "no kubeconfig is given";
  bool any_missing = false;
  while (!list.empty()) {
    const std::string path(list.substr(0, list.find(':')));
    list.remove_prefix(std::min(path.size() + 1, list.size()));
    if (path.empty()) continue;
    auto content = read_small_file(path);
    if (content) {
      files.push_back({path, std::move(*content)});
      continue;
    }
    const std::string problem = path + ": " + content.error().message();
    if (content.error() != std::errc::no_such_file_or_directory) return std::unexpected(ConfigError{problem});
    if (!any_missing) first_problem = problem;
    any_missing = true;
  }
  if (files.empty()) return std::unexpected(ConfigError{first_problem});
  return files;
}

}  // namespace inference::client
