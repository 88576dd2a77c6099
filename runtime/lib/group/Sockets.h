//===- Sockets.h - TCP connections that never block -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every wait has a deadline. A write to a connection that the peer has closed
// is an error, not a signal. A forked child keeps no socket of its parent: with
// a copy of it, peers would not notice the death of the parent.
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

/// For poll(): rounded up, so that the deadline has passed afterwards.
int millisecondsUntil(Deadline deadline);
/// "0.3 s", "100 s".
std::string describeDuration(Clock::duration duration);

/// The number of forks between the first process and this one.
uint32_t getForkCount();

/// A file descriptor with an owner.
class Socket {
public:
  Socket() = default;
  /// Owns the descriptor that `open` returns, if any. No fork happens between
  /// the two, so `open` must not block. Keeps `errno`.
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
  /// Fork count of the process that opened it.
  uint32_t forks = 0;
};

/// Waits for an event or the deadline. Never returns at once in a loop: if the
/// system refuses to wait, the call sleeps for a moment.
void waitFor(std::vector<pollfd> &events, Deadline deadline);

/// What became of bytes that were to be sent or received: how many went, or
/// that none ever will.
struct Moved {
  size_t bytes = 0;
  bool isClosed = false;
};
Moved sendSome(const Socket &socket, const void *bytes, size_t count);
Moved receiveSome(const Socket &socket, void *bytes, size_t count);
/// Whether the peer has closed the connection and nothing is left to read.
bool isClosed(const Socket &socket);
/// All of them, or false: the connection is closed or the deadline has passed.
bool sendAll(const Socket &socket, const void *bytes, size_t count,
             Deadline deadline);
bool receiveAll(const Socket &socket, void *bytes, size_t count,
                Deadline deadline);

struct Endpoint {
  std::string host;
  uint16_t port = 0;
};
/// "host:port" or "[address]:port".
Error parseEndpoint(std::string_view text, Endpoint &endpoint);
/// Where a host is: an address of this machine that others reach, or not.
enum class Location { Unknown, Loopback, Here, Elsewhere };
Location locate(const Endpoint &endpoint);
/// Listens there; any address of the machine and any port where there is none.
/// A backlog of 0 only takes the port, and listen() follows.
Error listenAt(Endpoint &endpoint, int backlog, Socket &socket);
/// False: the connections cannot be taken, `errno` says why.
bool startListening(const Socket &socket, int backlog);
/// The next connection; none if there is none at the moment, or if the process
/// or the system has no descriptor or memory left for it: `isShort`.
Socket acceptNext(const Socket &listener, bool &isShort);
/// One attempt, until the deadline at most; false: no connection, and `errno`
/// is ECONNREFUSED if nothing listens there.
bool connectTo(const Endpoint &endpoint, Deadline deadline, Socket &socket);
/// Numeric addresses at which other machines may reach this one: those of the
/// interface that MX_GROUP_INTERFACE names, or of all that are up.
std::vector<std::string> getAddresses();

/// The connections of a group, at the number of each peer; none to itself.
struct Mesh {
  std::vector<Socket> control, data;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_SOCKETS_H
