// Every transport: how answers end, and who ends them.
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "operator/client/transport_suite.h"

namespace inference::client {
namespace {

struct Ending {
  const char* name;
  void (*act)(FakeConnection&);
  EndKind kind;
};
const Ending kEndings[] = {
    {"complete", [](FakeConnection& connection) { connection.end_chunked(); }, EndKind::kComplete},
    {"FIN", [](FakeConnection& connection) { connection.cut(); }, EndKind::kCut},
    {"close_notify and FIN", [](FakeConnection& connection) { connection.close(); }, EndKind::kCut},
    {"RST", [](FakeConnection& connection) { connection.reset(); }, EndKind::kCut},
    {"garbage", [](FakeConnection& connection) { connection.write("no chunk size\r\n"); }, EndKind::kCut},
    {"silence", [](FakeConnection& connection) { connection.wait_until_closed(); }, EndKind::kIdleTimeout},
};

TEST_P(TransportTest, TellsTheEndsOfAStreamApart) {
  for (const bool with_tls : {true, false}) {
    for (const Ending& ending : kEndings) {
      RecordingSink sink;
      FakeHttpServer server(
          [&](FakeConnection& connection, const FakeRequest&) {
            connection.begin_chunked(200);
            connection.chunk("begun\n");
            sink.begun.wait(false);  // a reset would overtake what was sent before
            ending.act(connection);
          },
          with_tls ? std::optional(loopback()) : std::nullopt);
      auto transport = connect_with_fake_clock(server);
      std::jthread sender([&] { send(*transport, stream(), sink); });
      if (ending.kind == EndKind::kIdleTimeout) {
        sink.begun.wait(false);
        EXPECT_TRUE(fake_clock_.wait_for_sleepers(1));
        fake_clock_.advance(31s);
      }
      sender.join();
      EXPECT_EQ(sink.status, 200);
      EXPECT_EQ(static_cast<int>(sink.end.kind), static_cast<int>(ending.kind))
          << ending.name << (with_tls ? " over TLS: " : ": ") << sink.end.detail;
      EXPECT_EQ(sink.body, "begun\n");
    }
  }
}

TEST_P(TransportTest, NoticesATruncatedBody) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all");
        connection.close();
      },
      loopback());
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kCut) << sink.end.detail;
}

TEST_P(TransportTest, GivesUpOnASilentServer) {
  FakeHttpServer server([](FakeConnection& connection, const FakeRequest&) { connection.wait_until_closed(); },
                        loopback());
  auto transport = connect_with_fake_clock(server);
  RecordingSink sink;
  std::jthread sender([&] { send(*transport, get(), sink); });
  ASSERT_TRUE(server.wait_for_requests(1));
  ASSERT_TRUE(fake_clock_.wait_for_sleepers(1));
  fake_clock_.advance(31s);
  sender.join();
  EXPECT_EQ(sink.end.kind, EndKind::kIdleTimeout);
  EXPECT_EQ(sink.status, 0);
}

TEST_P(TransportTest, GivesUpOnAnAnswerThatTakesTooLongInAll) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        while (!connection.wait_until_closed(5ms)) connection.chunk("drip");
      },
      loopback());
  auto transport = connect_with_fake_clock(server);
  HttpRequest request = get();
  request.total_timeout = 10s;
  RecordingSink sink;
  std::jthread sender([&] { send(*transport, request, sink); });
  sink.begun.wait(false);
  fake_clock_.advance(11s);
  sender.join();
  EXPECT_EQ(sink.end.kind, EndKind::kTotalTimeout);
}

TEST_P(TransportTest, AQuietStreamOutlivesTheShortTimeoutOfCalls) {
  std::atomic<bool> call_is_over{false};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest& request) {
        if (request.target != "/watch") {
          connection.wait_until_closed();
          return;
        }
        connection.begin_chunked(200);
        connection.chunk("first\n");
        call_is_over.wait(false);
        connection.chunk("second\n");
        connection.end_chunked();
      },
      loopback());
  auto transport = connect_with_fake_clock(server);
  HttpRequest quiet = stream();
  quiet.idle_timeout = 90s;
  RecordingSink watch;
  std::jthread watcher([&] { send(*transport, quiet, watch); });
  watch.begun.wait(false);
  RecordingSink sink;
  std::jthread caller([&] { send(*transport, get(), sink); });
  ASSERT_TRUE(server.wait_for_requests(2));
  ASSERT_TRUE(fake_clock_.wait_for_sleepers(2));
  fake_clock_.advance(60s);
  caller.join();
  EXPECT_EQ(sink.end.kind, EndKind::kIdleTimeout);
  call_is_over = true;
  call_is_over.notify_all();
  watcher.join();
  EXPECT_EQ(watch.body, "first\nsecond\n");
  EXPECT_EQ(watch.end.kind, EndKind::kComplete) << watch.end.detail;
}

TEST_P(TransportTest, AStreamHasTcpKeepAlive) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        connection.wait_until_closed();
      },
      loopback());
  auto transport = connect(server);
  std::stop_source stop;
  RecordingSink sink;
  std::jthread watcher([&] { send(*transport, stream(), sink, stop.get_token()); });
  sink.begun.wait(false);
  // Fields of proc(5) tcp: "sl local_address rem_address st tx:rx tr:when …"; tr is 02 while the keep-alive timer runs.
  char local[16];
  std::snprintf(local, sizeof(local), "0100007F:%04X", static_cast<unsigned>(server.requests()[0].peer_port));
  bool has_timer = false;
  for (int attempt = 0; attempt < 1000 && !has_timer; ++attempt) {
    std::ifstream table("/proc/self/net/tcp");
    std::string slot, from, to, state, queues, timer, line;
    std::getline(table, line);
    while (table >> slot >> from >> to >> state >> queues >> timer && std::getline(table, line)) {
      if (from == local && timer.starts_with("02:")) has_timer = true;
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(has_timer);
  stop.request_stop();
}

TEST_P(TransportTest, SaysThatNoConnectionWasMade) {
  std::string url;
  {
    FakeHttpServer gone(answer_ok, loopback());
    url = gone.url();
  }
  RecordingSink sink;
  send(*connect(url, authority_.pem()), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kConnect) << sink.end.detail;
}

TEST_P(TransportTest, KeepsToTheLimitOfBytes) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) {
        if (request.target == "/length") return connection.respond(200, std::string(100'000, 'x'));
        connection.begin_chunked(200);
        while (!connection.wait_until_closed(1ms)) connection.chunk(std::string(1000, 'x'));
      },
      loopback());
  auto transport = connect(server);
  for (const char* target : {"/length", "/chunked"}) {
    HttpRequest request = get(target);
    request.max_response_bytes = 50'000;
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.end.kind, EndKind::kTooLarge) << target;
    EXPECT_LE(sink.body.size(), 50'000U);
  }
}

TEST_P(TransportTest, StopsAtOnceAHundredTimes) {
  std::atomic<int> closed_by_client{0};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest& request) {
        if (request.target != "/watch") return connection.respond(200, "{}");
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        if (connection.wait_until_closed()) ++closed_by_client;
        closed_by_client.notify_all();
      },
      loopback());
  auto transport = connect(server);
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    std::stop_source stop;
    RecordingSink sink;
    std::jthread watcher([&] { send(*transport, stream(), sink, stop.get_token()); });
    // Half of them as soon as they run, wherever they are in connecting.
    if (round % 2 == 0) sink.begun.wait(false);
    stop.request_stop();
    watcher.join();
    ASSERT_EQ(sink.end.kind, EndKind::kCancelled) << sink.end.detail;
  }
  for (int closed = closed_by_client; closed < kRounds / 2; closed = closed_by_client) closed_by_client.wait(closed);
  RecordingSink after;
  send(*transport, get(), after);
  EXPECT_EQ(after.status, 200) << "the transport still works: " << after.end.detail;
}

TEST_P(TransportTest, SendsNothingWhenAlreadyStopped) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  std::stop_source stop;
  stop.request_stop();
  RecordingSink sink;
  send(*transport, get(), sink, stop.get_token());
  EXPECT_EQ(sink.end.kind, EndKind::kCancelled);
}

TEST_P(TransportTest, EndsWhenTheReceiverHasHadEnough) {
  std::atomic<bool> closed{false};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        closed = connection.wait_until_closed();
        closed.notify_all();
      },
      loopback());
  auto transport = connect(server);
  struct StoppingSink : RecordingSink {
    Next on_bytes(std::string_view bytes) override {
      RecordingSink::on_bytes(bytes);
      return Next::kStop;
    }
  } stopping;
  send(*transport, stream(), stopping);
  EXPECT_EQ(stopping.end.kind, EndKind::kCancelled);
  closed.wait(false);

  closed = false;
  struct ThrowingSink : RecordingSink {
    Next on_bytes(std::string_view) override { throw std::runtime_error("receiver"); }
  } throwing;
  EXPECT_THROW(transport->send(stream(), throwing, {}), std::runtime_error);
  closed.wait(false);
}

}  // namespace
}  // namespace inference::client
