// The operator's credentials are renewed while it runs: each kind that a kubeconfig knows, on the real API server,
// which says in its audit log which credential it was shown.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "e2e/model.h"
#include "e2e/real_cluster.h"
#include "operator/client/client_config.h"
#include "operator/client/testing/temporary_folder.h"
#include "operator/client/testing/test_certificates.h"

namespace inference::e2e {
namespace {

using namespace client::resources;
using client::TestAuthority;
using client::TestCertificate;
using std::chrono::seconds;

constexpr const char* kAccount = "system:serviceaccount:inference-system:inference-operator";

std::string content(const std::string& file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream.is_open()) << file;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// A token of the operator's service account that is good until this is destroyed or revoked: it is bound to a Secret.
class RevocableToken {
 public:
  RevocableToken(RealCluster& cluster, std::string name) : cluster_(cluster), secret_(std::move(name)) {
    cluster_.must({"create", "secret", "generic", secret_, "-n", "inference-system"});
    const Output made = cluster_.must({"create", "token", "inference-operator", "-n", "inference-system",
                                       "--bound-object-kind=Secret", "--bound-object-name=" + secret_});
    text_ = made.text.substr(0, made.text.find('\n'));
  }
  ~RevocableToken() {
    if (!revoked_) cluster_.must({"delete", "secret", secret_, "-n", "inference-system"});
  }
  RevocableToken(const RevocableToken&) = delete;
  RevocableToken& operator=(const RevocableToken&) = delete;
  [[nodiscard]] const std::string& text() const { return text_; }
  void revoke() {
    revoked_ = true;
    cluster_.must({"delete", "secret", secret_, "-n", "inference-system"});
  }

 private:
  RealCluster& cluster_;
  std::string secret_;
  std::string text_;
  bool revoked_ = false;
};

class Credentials : public testing::Test {
 protected:
  void TearDown() override {
    ASSERT_NE(process_, nullptr);
    ASSERT_TRUE(process_->running()) << process_->log();
    if (HasFailure()) std::cerr << process_->log().substr(0, 20000);
    EXPECT_EQ(process_->stop(SIGTERM), 0);
  }

  /// A kubeconfig with these fields of its user; the cluster's fields are laid over the usual ones.
  [[nodiscard]] std::string kubeconfig(const std::string& name, const Json& user,
                                       const Json& cluster = Json::object()) const {
    Json where = {{"server", cluster_.server()}, {"certificate-authority", pki_ + "/ca.crt"}};
    where.update(cluster);
    const Json text = {{"apiVersion", "v1"},
                       {"kind", "Config"},
                       {"clusters", {{{"name", "c"}, {"cluster", where}}}},
                       {"users", {{{"name", "operator"}, {"user", user}}}},
                       {"contexts", {{{"name", "x"}, {"context", {{"cluster", "c"}, {"user", "operator"}}}}}},
                       {"current-context", "x"}};
    return folder_.write(name, text.dump());
  }
  void start(const Json& user, const Json& cluster = Json::object()) {
    process_ = std::make_unique<OperatorProcess>(
        cluster_, OperatorOptions{.kubeconfig = kubeconfig("kubeconfig", user, cluster)});
    EXPECT_TRUE(eventually([&] { return process_->log().find("workers started") != std::string::npos; }))
        << process_->log();
  }

  /// The grace period is the drain's and a constant.
  void ask_for(int drain_seconds) {
    cluster_.apply(model(namespace_.name(), "m", {{"suspend", true}, {"drain", {{"timeoutSeconds", drain_seconds}}}}));
  }
  [[nodiscard]] bool has(int drain_seconds) {
    const Json deployment = cluster_.get(kDeployment, namespace_.name(), "m");
    if (deployment.is_null()) return false;
    const int grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
    return grace >= drain_seconds && grace < drain_seconds + 100;
  }
  /// The child follows the spec, status says so, and then nothing fails any more.
  void expect_taken_up(int drain_seconds) {
    EXPECT_TRUE(eventually([&] { return has(drain_seconds); })) << "drain " << drain_seconds;
    EXPECT_TRUE(eventually([&] {
      const Json object = cluster_.get(kInferenceDeployment, namespace_.name(), "m");
      return condition(object, "Ready") == "True/Suspended" &&
             object["status"]["observedGeneration"] == object["metadata"]["generation"];
    })) << cluster_.get(kInferenceDeployment, namespace_.name(), "m").dump(1);
  }
  /// A change now is taken up at the first try.
  void expect_no_trouble(int drain_seconds) {
    const std::string before = process_->log();
    ask_for(drain_seconds);
    expect_taken_up(drain_seconds);
    const std::string since = process_->log().substr(before.size());
    EXPECT_EQ(since.find("reconcile failed"), std::string::npos) << since;
  }
  /// What the operator showed the API server with its last write for our model: `JTI=…`, `X509SHA256=…`.
  [[nodiscard]] std::string shown() const {
    std::string id;
    for (const Json& event : cluster_.operator_audit()) {
      if (event.value("/objectRef/namespace"_json_pointer, "") != namespace_.name()) continue;
      EXPECT_EQ(event.value("/user/username"_json_pointer, ""), kAccount);
      id = event["user"]["extra"]["authentication.kubernetes.io/credential-id"].at(0);
    }
    return id;
  }
  /// Until the API server refuses this user: it believes a token for ten seconds more, once it has found it good.
  void wait_until_refused(const Json& user) {
    const auto config = client::load_config({.kubeconfig = kubeconfig("refused", user), .context = {}});
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_TRUE(eventually([&] {
      const auto api = client::ApiClient::make(*config, clock_);
      const auto answer = (*api)->list(kInferenceDeployment, {.ns = namespace_.name()}, {});
      return !answer && answer.error().is_unauthorized();
    }));
  }
  [[nodiscard]] bool meets_refusals(std::size_t from) const {
    return eventually([&] { return process_->log().find("401", from) != std::string::npos; });
  }

  RealCluster& cluster_ = RealCluster::instance();
  const std::string pki_ = std::filesystem::path(cluster_.kubeconfig()).parent_path() / "pki";
  SystemClock clock_;
  client::TemporaryFolder folder_;
  Namespace namespace_{cluster_, "cred"};
  std::unique_ptr<OperatorProcess> process_;
};

TEST_F(Credentials, ATokenFileIsReadAgainWhetherItChangesBeforeOrAfterTheOldTokensEnd) {
  RevocableToken first(cluster_, namespace_.name() + "-1");
  RevocableToken second(cluster_, namespace_.name() + "-2");
  RevocableToken third(cluster_, namespace_.name() + "-3");
  const std::string file = folder_.write("token", first.text() + "\n");
  start({{"tokenFile", file}});
  ask_for(300);
  expect_taken_up(300);
  const std::string with_first = shown();
  EXPECT_TRUE(with_first.starts_with("JTI=")) << with_first;

  folder_.write("token", second.text() + "\n");
  expect_no_trouble(600);
  const std::string with_second = shown();
  EXPECT_NE(with_second, with_first);
  first.revoke();

  second.revoke();
  wait_until_refused({{"token", second.text()}});
  const std::size_t before = process_->log().size();
  ask_for(900);
  EXPECT_TRUE(meets_refusals(before));
  EXPECT_FALSE(has(900));
  folder_.write("token", third.text() + "\n");
  expect_taken_up(900);
  EXPECT_NE(shown(), with_second);
  expect_no_trouble(1200);
}

TEST_F(Credentials, APluginIsAskedAgainWhenItsTokenExpiresAndWhenTheTokenIsRefusedBefore) {
  RevocableToken first(cluster_, namespace_.name() + "-1");
  RevocableToken second(cluster_, namespace_.name() + "-2");
  RevocableToken third(cluster_, namespace_.name() + "-3");
  const auto give = [&](const RevocableToken& token, seconds lifetime) {
    const Json status = {{"token", token.text()}, {"expirationTimestamp", to_rfc3339(clock_.wall_now() + lifetime)}};
    folder_.write(
        "credential",
        Json{{"apiVersion", "client.authentication.k8s.io/v1"}, {"kind", "ExecCredential"}, {"status", status}}.dump());
  };
  // A token is replaced 10 s before it expires.
  constexpr seconds kShort{20};
  const TimePoint expired = clock_.now() + kShort;
  give(first, kShort);
  const std::string plugin =
      folder_.write_program("plugin", "#!/bin/sh\nexec cat '" + folder_.path() + "/credential'\n");
  start({{"exec",
          {{"apiVersion", "client.authentication.k8s.io/v1"}, {"command", plugin}, {"interactiveMode", "Never"}}}});
  ask_for(300);
  expect_taken_up(300);
  const std::string with_first = shown();

  // The API server would take the first one for an hour yet.
  give(second, std::chrono::hours{1});
  EXPECT_TRUE(eventually([&] { return clock_.now() > expired; }));
  expect_no_trouble(600);
  const std::string with_second = shown();
  EXPECT_NE(with_second, with_first);

  give(third, std::chrono::hours{1});
  second.revoke();
  wait_until_refused({{"token", second.text()}});
  expect_no_trouble(900);
  EXPECT_NE(shown(), with_second);
}

TEST_F(Credentials, AClientCertificateIsReadAgainWhetherItChangesBeforeOrAfterTheOldOnesEnd) {
  const TestAuthority authority(TestCertificate{content(pki_ + "/ca.crt"), content(pki_ + "/ca.key")});
  const auto issue = [&](seconds lifetime) {
    return authority.issue({.common_name = kAccount,
                            .organizations = {"system:serviceaccounts", "system:serviceaccounts:inference-system"},
                            .lifetime = lifetime});
  };
  const auto user = [&](const std::string& name, const TestCertificate& pair) {
    return Json{{"client-certificate", folder_.write(name + ".crt", pair.certificate_pem)},
                {"client-key", folder_.write(name + ".key", pair.key_pem)}};
  };
  start(user("client", issue(std::chrono::hours{1})));
  ask_for(300);
  expect_taken_up(300);
  const std::string with_first = shown();
  EXPECT_TRUE(with_first.starts_with("X509SHA256=")) << with_first;

  // Half renewed: the pair that belongs together goes on.
  constexpr seconds kShort{30};
  const TestCertificate second = issue(kShort);
  folder_.write("client.crt", second.certificate_pem);
  expect_no_trouble(600);
  EXPECT_EQ(shown(), with_first);
  folder_.write("client.key", second.key_pem);
  expect_no_trouble(900);
  const std::string with_second = shown();
  EXPECT_NE(with_second, with_first);

  wait_until_refused(user("expired", second));
  const std::size_t before = process_->log().size();
  ask_for(1200);
  EXPECT_TRUE(meets_refusals(before));
  (void)user("client", issue(std::chrono::hours{1}));
  expect_taken_up(1200);
  EXPECT_NE(shown(), with_second);
  expect_no_trouble(1500);
}

TEST_F(Credentials, TheAuthorityIsReplacedByWayOfABundle) {
  const char* program = std::getenv("INFERENCE_TEST_CLUSTER");
  ASSERT_NE(program, nullptr) << "run these tests by ./dev test --only cluster";
  const TestAuthority old_authority("old CA");
  const TestAuthority new_authority("new CA");
  const RevocableToken token(cluster_, namespace_.name() + "-1");
  const auto trust = [&](const std::string& name, const std::string& pem) {
    return Json{{"certificate-authority", folder_.write(name, pem)}, {"tls-server-name", "localhost"}};
  };
  // The API server shows the named certificate to who asks for this name, and reads it again when it changes.
  const auto serve = [&](const TestAuthority& authority) {
    const TestCertificate pair = authority.issue_for_loopback();
    std::ofstream(pki_ + "/localhost.crt") << pair.certificate_pem;
    std::ofstream(pki_ + "/localhost.key") << pair.key_pem;
    const auto config = client::load_config(
        {.kubeconfig = kubeconfig("probe", {{"token", token.text()}}, trust("probe-ca", authority.pem())),
         .context = {}});
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_TRUE(eventually([&] {
      const auto api = client::ApiClient::make(*config, clock_);
      return (*api)->list(kInferenceDeployment, {.ns = namespace_.name()}, {}).has_value();
    }));
  };
  serve(old_authority);
  start({{"token", token.text()}}, trust("ca", old_authority.pem()));
  ask_for(300);
  expect_taken_up(300);

  folder_.write("ca", old_authority.pem() + new_authority.pem());
  expect_no_trouble(600);
  serve(new_authority);
  // Whatever was connected under the old one is no more.
  const Output restarted = run({program, "restart", "apiserver", "--state", std::getenv("INFERENCE_TEST_STATE")});
  EXPECT_EQ(restarted.exit_code, 0) << restarted.text;
  ask_for(900);
  expect_taken_up(900);

  folder_.write("ca", new_authority.pem());
  expect_no_trouble(1200);
}

}  // namespace
}  // namespace inference::e2e
