// Every transport: who is trusted, and what is never sent.
#include <cstdlib>

#include "operator/client/testing/temporary_folder.h"
#include "operator/client/transport_suite.h"

namespace inference::client {
namespace {

TEST_P(TransportTest, TrustsTheGivenAuthorityForAnAddress) {
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue({.ip_addresses = {"127.0.0.1"}})});
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_EQ(sink.status, 200) << sink.end.detail;
}

TEST_P(TransportTest, RefusesACertificateOfAnotherAuthority) {
  FakeHttpServer server(answer_ok, loopback());
  RecordingSink sink;
  send(*connect(server.url(), TestAuthority("another CA").pem()), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kTls);
  EXPECT_NE(sink.end.detail.find("certificate"), std::string::npos) << sink.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, RefusesTheRightAuthorityWithTheWrongName) {
  FakeHttpServer server(
      answer_ok,
      FakeHttpServer::Tls{authority_.issue({.dns_names = {"other.example"}, .ip_addresses = {"127.0.0.9"}})});
  RecordingSink by_address;
  send(*connect(server), get(), by_address);
  EXPECT_EQ(by_address.end.kind, EndKind::kTls);
  EXPECT_NE(by_address.end.detail.find("mismatch"), std::string::npos) << by_address.end.detail;
  RecordingSink by_name;
  send(*connect(localhost(server), authority_.pem()), get(), by_name);
  EXPECT_EQ(by_name.end.kind, EndKind::kTls);
  EXPECT_NE(by_name.end.detail.find("mismatch"), std::string::npos) << by_name.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, RefusesAMatchingCommonNameWithoutAMatchingAlternativeName) {
  for (const auto& subject : {TestSubject{.common_name = "localhost", .dns_names = {"other.example"}},
                              TestSubject{.common_name = "localhost"}}) {
    FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue(subject)});
    RecordingSink sink;
    send(*connect(localhost(server), authority_.pem()), get(), sink);
    EXPECT_EQ(sink.end.kind, EndKind::kTls) << sink.end.detail;
    EXPECT_TRUE(server.requests().empty());
  }
}

TEST_P(TransportTest, DoesNotTrustTheSystemsStore) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server.url(), TestAuthority("another CA").pem());
  const TemporaryFolder folder;
  ::setenv("SSL_CERT_FILE", folder.write("system.pem", authority_.pem()).c_str(), 1);
  RecordingSink sink;
  send(*transport, get(), sink);
  ::setenv("SSL_CERT_FILE", "/dev/null", 1);
  EXPECT_EQ(sink.end.kind, EndKind::kTls) << sink.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, VerifiesTheGivenServerNameInsteadOfTheAddress) {
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue({.dns_names = {"kubernetes.default.svc"}})});
  const auto material = [trusted = trust(authority_.pem())] { return trusted; };
  RecordingSink right;
  send(*connect({.server = server.url(), .tls_server_name = "kubernetes.default.svc", .tls_material = material}), get(),
       right);
  EXPECT_EQ(right.status, 200) << right.end.detail;
  RecordingSink wrong;
  send(*connect({.server = server.url(), .tls_server_name = "other.default.svc", .tls_material = material}), get(),
       wrong);
  EXPECT_EQ(wrong.end.kind, EndKind::kTls);
}

TEST_P(TransportTest, VerifiesNothingWhenToldSo) {
  FakeHttpServer server(answer_ok, loopback());
  RecordingSink sink;
  send(*connect({.server = server.url(),
                 .verify = TransportOptions::Verify::kNothing,
                 .tls_material = [] { return std::make_shared<const TlsMaterial>(); }}),
       get(), sink);
  EXPECT_EQ(sink.status, 200) << sink.end.detail;
}

TEST_P(TransportTest, SaysWhichMaterialIsUnusable) {
  FakeHttpServer server(answer_ok, loopback());
  const TestCertificate one = authority_.issue({});
  const TestCertificate two = authority_.issue({});
  const std::vector<std::pair<TlsMaterial, std::string>> cases = {
      {{}, "certificate authority"},
      {{.ca_pem = "garbage"}, "certificate authority"},
      {{.ca_pem = authority_.pem(), .certificate_pem = "garbage", .key_pem = Secret(one.key_pem)},
       "client certificate"},
      {{.ca_pem = authority_.pem(), .certificate_pem = one.certificate_pem}, "client key"},
      {{.ca_pem = authority_.pem(), .certificate_pem = one.certificate_pem, .key_pem = Secret(two.key_pem)}, "belong"}};
  for (const auto& [material, text] : cases) {
    RecordingSink sink;
    auto shared = std::make_shared<const TlsMaterial>(material);
    send(*connect({.server = server.url(), .tls_material = [shared] { return shared; }}), get(), sink);
    EXPECT_EQ(sink.end.kind, EndKind::kRefused);
    EXPECT_NE(sink.end.detail.find(text), std::string::npos) << sink.end.detail;
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, RotatesAuthorityAndClientCertificateWithoutRestart) {
  const TestAuthority clients("clients CA");
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue_for_loopback(), clients.pem()});
  const auto make_material = [&](const TestAuthority& authority, const char* name) {
    const TestCertificate client = clients.issue({.common_name = name});
    return std::make_shared<const TlsMaterial>(TlsMaterial{
        .ca_pem = authority.pem(), .certificate_pem = client.certificate_pem, .key_pem = Secret(client.key_pem)});
  };
  std::shared_ptr<const TlsMaterial> material = make_material(authority_, "first");
  auto transport = connect({.server = server.url(), .tls_material = [&] { return material; }});
  RecordingSink before;
  send(*transport, get(), before);
  EXPECT_EQ(before.status, 200) << before.end.detail;

  // The client's certificate changes: the pooled connection of the old one is not used any more.
  material = make_material(authority_, "second");
  RecordingSink renewed;
  send(*transport, get(), renewed);
  EXPECT_EQ(renewed.status, 200) << renewed.end.detail;

  // The server's authority changes.
  const TestAuthority next("next CA");
  server.use({next.issue_for_loopback(), clients.pem()});
  server.close_idle();
  RecordingSink stale;
  send(*transport, get(), stale);
  EXPECT_EQ(stale.end.kind, EndKind::kTls) << stale.end.detail;
  material = make_material(next, "third");
  RecordingSink after;
  send(*transport, get(), after);
  EXPECT_EQ(after.status, 200) << after.end.detail;

  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].peer_certificate, "first");
  EXPECT_EQ(requests[1].peer_certificate, "second");
  EXPECT_EQ(requests[2].peer_certificate, "third");
}

TEST_P(TransportTest, SaysWhenTheServerRefusesTheClient) {
  FakeHttpServer server(answer_ok,
                        FakeHttpServer::Tls{authority_.issue_for_loopback(), TestAuthority("clients CA").pem()});
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_NE(sink.end.kind, EndKind::kComplete);
  EXPECT_EQ(sink.status, 0);
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, DoesNotFollowRedirectsNorSendTheTokenOn) {
  FakeHttpServer other(answer_ok, loopback());
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest&) {
        connection.respond(302, "", "Location: " + other.url() + "/stolen\r\n");
      },
      loopback());
  auto transport = connect(server);
  for (HttpRequest request : {get(), patch()}) {
    request.bearer = Secret("t0ken");
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.status, 302);
  }
  EXPECT_EQ(other.connections(), 0);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_P(TransportTest, TakesNothingFromTheEnvironmentNorFromEarlierAnswers) {
  FakeHttpServer proxy([](FakeConnection& connection, const FakeRequest&) { connection.respond(403, "no"); });
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.respond(200, "{}", "Set-Cookie: key=value\r\nStrict-Transport-Security: max-age=9\r\n");
      },
      loopback());
  const TemporaryFolder home;
  (void)home.write(".netrc", "default login user password secret\n");
  const std::vector<std::pair<const char*, std::string>> environment = {
      {"https_proxy", proxy.url()}, {"HTTPS_PROXY", proxy.url()}, {"all_proxy", proxy.url()}, {"HOME", home.path()}};
  const std::string own_home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  for (const auto& [name, value] : environment) ::setenv(name, value.c_str(), 1);
  auto transport = connect(server);
  for (int call = 0; call < 2; ++call) {
    RecordingSink sink;
    send(*transport, get(), sink);
    EXPECT_EQ(sink.status, 200) << sink.end.detail;
  }
  for (const auto& [name, value] : environment) ::unsetenv(name);
  ::setenv("HOME", own_home.c_str(), 1);
  EXPECT_EQ(proxy.connections(), 0);
  for (FakeRequest& request : server.requests()) {
    EXPECT_FALSE(request.headers.contains("authorization"));
    EXPECT_FALSE(request.headers.contains("cookie"));
  }
}

TEST_P(TransportTest, RefusesWhatWouldInjectAHeader) {
  using namespace std::string_literals;
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  std::vector<HttpRequest> bad(8, get());
  bad[0].headers = {{"X-Test", "a\r\nEvil: 1"}};
  bad[1].headers = {{"X-Test", "a\0b"s}};
  bad[2].headers = {{"X-Test: a\r\nEvil", "1"}};
  bad[3].headers = {{"host", "other.example"}};
  bad[4].bearer = Secret("t0ken\r\nEvil: 1");
  bad[5].bearer = Secret("t0ken\n");
  bad[6].target = "/ HTTP/1.1\r\nEvil: 1\r\n\r\n";
  bad[7].method = "GET / HTTP/1.1\r\nEvil: 1\r\n";
  for (const HttpRequest& request : bad) {
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.end.kind, EndKind::kRefused);
    EXPECT_EQ(sink.end.detail.find("Evil"), std::string::npos) << "values are not repeated";
    EXPECT_EQ(sink.end.detail.find("t0ken"), std::string::npos) << "values are not repeated";
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, SendsAgainOnceWhenThePooledConnectionWasClosed) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    RecordingSink sink;
    send(*transport, patch(), sink);
    EXPECT_EQ(sink.status, 200) << "round " << round << ": " << sink.end.detail;
    server.close_idle();
  }
  EXPECT_EQ(server.requests().size(), std::size_t{kRounds}) << "each was delivered exactly once";
  EXPECT_EQ(server.connections(), kRounds);
}

TEST_P(TransportTest, SendsACreateAgainOnlyWhereItCannotHaveArrived) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.respond(201, "{}");
        connection.close();  // in good order: close_notify, then FIN
      },
      loopback());
  auto transport = connect(server);
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    RecordingSink sink;
    send(*transport, post(), sink);
    EXPECT_EQ(sink.status, 201) << "round " << round << ": " << sink.end.detail;
    server.close_idle();  // waits until it is closed
  }
  EXPECT_EQ(server.requests().size(), std::size_t{kRounds}) << "each was delivered exactly once";
}

TEST_P(TransportTest, NeverSendsACreateTwice) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) {
        // The request has been read whole: the object may exist by now.
        if (request.method == "POST") return connection.cut();
        connection.respond(200, "{}");
      },
      loopback());
  auto transport = connect(server);
  RecordingSink first;
  send(*transport, get(), first);
  RecordingSink create;
  send(*transport, post(), create);
  EXPECT_EQ(create.end.kind, EndKind::kCut) << create.end.detail;
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(server.requests()[1].connection, 1) << "the create went over the pooled connection";
}

}  // namespace
}  // namespace inference::client
