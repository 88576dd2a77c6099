//===- Lobby.h - Connections of unauthenticated peers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any process may connect to a port, so the number and age of unauthenticated
// connections are limited. At the limit, or without free descriptors, the
// oldest connection is closed, so strangers never block ranks.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_LOBBY_H
#define MX_RUNTIME_LIB_GROUP_LOBBY_H

#include "Sockets.h"

namespace mx::runtime {

class Lobby {
public:
  struct Guest {
    Socket socket;
    Deadline deadline;
    std::string received;
    /// Nonce sent to the guest.
    std::string challenge;

    /// Receives up to `count` bytes in total. Returns true after the last byte.
    bool receive(size_t count);
    bool isClosed = false;
  };
  /// Handler of received bytes. Returns true to remove the guest. The lobby
  /// then closes the connection unless the handler moved the socket.
  using Hear = std::function<bool(Guest &)>;

  /// Creates a lobby for a group of `size` ranks.
  explicit Lobby(int size);
  /// Accepts guests until the deadline `until`, and calls `hear` for each.
  void serve(const Socket &listener, Deadline until, const Hear &hear);
  /// Returns true if a guest was sent a challenge.
  bool hasChallenged() const;

private:
  bool accept(const Socket &listener);
  void hearAll(const Hear &hear);

  size_t most;
  std::vector<Guest> guests;
  /// End of the pause after descriptors were exhausted.
  Deadline rest = {};
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_LOBBY_H
