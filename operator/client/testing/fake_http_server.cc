#include "operator/client/testing/fake_http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace inference::client {

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Deleter<SSL_free>>;

Bio open_pem(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Context make_context(const FakeHttpServer::Tls& tls) {
  Context context(SSL_CTX_new(TLS_server_method()));
  const Certificate certificate(
      PEM_read_bio_X509(open_pem(tls.certificate.certificate_pem).get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(open_pem(tls.certificate.key_pem).get(), nullptr, nullptr, nullptr));
  require(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
  require(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  if (!tls.client_ca_pem.empty()) {
    const Certificate ca(PEM_read_bio_X509(open_pem(tls.client_ca_pem).get(), nullptr, nullptr, nullptr));
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

std::string common_name(SSL* ssl) {
  const Certificate peer(SSL_get1_peer_certificate(ssl));
  if (!peer) return {};
  char name[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name, sizeof(name));
  return name;
}

std::string hex(std::size_t value) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[value % 16]);
    value /= 16;
  } while (value != 0);
  return text;
}

std::string status_line(int status) {
  return "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
}

std::string content_type(std::string_view headers) {
  return headers.find("Content-Type:") == std::string_view::npos ? "Content-Type: application/json\r\n" : "";
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

void FakeConnection::respond(int status, std::string_view body, std::string_view headers) {
  write(status_line(status) + content_type(headers) + std::string(headers) +
        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
}

void FakeConnection::begin_chunked(int status, std::string_view headers) {
  write(status_line(status) + content_type(headers) + std::string(headers) + "Transfer-Encoding: chunked\r\n\r\n");
}

void FakeConnection::chunk(std::string_view bytes) {
  write(hex(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n");
}

void FakeConnection::end_chunked() {
  write("0\r\n\r\n");
}

/// The socket is non-blocking: every wait is a poll that also watches the server's stop event, so nothing outlives the
/// server.
class FakeHttpServer::Connection final : public FakeConnection {
 public:
  Connection(int fd, int number, int peer_port, int stop_event)
      : number(number), peer_port(peer_port), fd_(fd), stop_event_(stop_event) {}
  ~Connection() override {
    thread = {};  // joins
    ssl_.reset();
    if (fd_ >= 0) ::close(fd_);
  }

  bool handshake(const Tls& tls) {
    context_ = make_context(tls);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_);
    return retry([this] { return SSL_accept(ssl_.get()); }) == 1;
  }
  [[nodiscard]] std::string peer_certificate() const { return ssl_ ? common_name(ssl_.get()) : std::string(); }

  /// Reads until `buffer` holds `size` bytes or, with 0, a blank line. False at the end of the stream.
  bool read_until(std::string& buffer, std::size_t size) {
    const auto enough = [&] {
      return size == 0 ? buffer.find("\r\n\r\n") != std::string::npos : buffer.size() >= size;
    };
    char bytes[16384];
    while (!enough()) {
      const int count = read_some(bytes, sizeof(bytes));
      if (count <= 0) return false;
      buffer.append(bytes, static_cast<std::size_t>(count));
    }
    return true;
  }

  void write(std::string_view bytes) override {
    while (!bytes.empty() && open_) {
      const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), 65536));
      const int count =
          ssl_ ? retry([&] { return SSL_write(ssl_.get(), bytes.data(), size); }) : write_plain(bytes.data(), size);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void close() override {
    if (ssl_ && open_) SSL_shutdown(ssl_.get());
    cut();
  }
  void cut() override {
    open_ = false;
    ::shutdown(fd_, SHUT_RDWR);
  }
  void reset() override {
    // A close without lingering sends RST. The descriptor number must not be reused while another thread may still use
    // it.
    open_ = false;
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    ::close(std::exchange(fd_, -1));
  }
  void tunnel(int port) override {
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    require(::connect(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    write("HTTP/1.1 200 Connected\r\n\r\n");
    char bytes[16384];
    for (bool going = true; going;) {
      pollfd fds[] = {{fd_, POLLIN, 0}, {other, POLLIN, 0}, {stop_event_, POLLIN, 0}};
      going = ::poll(fds, 3, static_cast<int>(kPatience.count())) > 0 && (fds[2].revents & POLLIN) == 0;
      for (const int side : {0, 1}) {
        if (!going || fds[side].revents == 0) continue;
        const ssize_t count = ::recv(fds[side].fd, bytes, sizeof(bytes), 0);
        going = count > 0 && ::send(fds[1 - side].fd, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
      }
    }
    ::close(other);
    cut();
  }
  bool wait_until_closed(std::chrono::milliseconds limit) override { return wait(POLLRDHUP, limit) || stopping_; }

  [[nodiscard]] bool is_open() const { return open_; }
  /// Closes the connection from another thread if it waits for its next request.
  void close_if_idle() {
    if (idle) ::shutdown(fd_, SHUT_RDWR);
  }

  const int number;
  const int peer_port;
  std::atomic<bool> idle{false};
  std::atomic<bool> finished{false};
  std::jthread thread;

 private:
  // True when the socket is ready, false after the limit or (stopping_) when the server stops.
  bool wait(short events, std::chrono::milliseconds limit) {
    pollfd fds[] = {{fd_, events, 0}, {stop_event_, POLLIN, 0}};
    const int ready = ::poll(fds, 2, static_cast<int>(limit.count()));
    stopping_ = stopping_ || (fds[1].revents & POLLIN) != 0;
    return ready > 0 && !stopping_;
  }
  int retry(const std::function<int()>& operation) {
    for (;;) {
      ERR_clear_error();
      const int result = operation();
      if (result > 0) return result;
      const int error = SSL_get_error(ssl_.get(), result);
      const bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
      if (!waits || !wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, kPatience)) return -1;
    }
  }
  int read_some(char* bytes, std::size_t size) {
    if (ssl_) return retry([&] { return SSL_read(ssl_.get(), bytes, static_cast<int>(size)); });
    for (;;) {
      const ssize_t count = ::recv(fd_, bytes, size, 0);
      if (count >= 0) return static_cast<int>(count);
      if ((errno != EAGAIN && errno != EINTR) || !wait(POLLIN, kPatience)) return -1;
    }
  }
  int write_plain(const char* bytes, int size) {
    for (;;) {
      const ssize_t count = ::send(fd_, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (count >= 0) return static_cast<int>(count);
      if ((errno != EAGAIN && errno != EINTR) || !wait(POLLOUT, kPatience)) return -1;
    }
  }

  static constexpr std::chrono::milliseconds kPatience{30'000};
  int fd_;
  const int stop_event_;
  bool open_ = true;
  bool stopping_ = false;
  Context context_;
  Session ssl_;
};

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
    connections_.push_back(std::make_unique<Connection>(fd, ++accepted_, ntohs(peer.sin_port), stop_event_));
    Connection& connection = *connections_.back();
    connection.thread = std::jthread([this, &connection] {
      serve(connection);
      const std::scoped_lock done(mutex_);
      connection.finished = true;
      changed_.notify_all();
    });
  }
}

void FakeHttpServer::serve(Connection& connection) {
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
