#include "operator/client/testing/socket_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

namespace inference::client {

using namespace openssl;

namespace {

constexpr std::chrono::milliseconds kPatience{30'000};

void require(bool ok) {
  if (!ok) std::abort();
}

Context make_context(const FakeHttpServer::Tls& tls) {
  Context context(SSL_CTX_new(TLS_server_method()));
  const Certificate certificate(
      PEM_read_bio_X509(read_from(tls.certificate.certificate_pem).get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(read_from(tls.certificate.key_pem).get(), nullptr, nullptr, nullptr));
  require(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
  require(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  if (!tls.client_ca_pem.empty()) {
    const Certificate ca(PEM_read_bio_X509(read_from(tls.client_ca_pem).get(), nullptr, nullptr, nullptr));
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

SocketConnection::~SocketConnection() {
  thread = {};  // joins
  ssl_.reset();
  if (fd_ >= 0) ::close(fd_);
}

bool SocketConnection::handshake(const FakeHttpServer::Tls& tls) {
  context_ = make_context(tls);
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), fd_);
  return retry([this] { return SSL_accept(ssl_.get()); }) == 1;
}

std::string SocketConnection::peer_certificate() const {
  return ssl_ ? common_name(ssl_.get()) : std::string();
}

bool SocketConnection::read_until(std::string& buffer, std::size_t size) {
  const auto enough = [&] { return size == 0 ? buffer.find("\r\n\r\n") != std::string::npos : buffer.size() >= size; };
  char bytes[16384];
  while (!enough()) {
    const int count = read_some(bytes, sizeof(bytes));
    if (count <= 0) return false;
    buffer.append(bytes, static_cast<std::size_t>(count));
  }
  return true;
}

void SocketConnection::write(std::string_view bytes) {
  while (!bytes.empty() && open_) {
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), 65536));
    const int count =
        ssl_ ? retry([&] { return SSL_write(ssl_.get(), bytes.data(), size); }) : write_plain(bytes.data(), size);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void SocketConnection::close() {
  if (ssl_ && open_) SSL_shutdown(ssl_.get());
  cut();
}

void SocketConnection::cut() {
  open_ = false;
  ::shutdown(fd_, SHUT_RDWR);
}

void SocketConnection::reset() {
  // A close without lingering sends RST. The descriptor number must not be reused while another thread may still use
  // it.
  open_ = false;
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(std::exchange(fd_, -1));
}

void SocketConnection::tunnel(int port) {
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

bool SocketConnection::wait_until_closed(std::chrono::milliseconds limit) {
  return wait(POLLRDHUP, limit) || stopping_;
}

void SocketConnection::close_if_idle() {
  if (idle) ::shutdown(fd_, SHUT_RDWR);
}

bool SocketConnection::wait(short events, std::chrono::milliseconds limit) {
  pollfd fds[] = {{fd_, events, 0}, {stop_event_, POLLIN, 0}};
  const int ready = ::poll(fds, 2, static_cast<int>(limit.count()));
  stopping_ = stopping_ || (fds[1].revents & POLLIN) != 0;
  return ready > 0 && !stopping_;
}

int SocketConnection::retry(const std::function<int()>& operation) {
  for (;;) {
    ERR_clear_error();
    const int result = operation();
    if (result > 0) return result;
    const int error = SSL_get_error(ssl_.get(), result);
    const bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!waits || !wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, kPatience)) return -1;
  }
}

int SocketConnection::read_some(char* bytes, std::size_t size) {
  if (ssl_) return retry([&] { return SSL_read(ssl_.get(), bytes, static_cast<int>(size)); });
  for (;;) {
    const ssize_t count = ::recv(fd_, bytes, size, 0);
    if (count >= 0) return static_cast<int>(count);
    if ((errno != EAGAIN && errno != EINTR) || !wait(POLLIN, kPatience)) return -1;
  }
}

int SocketConnection::write_plain(const char* bytes, int size) {
  for (;;) {
    const ssize_t count = ::send(fd_, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (count >= 0) return static_cast<int>(count);
    if ((errno != EAGAIN && errno != EINTR) || !wait(POLLOUT, kPatience)) return -1;
  }
}

}  // namespace inference::client
