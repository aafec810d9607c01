#include "operator/client/kubeconfig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/fake_clock.h"
#include "operator/client/api_client.h"
#include "operator/client/base64.h"
#include "operator/client/in_cluster.h"
#include "operator/client/testing/temporary_folder.h"

namespace inference::client {
namespace {

const char* const kWhole = R"(
apiVersion: v1
kind: Config
current-context: admin@one
preferences: {}
clusters:
- name: one
  cluster:
    server: https://one.example:6443/prefix
    certificate-authority-data: Q0E=
    tls-server-name: kubernetes
    proxy-url: http://proxy.example:3128
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: x}
- name: files
  cluster: {server: "https://10.0.0.1:6443", certificate-authority: pki/ca.crt}
- name: loose
  cluster: {server: "https://10.0.0.1:6443", insecure-skip-tls-verify: true}
contexts:
- {name: admin@one, context: {cluster: one, user: admin, namespace: models}}
- {name: files, context: {cluster: files, user: files}}
- {name: robot, context: {cluster: one, user: robot}}
- {name: nobody@loose, context: {cluster: loose}}
- {name: lost-user, context: {cluster: one, user: missing}}
- {name: lost-cluster, context: {cluster: missing, user: admin}}
users:
- {name: admin, user: {client-certificate-data: Q1JU, client-key-data: S0VZ, token: t0ken}}
- {name: files, user: {client-certificate: a.crt, client-key: /abs/a.key, tokenFile: ../token}}
- name: robot
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/get-token
      args: [--for, one]
      env: [{name: A, value: b}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: install it
)";

std::expected<ClientConfig, ConfigError> parse(const std::string& text, std::string_view context = {}) {
  return parse_kubeconfig({{"/home/me/.kube/config", text}}, context);
}

TEST(Kubeconfig, TakesTheCurrentContext) {
  const auto config = parse(kWhole);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://one.example:6443/prefix");
  EXPECT_EQ(config->certificate_authority.inline_pem.reveal(), "CA");
  EXPECT_EQ(config->tls_server_name, "kubernetes");
  EXPECT_EQ(config->proxy_url, "http://proxy.example:3128");
  EXPECT_EQ(config->client_certificate.inline_pem.reveal(), "CRT");
  EXPECT_EQ(config->client_key.inline_pem.reveal(), "KEY");
  EXPECT_EQ(config->token.reveal(), "t0ken");
  EXPECT_EQ(config->default_namespace, "models");
  EXPECT_FALSE(config->exec);
}

TEST(Kubeconfig, ResolvesPathsAgainstTheFilesFolder) {
  const auto config = parse(kWhole, "files");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->certificate_authority.file, "/home/me/.kube/pki/ca.crt");
  EXPECT_EQ(config->client_certificate.file, "/home/me/.kube/a.crt");
  EXPECT_EQ(config->client_key.file, "/abs/a.key");
  EXPECT_EQ(config->token_file, "/home/me/token");
  EXPECT_EQ(config->default_namespace, "default");
}

TEST(Kubeconfig, ReadsAnExecPlugin) {
  const auto config = parse(kWhole, "robot");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->api_version, "client.authentication.k8s.io/v1");
  EXPECT_EQ(config->exec->command, "/home/me/.kube/bin/get-token");
  EXPECT_EQ(config->exec->args, (std::vector<std::string>{"--for", "one"}));
  EXPECT_EQ(config->exec->env, (std::vector<std::pair<std::string, std::string>>{{"A", "b"}}));
  EXPECT_EQ(config->exec->install_hint, "install it");
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->cluster_config, (Json{{"audience", "x"}}));
}

TEST(Kubeconfig, AllowsAnAnonymousContextAndAnUnverifiedServer) {
  const auto config = parse(kWhole, "nobody@loose");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  EXPECT_TRUE(config->token.empty());
}

TEST(Kubeconfig, MergesFilesSoThatTheFirstWins) {
  const char* first =
      R"({current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], users: [{name: u, user: {token: first}}]})";
  const char* second =
      R"({current-context: y, clusters: [{name: c, cluster: {server: "http://second"}}], users: [{name: u, user: {token: second}}]})";
  const auto config = parse_kubeconfig({{"/a/first", first}, {"/b/second", second}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "http://second");
  EXPECT_EQ(config->token.reveal(), "first");
}

TEST(Kubeconfig, ReadsJson) {
  const auto config = parse(
      R"({"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"http://h"}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "http://h");
}

TEST(Kubeconfig, SaysWhereWhatIsWrong) {
  const std::string head = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
  const std::string cluster = "clusters: [{name: c, cluster: {server: 'http://h'}}]\n";
  const auto with_user = [&](const std::string& user) {
    return head + cluster + "users: [{name: u, user: {" + user + "}}]";
  };
  const auto with_cluster = [&](const std::string& part) {
    return head + "users: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {" + part + "}}]";
  };
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no context is named"},
      {"[]", "no kubeconfig"},
      {"a: [", "/home/me/.kube/config:"},
      {"current-context: x", "no context 'x'"},
      {"current-context: x\ncontexts: {}", "contexts: must be a list"},
      {"current-context: x\ncontexts: [{name: x}]", "contexts[x].context: must be an object"},
      {with_cluster(""), "clusters[c].cluster.server: the URL has no scheme"},
      {with_cluster("server: [a]"), "clusters[c].cluster.server: must be a string"},
      {with_cluster("server: 'https://h'"), "certificate-authority: is missing"},
      {with_cluster("server: 'https://h', certificate-authority-data: '!'"),
       "certificate-authority-data: is no base64"},
      {with_cluster("server: 'https://h', insecure-skip-tls-verify: 'yes'"), "must be true or false"},
      {with_cluster("server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: x"), "makes no sense"},
      {with_cluster("server: 'http://h', proxy-url: 'socks5://h:1'"), "proxy-url"},
      {with_cluster("server: 'http://h', proxy-url: 'https://h:1'"), "TLS to a proxy"},
      {with_user("as: root"), "users[u].user.as: impersonation"},
      {with_user("username: a, password: s3cret"), "basic authentication"},
      {with_user("auth-provider: {name: gcp}"), "auth-provider"},
      {with_user("client-certificate: a.crt"), "client-key: is missing"},
      {with_user("exec: {command: x}"), "exec.apiVersion"},
      {with_user("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"), "exec.apiVersion"},
      {with_user("exec: {apiVersion: client.authentication.k8s.io/v1}"), "exec.command: is missing"},
      {with_user(exec + ", interactiveMode: Always}"), "interactiveMode"},
      {with_user(exec + ", args: x}"), "exec.args: must be a list of strings"},
      {with_user(exec + ", env: [x]}"), "exec.env"},
  };
  for (const auto& [text, expected] : cases) {
    const auto config = parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_NE(config.error().message.find(expected), std::string::npos) << text << "\n" << config.error().message;
    EXPECT_EQ(config.error().message.find("s3cret"), std::string::npos);
  }
  EXPECT_NE(parse(kWhole, "lost-user").error().message.find("no user 'missing'"), std::string::npos);
  EXPECT_NE(parse(kWhole, "lost-cluster").error().message.find("no cluster 'missing'"), std::string::npos);
}

TEST(Kubeconfig, NamesTheFilesAndTheContextsThereAreWhenOneIsMissing) {
  const char* one = "contexts: [{name: b, context: {}}, {name: a, context: {}}, {name: [x]}, y]";
  const char* two = "contexts: [{name: c, context: {}}, {name: a, context: {}}]";
  const auto config = parse_kubeconfig({{"/x/one", one}, {"/y/two", two}}, "nope");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "/x/one:/y/two: there is no context 'nope'; there are: a, b, c");
  EXPECT_EQ(parse(one).error().message,
            "/home/me/.kube/config: no context is named and none is current; there are: a, b");
  EXPECT_EQ(parse("").error().message,
            "/home/me/.kube/config: no context is named and none is current; there are none");
}

TEST(Kubeconfig, FilesOfAListMayBeMissingButNotAll) {
  const TemporaryFolder folder;
  const std::string path = folder.write("config", "current-context: x");
  const auto files = read_kubeconfig_files(folder.path() + "/missing::" + path);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().path, path);
  EXPECT_EQ(files->front().text, "current-context: x");
  const auto none = read_kubeconfig_files(folder.path() + "/missing");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(read_kubeconfig_files(""));
}

// Found by kubeconfig_fuzz.
TEST(Kubeconfig, TellsOnOneLineWhatIsWrongWithANameOfSeveral) {
  const auto config = parse("current-context: \"a\\nb\\e[31m\"");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "/home/me/.kube/config: there is no context 'a\\nb\\x1B[31m'; there are none");
}

TEST(Kubeconfig, NamesAFileThatCannotBeRead) {
  const TemporaryFolder folder;
  const auto of_folder = read_kubeconfig_files(folder.path());
  ASSERT_FALSE(of_folder);
  EXPECT_EQ(of_folder.error().message, folder.path() + ": Is a directory");
  const auto endless = read_kubeconfig_files("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message, "/dev/zero: File too large");
}

TEST(LoadConfig, WarnsOfWhatIsRiskyOnceForAllClientsOfAConfiguration) {
  const TemporaryFolder folder;
  FakeClock clock;
  const auto warnings = [&](const std::string& cluster) {
    const std::string file = folder.write(
        "config", R"({"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [{"name": "c",
          "cluster": )" +
                      cluster + R"(}], "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
          "users": [{"name": "u", "user": {"token": "t"}}]})");
    testing::internal::CaptureStderr();
    const auto config = load_config({.kubeconfig = file, .context = {}});
    EXPECT_TRUE(config.has_value());
    for (int client = 0; client < 2; ++client) EXPECT_TRUE(ApiClient::make(*config, clock).has_value());
    const std::string log = testing::internal::GetCapturedStderr();
    return std::pair{std::ranges::count(log, '\n'), log};
  };
  const auto [plain, of_plain] = warnings(R"({"server": "http://10.0.0.1"})");
  EXPECT_EQ(plain, 1) << of_plain;
  EXPECT_NE(of_plain.find("without encryption"), std::string::npos) << of_plain;
  const auto [loose, of_loose] = warnings(R"({"server": "https://10.0.0.1", "insecure-skip-tls-verify": true})");
  EXPECT_EQ(loose, 1) << of_loose;
  EXPECT_NE(of_loose.find("not verified"), std::string::npos) << of_loose;
}

TEST(InClusterConfig, ReadsTheServiceAccount) {
  const TemporaryFolder folder;
  folder.write("token", "t\n");
  folder.write("ca.crt", "CA");
  folder.write("namespace", "system\n");
  const auto config = in_cluster_config("10.96.0.1", "443", folder.path());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://10.96.0.1:443");
  EXPECT_EQ(config->token_file, folder.path() + "/token");
  EXPECT_EQ(config->certificate_authority.file, folder.path() + "/ca.crt");
  EXPECT_EQ(config->default_namespace, "system");
  EXPECT_EQ(in_cluster_config("fd00::1", "443", folder.path())->server, "https://kubernetes.default.svc:443");
}

TEST(InClusterConfig, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_NE(in_cluster_config("", "443", folder.path()).error().message.find("not in a cluster"), std::string::npos);
  EXPECT_NE(in_cluster_config("h", "443", folder.path()).error().message.find("/token"), std::string::npos);
  EXPECT_FALSE(in_cluster_config("h", "https", folder.path()));
  std::filesystem::create_directory(folder.path() + "/namespace");
  EXPECT_EQ(in_cluster_namespace(folder.path()), "");
}

}  // namespace
}  // namespace inference::client
