//===- Sockets.cpp - Nonblocking TCP connections --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Sockets.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <mutex>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace mx::runtime;

int mx::runtime::millisecondsUntil(Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

std::string mx::runtime::describeDuration(Clock::duration duration) {
  char text[32];
  snprintf(text, sizeof(text), "%.3g s",
           std::chrono::duration<double>(duration).count());
  return text;
}

void mx::runtime::waitFor(std::vector<pollfd> &events, Deadline deadline) {
  if (poll(events.data(), events.size(), millisecondsUntil(deadline)) >= 0)
    return;
  for (pollfd &event : events)
    event.revents = 0;
  if (errno != EINTR)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

//===----------------------------------------------------------------------===//
// Descriptors and forks
//===----------------------------------------------------------------------===//

namespace {

/// All open sockets. A forked child closes all copies at once. FD_CLOEXEC does
/// the same for children that execute another program.
class OpenSockets {
public:
  /// Returns the registry. Never destroyed, because threads may close sockets
  /// until process exit.
  static OpenSockets &get() {
    static auto *sockets = new OpenSockets;
    return *sockets;
  }

  std::mutex mutex;
  std::set<int> numbers;
  std::atomic<uint32_t> forks = 0;

private:
  OpenSockets() {
    pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                   [] {
                     OpenSockets &sockets = get();
                     for (int number : sockets.numbers)
                       ::close(number);
                     sockets.numbers.clear();
                     ++sockets.forks;
                     sockets.mutex.unlock();
                   });
  }
};

} // namespace

uint32_t mx::runtime::getForkCount() { return OpenSockets::get().forks; }

Socket Socket::make(const std::function<int()> &open) {
  OpenSockets &sockets = OpenSockets::get();
  Socket made;
  // Allocate first, because nothing may throw once the descriptor is open.
  std::set<int> fresh = {-1};
  auto node = fresh.extract(fresh.begin());
  std::lock_guard<std::mutex> lock(sockets.mutex);
  made.number = open();
  made.forks = sockets.forks;
  if (made.number >= 0) {
    node.value() = made.number;
    sockets.numbers.insert(std::move(node));
  }
  return made;
}

void Socket::close() {
  if (number < 0)
    return;
  OpenSockets &sockets = OpenSockets::get();
  std::lock_guard<std::mutex> lock(sockets.mutex);
  // In a child the number may belong to another file.
  if (forks == sockets.forks) {
    sockets.numbers.erase(number);
    ::close(number);
  }
  number = -1;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static Moved toMoved(ssize_t result) {
  if (result > 0)
    return {size_t(result), false};
  bool isLater = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK ||
                                errno == EINTR || errno == ENOBUFS);
  return {0, !isLater};
}

Moved mx::runtime::sendSome(const Socket &socket, const void *bytes,
                            size_t count) {
  return toMoved(send(socket.get(), bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL));
}

Moved mx::runtime::receiveSome(const Socket &socket, void *bytes,
                               size_t count) {
  return toMoved(recv(socket.get(), bytes, count, MSG_DONTWAIT));
}

bool mx::runtime::isClosed(const Socket &socket) {
  char byte;
  return toMoved(recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK))
      .isClosed;
}

/// Transfers all bytes. Repeats calls of `some`, which receives the number of
/// bytes transferred so far.
template <typename Some>
static bool moveAll(const Socket &socket, short events, size_t count,
                    Deadline deadline, Some some) {
  for (size_t done = 0; done < count;) {
    Moved moved = some(done);
    done += moved.bytes;
    if (moved.isClosed)
      return false;
    if (moved.bytes)
      continue;
    pollfd waiting = {socket.get(), events, 0};
    if (poll(&waiting, 1, millisecondsUntil(deadline)) == 0 &&
        Clock::now() >= deadline)
      return false;
  }
  return true;
}

bool mx::runtime::sendAll(const Socket &socket, const void *bytes, size_t count,
                          Deadline deadline) {
  return moveAll(socket, POLLOUT, count, deadline, [&](size_t done) {
    return sendSome(socket, static_cast<const char *>(bytes) + done,
                    count - done);
  });
}

bool mx::runtime::receiveAll(const Socket &socket, void *bytes, size_t count,
                             Deadline deadline) {
  return moveAll(socket, POLLIN, count, deadline, [&](size_t done) {
    return receiveSome(socket, static_cast<char *>(bytes) + done, count - done);
  });
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

Error mx::runtime::parseEndpoint(std::string_view text, Endpoint &endpoint) {
  size_t colon = text.rfind(':');
  std::string host(text.substr(0, std::min(colon, text.size())));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  int port = 0;
  bool isNumber = colon != std::string_view::npos && colon + 1 < text.size() &&
                  text.size() - colon <= 6;
  for (size_t i = colon + 1; isNumber && i < text.size(); ++i) {
    isNumber = text[i] >= '0' && text[i] <= '9';
    port = port * 10 + (text[i] - '0');
  }
  if (host.empty() || !isNumber || port < 1 || port > 65535)
    return invalidValue("expected an address \"host:port\", found '" +
                        std::string(text) + "'");
  endpoint = {std::move(host), uint16_t(port)};
  return {};
}

namespace {

/// Resolved addresses of an endpoint.
class Addresses {
public:
  Addresses(const Endpoint &endpoint, int flags) {
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    failure =
        getaddrinfo(endpoint.host.empty() ? nullptr : endpoint.host.c_str(),
                    std::to_string(endpoint.port).c_str(), &hints, &first);
  }
  ~Addresses() {
    if (first)
      freeaddrinfo(first);
  }
  int failure = 0;
  addrinfo *first = nullptr;
};

} // namespace

static void setOption(const Socket &socket, int level, int option, int value) {
  setsockopt(socket.get(), level, option, &value, sizeof(value));
}

static Socket openSocket(const addrinfo &address) {
  return Socket::make([&] {
    return socket(address.ai_family,
                  address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  address.ai_protocol);
  });
}

static bool isLoopback(const sockaddr &address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(
        &reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr);
  auto &v4 = reinterpret_cast<const sockaddr_in &>(address);
  return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
}

Location mx::runtime::locate(const Endpoint &endpoint) {
  Addresses addresses({endpoint.host, 0}, 0);
  Location found = Location::Unknown;
  for (addrinfo *each = addresses.first; each; each = each->ai_next) {
    if (isLoopback(*each->ai_addr))
      return Location::Loopback;
    // Only addresses of this machine can be bound.
    Socket socket = openSocket(*each);
    if (socket && bind(socket.get(), each->ai_addr, each->ai_addrlen) == 0)
      found = Location::Here;
    else if (socket && errno == EADDRNOTAVAIL && found == Location::Unknown)
      found = Location::Elsewhere;
  }
  return found;
}

bool mx::runtime::startListening(const Socket &socket, int backlog) {
  return listen(socket.get(), backlog) == 0;
}

static uint16_t getPort(const Socket &socket) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                   : reinterpret_cast<sockaddr_in &>(bound).sin_port);
}

Error mx::runtime::listenAt(Endpoint &endpoint, int backlog, Socket &result) {
  Addresses addresses(endpoint, AI_PASSIVE);
  std::string where = endpoint.host.empty()
                          ? std::string("a port of this machine")
                          : endpoint.host + ":" + std::to_string(endpoint.port);
  if (addresses.failure)
    return invalidValue("cannot listen at " + where + ": " +
                        gai_strerror(addresses.failure));
  int reason = EADDRNOTAVAIL;
  // IPv6 first, because an IPv6 socket accepts both kinds of connections.
  for (int wanted : {AF_INET6, AF_INET})
    for (addrinfo *address = addresses.first; address;
         address = address->ai_next) {
      if (address->ai_family != wanted)
        continue;
      Socket opened = openSocket(*address);
      if (opened) {
        setOption(opened, SOL_SOCKET, SO_REUSEADDR, 1);
        if (wanted == AF_INET6)
          setOption(opened, IPPROTO_IPV6, IPV6_V6ONLY, 0);
        if (bind(opened.get(), address->ai_addr, address->ai_addrlen) == 0 &&
            (!backlog || startListening(opened, backlog))) {
          endpoint.port = getPort(opened);
          result = std::move(opened);
          return {};
        }
      }
      reason = errno;
    }
  return {reason == EMFILE ? MX_ERROR_OUT_OF_MEMORY : MX_ERROR_INVALID_VALUE,
          "cannot listen at " + where + ": " + strerror(reason)};
}

Socket mx::runtime::acceptNext(const Socket &listener, bool &isShort) {
  int reason = 0;
  Socket accepted = Socket::make([&] {
    int number =
        accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    reason = number < 0 ? errno : 0;
    return number;
  });
  isShort = reason == EMFILE || reason == ENFILE || reason == ENOBUFS ||
            reason == ENOMEM;
  if (accepted)
    setOption(accepted, IPPROTO_TCP, TCP_NODELAY, 1);
  return accepted;
}

/// Waits for a connection; returns true on success.
static bool connectTo(const addrinfo &address, Deadline deadline,
                      Socket &socket) {
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0)
    return true;
  if (errno != EINPROGRESS)
    return false;
  pollfd waiting = {socket.get(), POLLOUT, 0};
  while (poll(&waiting, 1, millisecondsUntil(deadline)) <= 0)
    if (Clock::now() >= deadline) {
      errno = ETIMEDOUT;
      return false;
    }
  int reason = 0;
  socklen_t length = sizeof(reason);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &length);
  errno = reason;
  return reason == 0;
}

bool mx::runtime::connectTo(const Endpoint &endpoint, Deadline deadline,
                            Socket &result) {
  Addresses addresses(endpoint, 0);
  for (addrinfo *address = addresses.first; address;
       address = address->ai_next) {
    Socket opened = openSocket(*address);
    if (opened && ::connectTo(*address, deadline, opened)) {
      setOption(opened, IPPROTO_TCP, TCP_NODELAY, 1);
      result = std::move(opened);
      return true;
    }
  }
  return false;
}

std::vector<std::string> mx::runtime::getAddresses() {
  const char *wanted = getenv("MX_GROUP_INTERFACE");
  bool isNamed = wanted && *wanted;
  std::vector<std::string> result;
  ifaddrs *first = nullptr;
  if (getifaddrs(&first))
    return result;
  for (ifaddrs *each = first; each; each = each->ifa_next) {
    if (!each->ifa_addr || !(each->ifa_flags & IFF_UP))
      continue;
    if (isNamed ? strcmp(each->ifa_name, wanted) != 0
                : (each->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (each->ifa_addr->sa_family == AF_INET)
      inet_ntop(AF_INET,
                &reinterpret_cast<sockaddr_in *>(each->ifa_addr)->sin_addr,
                text, sizeof(text));
    else if (each->ifa_addr->sa_family == AF_INET6) {
      const in6_addr &address =
          reinterpret_cast<sockaddr_in6 *>(each->ifa_addr)->sin6_addr;
      // Link-local addresses need an interface name, which differs by machine.
      if (!IN6_IS_ADDR_LINKLOCAL(&address))
        inet_ntop(AF_INET6, &address, text, sizeof(text));
    }
    if (*text)
      result.push_back(text);
  }
  freeifaddrs(first);
  return result;
}
