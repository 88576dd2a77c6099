//===- Lobby.h - Connections of unknown peers -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever reaches a port may connect to it. The number of connections that have
// not proved yet to be of a rank is bounded, and so is their time. They never
// keep ranks out: if there are too many, or no descriptor is left, the oldest
// one is closed.
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
    /// Random bytes that were sent to it.
    std::string challenge;

    /// Receives until there are `count` bytes. False: there are fewer.
    bool receive(size_t count);
    bool isClosed = false;
  };
  /// Returns true if the connection is no guest any more: `hear` has moved its
  /// socket elsewhere, or the lobby closes it.
  using Hear = std::function<bool(Guest &)>;

  /// For a group of `size` ranks.
  explicit Lobby(int size);
  /// Waits for guests until `until` at most, accepts them, and hears all.
  void serve(const Socket &listener, Deadline until, const Hear &hear);
  /// Whether one of the guests was sent a challenge.
  bool hasChallenged() const;

private:
  bool accept(const Socket &listener);
  void hearAll(const Hear &hear);

  size_t most;
  std::vector<Guest> guests;
  /// There are no descriptors: connections are not taken until then.
  Deadline rest = {};
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_LOBBY_H
