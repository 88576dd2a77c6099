//===- Sockets.h - TCP connections that never block -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every wait has a deadline. A write to a connection that the peer has closed
// is an error, not a signal.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_SOCKETS_H
#define MX_RUNTIME_LIB_GROUP_SOCKETS_H

#include "../Device.h"

#include <chrono>
#include <utility>
#include <vector>

namespace mx::runtime {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// For poll(): rounded up, so that the deadline has passed afterwards.
int millisecondsUntil(Deadline deadline);
/// "0.3 s", "100 s".
std::string describeDuration(Clock::duration duration);

/// A file descriptor with an owner.
class Socket {
public:
  Socket() = default;
  explicit Socket(int number) : number(number) {}
  Socket(Socket &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }

private:
  int number = -1;
};

/// What became of bytes that were to be sent or received: how many went, or
/// that none ever will.
struct Moved {
  size_t bytes = 0;
  bool isClosed = false;
};
Moved sendSome(const Socket &socket, const void *bytes, size_t count);
Moved receiveSome(const Socket &socket, void *bytes, size_t count);
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
/// Listens there; any address of the machine and any port where there is none.
Error listenAt(Endpoint &endpoint, int backlog, Socket &socket);
/// The next connection; none if there is none at the moment.
Socket acceptNext(const Socket &listener);
/// One attempt, until the deadline at most; false: no connection.
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
