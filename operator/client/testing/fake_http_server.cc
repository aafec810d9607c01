#include "operator/client/testing/fake_http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "operator/client/testing/socket_connection.h"

namespace inference::client {

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

/// Method, target and headers from the text before the blank line.
FakeRequest parse_head(std::string_view head) {
  FakeRequest request;
  const std::string_view line = head.substr(0, head.find("\r\n"));
  request.method = line.substr(0, line.find(' '));
  const std::size_t begin = std::min(line.find(' ') + 1, line.size());
  request.target = line.substr(begin, line.rfind(' ') - begin);
  head.remove_prefix(std::min(line.size() + 2, head.size()));
  while (!head.empty()) {
    const std::string_view header = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(header.size() + 2, head.size()));
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(header.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string_view value = header.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    std::string& slot = request.headers[name];
    slot += (slot.empty() ? "" : ", ") + std::string(value);
  }
  return request;
}

}  // namespace

FakeHttpServer::FakeHttpServer(Handler handler, std::optional<Tls> tls)
    : handler_(std::move(handler)), tls_(std::move(tls)) {
  // OpenSSL writes with write(2), which would raise it when the client has gone.
  ::signal(SIGPIPE, SIG_IGN);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  stop_event_ = ::eventfd(0, EFD_CLOEXEC);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  require(::listen(listener_, 128) == 0);
  socklen_t size = sizeof(address);
  require(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_loop(stop); });
}

FakeHttpServer::~FakeHttpServer() {
  acceptor_.request_stop();
  const std::uint64_t one = 1;
  require(::write(stop_event_, &one, sizeof(one)) == sizeof(one));
  acceptor_.join();
  connections_.clear();
  ::close(listener_);
  ::close(stop_event_);
}

std::string FakeHttpServer::url() const {
  const std::scoped_lock lock(mutex_);
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

std::vector<FakeRequest> FakeHttpServer::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

int FakeHttpServer::connections() const {
  const std::scoped_lock lock(mutex_);
  return accepted_;
}

bool FakeHttpServer::wait_for_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return requests_.size() >= count; });
}

void FakeHttpServer::use(Tls tls) {
  const std::scoped_lock lock(mutex_);
  tls_ = std::move(tls);
}

void FakeHttpServer::close_idle() {
  std::unique_lock lock(mutex_);
  // A connection becomes idle a moment after its answer has been read.
  changed_.wait_for(lock, std::chrono::seconds{20}, [&] {
    return std::ranges::all_of(connections_,
                               [](const auto& connection) { return connection->idle || connection->finished; });
  });
  for (const auto& connection : connections_) connection->close_if_idle();
  changed_.wait_for(lock, std::chrono::seconds{20}, [&] {
    return std::ranges::all_of(connections_, [](const auto& connection) { return connection->finished.load(); });
  });
}

void FakeHttpServer::accept_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd fds[] = {{listener_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
    if (::poll(fds, 2, -1) <= 0 || (fds[0].revents & POLLIN) == 0) continue;
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) continue;
    const std::scoped_lock lock(mutex_);
    connections_.push_back(std::make_unique<SocketConnection>(fd, ++accepted_, ntohs(peer.sin_port), stop_event_));
    SocketConnection& connection = *connections_.back();
    connection.thread = std::jthread([this, &connection] {
      serve(connection);
      const std::scoped_lock done(mutex_);
      connection.finished = true;
      changed_.notify_all();
    });
  }
}

void FakeHttpServer::serve(SocketConnection& connection) {
  std::optional<Tls> tls;
  {
    const std::scoped_lock lock(mutex_);
    tls = tls_;
  }
  if (tls && !connection.handshake(*tls)) {
    connection.cut();
    return;
  }
  std::string buffer;
  while (connection.is_open()) {
    {
      const std::scoped_lock lock(mutex_);
      connection.idle = true;
      changed_.notify_all();
    }
    if (!connection.read_until(buffer, 0)) break;
    connection.idle = false;
    const std::size_t end = buffer.find("\r\n\r\n");
    FakeRequest request = parse_head(std::string_view(buffer).substr(0, end + 2));
    buffer.erase(0, end + 4);
    const auto length = request.headers.find("content-length");
    const std::size_t size = length == request.headers.end() ? 0 : std::strtoul(length->second.c_str(), nullptr, 10);
    if (size > 0 && !connection.read_until(buffer, size)) break;
    request.body = buffer.substr(0, size);
    buffer.erase(0, size);
    request.connection = connection.number;
    request.peer_port = connection.peer_port;
    request.peer_certificate = connection.peer_certificate();
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
      changed_.notify_all();
    }
    handler_(connection, request);
  }
  if (connection.is_open()) connection.cut();
}

FakeHttpServer::Handler in_turn(std::vector<FakeAnswer> answers) {
  struct Script {
    std::mutex mutex;
    std::deque<FakeAnswer> left;
  };
  auto script = std::make_shared<Script>();
  script->left.assign(answers.begin(), answers.end());
  return [script](FakeConnection& connection, const FakeRequest&) {
    FakeAnswer answer{.status = 500, .body = R"({"message":"the script has no more answers"})"};
    {
      const std::scoped_lock lock(script->mutex);
      if (!script->left.empty()) {
        answer = std::move(script->left.front());
        script->left.pop_front();
      }
    }
    connection.respond(answer.status, answer.body, answer.headers);
  };
}

}  // namespace inference::client
