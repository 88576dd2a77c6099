//===- Lobby.cpp - Connections of unauthenticated peers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lobby.h"

#include <algorithm>
#include <poll.h>
#include <sys/resource.h>

using namespace mx::runtime;

/// Time in which a connection must authenticate. Ranks do so at once.
static constexpr std::chrono::seconds kIdleTime(5);
/// Pause before the next accept when descriptors are exhausted.
static constexpr std::chrono::milliseconds kRest(50);

bool Lobby::Guest::receive(size_t count) {
  if (received.size() < count) {
    size_t before = received.size();
    received.resize(count);
    Moved moved = receiveSome(socket, &received[before], count - before);
    received.resize(before + moved.bytes);
    isClosed = moved.isClosed;
  }
  return received.size() == count;
}

Lobby::Lobby(int size) : most(2 * size_t(size) + 16) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    most = std::min(most, std::max<size_t>(4, limit.rlim_cur / 4));
}

bool Lobby::hasChallenged() const {
  return std::any_of(guests.begin(), guests.end(), [](const Guest &guest) {
    return !guest.challenge.empty();
  });
}

/// Accepts one connection. Returns false if none is pending, or during a pause.
bool Lobby::accept(const Socket &listener) {
  bool isShort = false;
  Socket accepted = acceptNext(listener, isShort);
  if (accepted)
    guests.push_back({std::move(accepted), Clock::now() + kIdleTime, {}, {}});
  else if (isShort && !guests.empty())
    guests.erase(guests.begin());
  else if (isShort)
    rest = Clock::now() + kRest;
  else
    return false;
  return Clock::now() >= rest;
}

void Lobby::hearAll(const Hear &hear) {
  auto isDone = [&](Guest &guest) {
    return hear(guest) || guest.isClosed || Clock::now() >= guest.deadline;
  };
  guests.erase(std::remove_if(guests.begin(), guests.end(), isDone),
               guests.end());
}

void Lobby::serve(const Socket &listener, Deadline until, const Hear &hear) {
  bool isResting = Clock::now() < rest;
  // poll() ignores negative descriptors.
  std::vector<pollfd> waiting = {{isResting ? -1 : listener.get(), POLLIN, 0}};
  if (isResting)
    until = std::min(until, rest);
  for (const Guest &guest : guests) {
    waiting.push_back({guest.socket.get(), POLLIN, 0});
    until = std::min(until, guest.deadline);
  }
  waitFor(waiting, until);
  // Limit the number of accepts, so that a flood cannot block the loop.
  for (size_t i = 0; i < most && Clock::now() >= rest; ++i) {
    if (guests.size() >= most)
      hearAll(hear);
    if (guests.size() >= most)
      guests.erase(guests.begin());
    if (!accept(listener))
      break;
  }
  hearAll(hear);
}
