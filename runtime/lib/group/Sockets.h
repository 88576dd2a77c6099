//===- Sockets.h - Nonblocking TCP connections ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every wait has a deadline. Writing to a closed connection is an error, not a
// signal. A forked child closes the parent's sockets; otherwise peers would not
// notice the parent's death.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_SOCKETS_H
#define MX_RUNTIME_LIB_GROUP_SOCKETS_H

#include "../Device.h"

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

struct pollfd;

namespace mx::runtime {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Returns the time-out for poll(), rounded up so the deadline has passed
/// afterwards.
int millisecondsUntil(Deadline deadline);
/// Formats a duration: "0.3 s", "100 s".
std::string describeDuration(Clock::duration duration);

/// Returns the number of forks between the first process and this process.
uint32_t getForkCount();

/// Owned file descriptor.
class Socket {
public:
  Socket() = default;
  /// Takes ownership of the descriptor returned by `open`, if any. Forks are
  /// excluded until then, so `open` must not block. Preserves `errno`.
  static Socket make(const std::function<int()> &open);
  Socket(Socket &&other) noexcept
      : number(std::exchange(other.number, -1)), forks(other.forks) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(number, other.number);
    std::swap(forks, other.forks);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }

private:
  int number = -1;
  /// Fork count of the opening process.
  uint32_t forks = 0;
};

/// Waits for an event or the deadline. If the system refuses to wait, the call
/// sleeps briefly, so loops never spin.
void waitFor(std::vector<pollfd> &events, Deadline deadline);

/// Number of transferred bytes, and whether the connection is closed.
struct Moved {
  size_t bytes = 0;
  bool isClosed = false;
};
Moved sendSome(const Socket &socket, const void *bytes, size_t count);
Moved receiveSome(const Socket &socket, void *bytes, size_t count);
/// Returns true if the peer closed the connection and all data was read.
bool isClosed(const Socket &socket);
/// Transfer all bytes; return false if the connection closes or the deadline
/// passes.
bool sendAll(const Socket &socket, const void *bytes, size_t count,
             Deadline deadline);
bool receiveAll(const Socket &socket, void *bytes, size_t count,
                Deadline deadline);

struct Endpoint {
  std::string host;
  uint16_t port = 0;
};
/// Parses "host:port" or "[address]:port".
Error parseEndpoint(std::string_view text, Endpoint &endpoint);
/// Location of a host; `Here` is an address of this machine that other machines
/// can reach.
enum class Location { Unknown, Loopback, Here, Elsewhere };
Location locate(const Endpoint &endpoint);
/// Listens on an endpoint. An empty host selects all addresses, and port 0
/// selects any free port. A backlog of 0 only reserves the port for
/// startListening().
Error listenAt(Endpoint &endpoint, int backlog, Socket &socket);
/// Starts listening; returns false and sets `errno` on failure.
bool startListening(const Socket &socket, int backlog);
/// Returns the next connection, or none if nothing is pending. Sets `isShort`
/// if descriptors or memory are exhausted.
Socket acceptNext(const Socket &listener, bool &isShort);
/// Tries to connect once before the deadline. On failure returns false; `errno`
/// is ECONNREFUSED if nothing listens.
bool connectTo(const Endpoint &endpoint, Deadline deadline, Socket &socket);
/// Returns numeric addresses at which other machines may reach this machine:
/// the addresses of the interface MX_GROUP_INTERFACE, or of all active
/// interfaces.
std::vector<std::string> getAddresses();

/// Connections of a rank, indexed by peer. The rank's own entry is empty.
struct Mesh {
  std::vector<Socket> control, data;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_SOCKETS_H
