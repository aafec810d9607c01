#include "operator/client/credentials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "operator/client/testing/temporary_folder.h"
#include "operator/client/testing/test_certificates.h"
#include "operator/client/trust_store.h"

namespace inference::client {
namespace {

using namespace std::chrono_literals;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class CredentialsTest : public testing::Test {
 protected:
  /// A plugin that counts its runs in a file and prints `output`, in which RUN stands for the number of the run.
  ExecPlugin plugin(const std::string& output) const {
    const std::string script = "#!/bin/sh\necho x >> " + folder_.path() + "/runs\nRUN=$(wc -l < " + folder_.path() +
                               "/runs)\ncat <<EOF\n" + output + "\nEOF\n";
    return {.api_version = kV1, .command = folder_.write_program("plugin", script)};
  }
  static std::string token_output(const std::string& more = "") {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"token-$RUN")" +
           more + "}}";
  }
  std::size_t runs() const {
    std::ifstream file(folder_.path() + "/runs");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  static std::string token(Credentials& credentials) {
    auto token = credentials.token({});
    return token ? std::string(token->reveal()) : "error: " + token.error().to_string();
  }

  TemporaryFolder folder_;
  FakeClock clock_;
};

TEST_F(CredentialsTest, HasNoTokenWhenNoneIsConfigured) {
  Credentials credentials({}, clock_);
  EXPECT_EQ(token(credentials), "");
  EXPECT_FALSE(credentials.refresh(Secret("x")));
}

TEST_F(CredentialsTest, SendsAGivenTokenWithoutItsNewline) {
  Credentials credentials({.token = Secret(" t0ken\r\n")}, clock_);
  EXPECT_EQ(token(credentials), "t0ken");
  EXPECT_FALSE(credentials.refresh(Secret("t0ken"))) << "it can't get better";
}

TEST_F(CredentialsTest, ReadsATokenFileAgainWhenItChanges) {
  const std::string path = folder_.write("token", "one\n");
  Credentials credentials({.token = Secret("ignored"), .token_file = path}, clock_);
  EXPECT_EQ(token(credentials), "one");
  folder_.write("token", "two\n");
  EXPECT_EQ(token(credentials), "two");
  // As the kubelet does it: a link to a folder is turned.
  std::filesystem::create_directory(folder_.path() + "/v1");
  std::filesystem::create_directory(folder_.path() + "/v2");
  folder_.write("v1/token", "three");
  folder_.write("v2/token", "fours");
  std::filesystem::create_directory_symlink("v1", folder_.path() + "/..data");
  Credentials linked({.token_file = folder_.path() + "/..data/token"}, clock_);
  EXPECT_EQ(token(linked), "three");
  std::filesystem::create_directory_symlink("v2", folder_.path() + "/..new");
  std::filesystem::rename(folder_.path() + "/..new", folder_.path() + "/..data");
  EXPECT_EQ(token(linked), "fours");
}

TEST_F(CredentialsTest, KeepsTheLastTokenWhileTheFileIsGoneOrEmpty) {
  const std::string path = folder_.write("token", "one");
  Credentials credentials({.token_file = path}, clock_);
  EXPECT_EQ(token(credentials), "one");
  std::filesystem::remove(path);
  EXPECT_EQ(token(credentials), "one");
  folder_.write("token", "\n");
  EXPECT_EQ(token(credentials), "one");
  folder_.write("token", "two");
  EXPECT_EQ(token(credentials), "two");
}

TEST_F(CredentialsTest, SaysWhyATokenFileCannotBeUsed) {
  Credentials missing({.token_file = folder_.path() + "/missing"}, clock_);
  EXPECT_NE(token(missing).find("No such file"), std::string::npos);
  Credentials empty({.token_file = folder_.write("empty", " \n")}, clock_);
  EXPECT_NE(token(empty).find("empty"), std::string::npos);
  Credentials directory({.token_file = folder_.path()}, clock_);
  EXPECT_NE(token(directory).find("not a regular file"), std::string::npos);
  Credentials large({.token_file = folder_.write("large", std::string(2 * FileWatch::kMaxBytes, 'x'))}, clock_);
  EXPECT_NE(token(large).find("File too large"), std::string::npos);
}

TEST_F(CredentialsTest, AfterARefusalTriesAgainOnlyWithAnotherToken) {
  const std::string path = folder_.write("token", "one");
  Credentials credentials({.token_file = path}, clock_);
  EXPECT_EQ(token(credentials), "one");
  EXPECT_FALSE(credentials.refresh(Secret("one")));
  folder_.write("token", "two");
  EXPECT_TRUE(credentials.refresh(Secret("one")));
  EXPECT_EQ(token(credentials), "two");
}

TEST_F(CredentialsTest, RunsThePluginOnceAndAgainAfterARefusal) {
  Credentials credentials({.exec = plugin(token_output())}, clock_);
  EXPECT_EQ(token(credentials), "token-1");
  EXPECT_EQ(token(credentials), "token-1");
  EXPECT_TRUE(credentials.refresh(Secret("token-1")));
  EXPECT_EQ(token(credentials), "token-2");
  EXPECT_TRUE(credentials.refresh(Secret("token-1"))) << "another thread has refreshed it already";
  EXPECT_EQ(token(credentials), "token-2");
  EXPECT_EQ(runs(), 2U);
}

TEST_F(CredentialsTest, RunsThePluginAgainBeforeItsTokenExpires) {
  const std::string expires = to_rfc3339(clock_.wall_now() + 1h);
  Credentials credentials({.exec = plugin(token_output(R"(,"expirationTimestamp":")" + expires + "\""))}, clock_);
  EXPECT_EQ(token(credentials), "token-1");
  clock_.advance(59min);
  EXPECT_EQ(token(credentials), "token-1");
  clock_.advance(55s);
  EXPECT_EQ(token(credentials), "token-2");
}

TEST_F(CredentialsTest, RunsOnePluginForManyThreads) {
  Credentials credentials({.exec = plugin(token_output())}, clock_);
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&] { right += token(credentials) == "token-1" ? 1 : 0; });
  }
  EXPECT_EQ(right, 8);
  EXPECT_EQ(runs(), 1U);
}

TEST_F(CredentialsTest, TakesACertificateFromThePlugin) {
  const TestAuthority authority;
  const TestCertificate client = authority.issue({});
  const Json output = {
      {"apiVersion", kV1},
      {"kind", "ExecCredential"},
      {"status", {{"clientCertificateData", client.certificate_pem}, {"clientKeyData", client.key_pem}}}};
  Credentials credentials(
      {.certificate_authority = {.inline_pem = Secret(authority.pem())}, .exec = plugin(output.dump())}, clock_);
  EXPECT_EQ(token(credentials), "");
  const auto material = credentials.tls_material();
  ASSERT_TRUE(material) << material.error();
  EXPECT_EQ((*material)->certificate_pem, client.certificate_pem);
  EXPECT_EQ((*material)->key_pem.reveal(), client.key_pem);
  // Refused, it stands until the next one is there.
  EXPECT_TRUE(credentials.refresh(Secret()));
  EXPECT_EQ(credentials.tls_material().value()->certificate_pem, client.certificate_pem);
  EXPECT_EQ(token(credentials), "");
  EXPECT_EQ(runs(), 2U);
}

TEST_F(CredentialsTest, SaysWhyAPluginGaveNothing) {
  const auto run = [&](const std::string& script) {
    Credentials credentials(
        {.exec = ExecPlugin{.api_version = kV1, .command = folder_.write_program("bad", "#!/bin/sh\n" + script)}},
        clock_);
    return token(credentials);
  };
  EXPECT_NE(run("echo no \"$HOME\" >&2; exit 3").find("failed with exit code 3: no"), std::string::npos);
  EXPECT_NE(run("kill -9 $$").find("signal 9"), std::string::npos);
  EXPECT_NE(run("echo hello").find("printed no ExecCredential"), std::string::npos);
  EXPECT_NE(run("head -c 3000000 /dev/zero").find("more than 1 MiB"), std::string::npos);
  Credentials missing(
      {.exec = ExecPlugin{.api_version = kV1, .command = "no-such-plugin-anywhere", .install_hint = "Install it\nso"}},
      clock_);
  EXPECT_NE(token(missing).find("No such file or directory. Install it so"), std::string::npos);
}

TEST(ExecPlugin, SeesWhatItIsToldAndNoShellTouchesIt) {
  const TemporaryFolder folder;
  empty_default_trust_store();
  const std::string script =
      "#!/bin/sh\nprintf '%s|' \"$@\"\nprintf '%s|' \"$EXTRA\" \"$SSL_CERT_FILE\" \"$KUBERNETES_EXEC_INFO\"\ncat\n";
  const ExecPlugin plugin{.api_version = kV1,
                          .command = folder.write_program("show", script),
                          .args = {"a b", "$HOME", "; exit 7"},
                          .env = {{"EXTRA", "x;y"}}};
  const auto output = run_exec_plugin(plugin, exec_info(plugin, {}, {}), 20s, {});
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(
      *output,
      "a b|$HOME|; exit 7|x;y|" + original_ssl_cert_file().value_or("") +
          R"(|{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}|)");
}

TEST(ExecPlugin, IsKilledWithItsChildrenWhenTimeIsUp) {
  const TemporaryFolder folder;
  // The child keeps the pipes open: only killing the group ends the wait.
  const ExecPlugin slow{.api_version = kV1,
                        .command = folder.write_program("slow", "#!/bin/sh\necho waiting >&2\nsleep 1000 &\nwait\n")};
  const auto late = run_exec_plugin(slow, {}, 300ms, {});
  ASSERT_FALSE(late);
  EXPECT_FALSE(late.error().cancelled);
  EXPECT_NE(late.error().message.find("took too long"), std::string::npos) << late.error().message;
}

TEST(ExecPlugin, IsKilledWhenItClosesItsOutputAndStays) {
  const TemporaryFolder folder;
  const ExecPlugin plugin{.api_version = kV1,
                          .command = folder.write_program("stay", "#!/bin/sh\nexec sleep 1000 >&- 2>&-\n")};
  // Without the kill this would take the thousand seconds.
  EXPECT_FALSE(run_exec_plugin(plugin, {}, 500ms, {}));
}

TEST(ExecPlugin, StopsWhenAsked) {
  const TemporaryFolder folder;
  const ExecPlugin slow{.api_version = kV1, .command = folder.write_program("slow", "#!/bin/sh\nexec sleep 1000\n")};
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto output = run_exec_plugin(slow, {}, 500s, stop.get_token());
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().cancelled);
}

TEST(ExecInfo, DescribesTheClusterOnlyWhenAsked) {
  const ClientConfig config{.server = "https://h", .tls_server_name = "n", .proxy_url = "http://p"};
  ExecPlugin plugin{.api_version = kV1, .provide_cluster_info = true, .cluster_config = {{"audience", "x"}}};
  EXPECT_EQ(exec_info(plugin, config, "CA")["spec"]["cluster"],
            Json::parse(R"({"server":"https://h","tls-server-name":"n","proxy-url":"http://p",
      "certificate-authority-data":"Q0E=","config":{"audience":"x"}})"));
  plugin.provide_cluster_info = false;
  EXPECT_FALSE(exec_info(plugin, config, "CA")["spec"].contains("cluster"));
}

TEST(ExecCredential, RefusesWhatIsNotOne) {
  const auto credential = [](const std::string& rest) {
    return parse_exec_credential(
        R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential")" + rest + "}", kV1);
  };
  EXPECT_TRUE(credential(R"(,"status":{"token":"t"})"));
  EXPECT_EQ(credential(R"(,"status":{"token":"t","expirationTimestamp":"2030-01-02T03:04:05Z"})")->expires,
            parse_rfc3339("2030-01-02T03:04:05Z"));
  for (const char* rest :
       {"", R"(,"status":{})", R"(,"status":[])", R"(,"status":{"token":7})",
        R"(,"status":{"clientCertificateData":"x"})", R"(,"status":{"token":"t","expirationTimestamp":"soon"})",
        R"(,"status":{"token":"t","expirationTimestamp":7})"}) {
    const auto refused = credential(rest);
    EXPECT_FALSE(refused) << rest;
  }
  EXPECT_FALSE(parse_exec_credential(
      R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t"}})", kV1));
  EXPECT_FALSE(parse_exec_credential("", kV1));
}

TEST_F(CredentialsTest, RotatesCertificatesAndKeepsTheLastUsableOnes) {
  const TestAuthority authority;
  const TestCertificate one = authority.issue({.common_name = "one"});
  const TestCertificate two = authority.issue({.common_name = "two"});
  ClientConfig config;
  config.certificate_authority.file = folder_.write("ca", authority.pem());
  config.client_certificate.file = folder_.write("crt", one.certificate_pem);
  config.client_key.file = folder_.write("key", one.key_pem);
  Credentials credentials(config, clock_);
  const auto first = credentials.tls_material();
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(*credentials.tls_material(), *first) << "the same pointer while nothing changes";
  // Half of a rotation: key and certificate do not belong together.
  folder_.write("crt", two.certificate_pem);
  EXPECT_EQ(*credentials.tls_material(), *first);
  folder_.write("key", two.key_pem);
  const auto second = credentials.tls_material();
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->certificate_pem, two.certificate_pem);
  std::filesystem::remove(config.certificate_authority.file);
  EXPECT_EQ(*credentials.tls_material(), *second);
}

TEST_F(CredentialsTest, SaysWhyCertificatesCannotBeUsedFromTheStart) {
  ClientConfig config;
  config.certificate_authority.file = folder_.path() + "/missing";
  Credentials credentials(config, clock_);
  const auto material = credentials.tls_material();
  ASSERT_FALSE(material);
  EXPECT_NE(material.error().find("/missing: No such file"), std::string::npos);
}

TEST_F(CredentialsTest, NamesTheFileWhoseContentIsUnusable) {
  const TestAuthority authority;
  const auto problem = [&](const ClientConfig& config) {
    const auto material = Credentials(config, clock_).tls_material();
    return material ? "none" : material.error();
  };
  const PemSource no_pem = {.file = folder_.write("no.pem", "nothing")};
  const PemSource key = {.file = folder_.write("key", authority.issue({}).key_pem)};
  const PemSource ca = {.file = folder_.write("ca", authority.pem())};
  EXPECT_EQ(problem({.certificate_authority = no_pem}),
            no_pem.file + ": the certificate authority holds no PEM certificate");
  EXPECT_EQ(problem({.certificate_authority = {.inline_pem = Secret("nothing")}}),
            "certificate-authority-data: the certificate authority holds no PEM certificate");
  EXPECT_EQ(problem({.certificate_authority = ca, .client_certificate = no_pem, .client_key = key}),
            no_pem.file + ", " + key.file + ": the client certificate holds no PEM certificate");
}

template <typename T>
concept Printable = requires(std::ostream& stream, const T& value) {
  stream << value;
};
static_assert(Printable<std::string> && !Printable<Secret>);

TEST(Secret, IsEmptyAfterAMove) {
  Secret secret("s3cret");
  const Secret moved = std::move(secret);
  EXPECT_TRUE(secret.empty());  // NOLINT: that is the test
  EXPECT_EQ(moved.reveal(), "s3cret");
  EXPECT_EQ(moved, Secret("s3cret"));
}

}  // namespace
}  // namespace inference::client
