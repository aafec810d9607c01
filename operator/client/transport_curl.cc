#include "operator/client/transport_curl.h"

#include <curl/curl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "operator/client/curl_transfer.h"
#include "operator/client/http_exchange.h"
#include "operator/client/request_check.h"
#include "operator/client/transport_options.h"
#include "operator/client/transport_tls.h"

namespace inference::client {

namespace {

// Nothing depends on it: whatever there is to do wakes the loop.
constexpr std::chrono::milliseconds kLongestWait{1'000};

/// A file descriptor of the kernel's, closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "no file descriptor for HTTP");
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// The only user of one pool of connections: a thread on which libcurl runs. Thread-safe. It must not be destroyed by
/// its own thread.
class CurlLoop {
 public:
  explicit CurlLoop(CurlPool pool) : pool_(std::move(pool)), multi_(curl_multi_init()) {
    if (!multi_) throw std::bad_alloc();
    epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.number()}};
    ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, wake_.number(), &event);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &CurlLoop::watch_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &CurlLoop::set_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~CurlLoop() {
    thread_.request_stop();
    wake();
  }

  enum class Order { kStart, kResume, kCancel };
  void post(Order order, std::shared_ptr<CurlTransfer> transfer) {
    {
      const std::scoped_lock lock(mutex_);
      orders_.emplace_back(order, std::move(transfer));
      if (orders_.size() > 1) return;  // the first has woken it
    }
    wake();
  }

  /// Its options never change; its sockets are the loop's.
  CurlPool& pool() { return pool_; }

 private:
  using SteadyClock = std::chrono::steady_clock;
  static int watch_socket(CURL* easy, curl_socket_t socket, int what, void* loop, void* watched);
  void unwatch_socket(curl_socket_t socket) const;
  static int set_timer(CURLM* multi, long milliseconds, void* loop);
  void wake() { (void)::eventfd_write(wake_.number(), 1); }
  void run(const std::stop_token& stop);
  void wait_and_perform();
  void tell_senders();
  void obey(Order order, const std::shared_ptr<CurlTransfer>& transfer);
  void finish(CurlTransfer& transfer, CURLcode code);

  std::mutex mutex_;
  std::vector<std::pair<Order, std::shared_ptr<CurlTransfer>>> orders_;  // guarded by mutex_
  CurlPool pool_;
  const Descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  const Descriptor wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::optional<SteadyClock::time_point> timer_;  // the thread's: when libcurl wants to be called, whatever comes
  const std::unique_ptr<CURLM, CurlTransfer::Deleter<curl_multi_cleanup>> multi_;
  std::set<std::shared_ptr<CurlTransfer>> running_;  // the thread's
  std::jthread thread_;                              // last: it uses the others
};

/// libcurl says which sockets it waits for, and is then called for those alone on which something happens: most
/// transfers are watches that are silent for minutes.
int CurlLoop::watch_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* loop, void* /*watched*/) {
  if (what == CURL_POLL_REMOVE) {
    static_cast<CurlLoop*>(loop)->unwatch_socket(socket);
    return 0;
  }
  const int epoll = static_cast<CurlLoop*>(loop)->epoll_.number();
  epoll_event event{.events = 0, .data = {.fd = socket}};
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0) return 0;
  return errno == EEXIST && ::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0 ? 0 : -1;
}

/// Of a connection that is given up while it is made libcurl 7.88 says so after it has closed the socket
/// (cf_socket_close). The number may be another thread's by then: it is not in this epoll set, and nothing happens.
void CurlLoop::unwatch_socket(curl_socket_t socket) const {
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, socket, nullptr);
}

int CurlLoop::set_timer(CURLM* /*multi*/, long milliseconds, void* loop) {
  auto& timer = static_cast<CurlLoop*>(loop)->timer_;
  timer.reset();
  if (milliseconds >= 0) timer = SteadyClock::now() + std::chrono::milliseconds{milliseconds};
  return 0;
}

void CurlLoop::run(const std::stop_token& stop) {
  // Signals are for the threads that expect them; and a write to a connection that has gone must not raise SIGPIPE.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::pthread_setname_np(::pthread_self(), "http");

  std::vector<std::pair<Order, std::shared_ptr<CurlTransfer>>> orders;
  while (!stop.stop_requested()) {
    {
      const std::scoped_lock lock(mutex_);
      orders.swap(orders_);
    }
    for (const auto& [order, transfer] : orders) obey(order, transfer);
    orders.clear();
    tell_senders();
    wait_and_perform();
    tell_senders();
  }
  for (const auto& transfer : running_) curl_multi_remove_handle(multi_.get(), transfer->easy.get());
  running_.clear();
}

void CurlLoop::wait_and_perform() {
  std::chrono::milliseconds wait = kLongestWait;
  if (timer_) {
    // Rounded up: a millisecond early would only be a turn in vain.
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(*timer_ - SteadyClock::now()),
                      std::chrono::milliseconds{0}, kLongestWait);
  }
  std::array<epoll_event, 32> events{};
  const int count =
      ::epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), static_cast<int>(wait.count()));
  int running = 0;
  if (timer_ && *timer_ <= SteadyClock::now()) {
    timer_.reset();  // libcurl sets it anew if it wants
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    if (event.data.fd == wake_.number()) {
      eventfd_t times = 0;
      (void)::eventfd_read(wake_.number(), &times);
      continue;
    }
    int mask = 0;
    if ((event.events & EPOLLIN) != 0) mask |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi_.get(), event.data.fd, mask, &running);
  }
}

void CurlLoop::tell_senders() {
  // A whole answer that came at once is announced by its end.
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    CurlTransfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(*transfer, message->data.result);
  }
  for (const auto& transfer : running_) {
    if (std::exchange(transfer->has_news, false)) transfer->exchange.announce();
  }
}

void CurlLoop::obey(Order order, const std::shared_ptr<CurlTransfer>& transfer) {
  CURL* easy = transfer->easy.get();
  if (order == Order::kStart) {
    running_.insert(transfer);
    const CURLMcode code = curl_multi_add_handle(multi_.get(), easy);
    if (code != CURLM_OK) finish(*transfer, CURLE_FAILED_INIT);
    return;
  }
  if (!running_.contains(transfer)) return;  // it has ended meanwhile
  if (order == Order::kResume) {
    transfer->paused = false;
    curl_easy_pause(easy, CURLPAUSE_CONT);
  } else {
    curl_multi_remove_handle(multi_.get(), easy);
    running_.erase(transfer);
  }
}

void CurlLoop::finish(CurlTransfer& transfer, CURLcode code) {
  const std::shared_ptr<CurlTransfer> kept = transfer.shared_from_this();
  curl_multi_remove_handle(multi_.get(), transfer.easy.get());
  running_.erase(kept);
  if (code == CURLE_SEND_ERROR) transfer.undelivered = true;
  transfer.exchange.end(transfer.end(code));
}

class CurlTransport final : public HttpTransport {
 public:
  CurlTransport(TransportOptions options, const ServerUrl& server, Clock& clock)
      : options_(std::move(options)), server_(server), clock_(clock) {}

  void send(const HttpRequest& request, ResponseSink& sink, std::stop_token stop) override {
    sink.on_end(exchange(request, sink, stop));
  }

 private:
  HttpEnd exchange(const HttpRequest& request, ResponseSink& sink, const std::stop_token& stop) {
    if (auto ok = check_request(request); !ok) return {HttpEnd::Kind::kRefused, std::move(ok.error())};
    const TimePoint begin = clock_.now();
    const HttpExchange::Limits limits{
        request.idle_timeout, request.total_timeout ? std::optional(begin + *request.total_timeout) : std::nullopt,
        request.max_response_bytes};
    auto loop = current_loop();
    if (!loop) return {HttpEnd::Kind::kRefused, std::move(loop.error())};
    auto transfer = CurlTransfer::make(request, (*loop)->pool());
    if (!transfer) return {HttpEnd::Kind::kRefused, std::move(transfer.error())};
    HttpEnd end = run(**loop, *transfer, limits, sink, stop);
    const bool died_in_pool = end.kind == HttpEnd::Kind::kCut && (*transfer)->pooled && !(*transfer)->head_received;
    const bool may_replay = (*transfer)->undelivered || request.replay == HttpRequest::Replay::kIfHarmless;
    if (!died_in_pool || !may_replay) return end;
    transfer = CurlTransfer::make(request, (*loop)->pool());
    if (!transfer) return end;
    // The others of the pool are likely dead too.
    curl_easy_setopt((*transfer)->easy.get(), CURLOPT_FRESH_CONNECT, 1L);
    return run(**loop, *transfer, limits, sink, stop);
  }

  HttpEnd run(CurlLoop& loop, const std::shared_ptr<CurlTransfer>& transfer, const HttpExchange::Limits& limits,
              ResponseSink& sink, const std::stop_token& stop) {
    // Whoever leaves early, by a stop, a limit or an exception of the sink, also ends the connection, but does not wait
    // for it.
    struct CancelUnlessComplete {
      CurlLoop& loop;
      const std::shared_ptr<CurlTransfer>& transfer;
      bool complete = false;
      ~CancelUnlessComplete() {
        if (!complete) loop.post(CurlLoop::Order::kCancel, transfer);
      }
    } guard{loop, transfer};
    transfer->resume = [&] { loop.post(CurlLoop::Order::kResume, transfer); };
    loop.post(CurlLoop::Order::kStart, transfer);
    HttpEnd end = transfer->exchange.deliver(sink, limits, clock_, stop);
    guard.complete = end.kind == HttpEnd::Kind::kComplete;
    return end;
  }

  /// Changed certificates give a new loop, so that no old connection is used again. The old one ends with its last
  /// transfer.
  std::expected<std::shared_ptr<CurlLoop>, std::string> current_loop() {
    std::shared_ptr<const TlsMaterial> material;
    if (server_.is_tls()) {
      auto current = options_.tls_material();
      if (!current) return std::unexpected(std::move(current.error()));
      material = std::move(*current);
    }
    const std::scoped_lock lock(mutex_);
    if (!loop_ || !same_material(loop_->pool().material, material)) {
      if (material) {
        if (auto ok = check_tls_material(*material, options_.verify); !ok)
          return std::unexpected(std::move(ok.error()));
      }
      loop_ = std::make_shared<CurlLoop>(CurlPool{options_, server_, std::move(material)});
    }
    return loop_;
  }

  const TransportOptions options_;
  const ServerUrl server_;
  Clock& clock_;
  std::mutex mutex_;
  std::shared_ptr<CurlLoop> loop_;  // guarded by mutex_
};

}  // namespace

std::expected<std::unique_ptr<HttpTransport>, std::string> make_curl_transport(TransportOptions options, Clock& clock) {
  auto server = check_transport_options(options);
  if (!server) return std::unexpected(std::move(server.error()));
  static const CURLcode prepared = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (prepared != CURLE_OK) return std::unexpected(std::string("libcurl: ") + curl_easy_strerror(prepared));
  return std::make_unique<CurlTransport>(std::move(options), *server, clock);
}

}  // namespace inference::client
