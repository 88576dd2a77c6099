//===- Wire.cpp - Data connections between all ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Wire.h"

#include <algorithm>
#include <poll.h>

using namespace mx::runtime;

/// Both directions of one peer's connection for one collective.
struct Wire::Lane {
  int peer;
  const Socket *socket;
  Segment segment;
  Header mine, theirs;
  /// Numbers of bytes, including the header.
  size_t total, sent = 0, received = 0;

  bool isDone() const { return sent == total && received == total; }
};

std::vector<Wire::Lane> Wire::openLanes(const Operation &operation,
                                        const std::vector<Segment> &segments) {
  std::vector<Lane> lanes;
  for (int i = 0; i < control.size; ++i)
    if (i != control.rank)
      lanes.push_back({i, &connections[size_t(i)], segments[size_t(i)],
                       Header(operation), Header(),
                       sizeof(Header) + size_t(operation.bytes)});
  return lanes;
}

Error Wire::transfer(const Operation &operation,
                     const std::vector<Segment> &segments) {
  std::vector<Lane> lanes = openLanes(operation, segments);
  auto begin = Clock::now(), last = begin;
  auto isDone = [](const Lane &lane) { return lane.isDone(); };
  while (!std::all_of(lanes.begin(), lanes.end(), isDone)) {
    if (control.getFailure())
      return control.getStatus();
    Error error;
    if (serve(operation, lanes, error)) {
      last = Clock::now();
      continue;
    }
    if (error)
      return error;
    if (!wait(lanes, last + control.timeout))
      return control.await();
    if (Clock::now() >= last + control.timeout) {
      control.stalls({operation, begin});
      return control.await();
    }
  }
  return {};
}

bool Wire::serve(const Operation &operation, std::vector<Lane> &lanes,
                 Error &error) {
  bool hasMoved = false;
  for (Lane &lane : lanes) {
    if (!error && lane.received < lane.total)
      error = receive(operation, lane, hasMoved);
    if (!error && lane.sent < lane.total)
      error = send(operation, lane, hasMoved);
  }
  return hasMoved && !error;
}

Error Wire::receive(const Operation &operation, Lane &lane, bool &hasMoved) {
  bool isHeader = lane.received < sizeof(Header);
  void *to = isHeader ? reinterpret_cast<char *>(&lane.theirs) + lane.received
                      : static_cast<char *>(lane.segment.in) + lane.received -
                            sizeof(Header);
  size_t end = isHeader ? sizeof(Header) : lane.total;
  Moved moved = receiveSome(*lane.socket, to, end - lane.received);
  if (moved.isClosed)
    return lose(operation, lane);
  hasMoved |= moved.bytes > 0;
  lane.received += moved.bytes;
  if (isHeader && lane.received == sizeof(Header) &&
      !(lane.theirs == lane.mine))
    return control.fail(describeMismatch(control.name, control.rank, operation,
                                         lane.peer, lane.theirs.toOperation()));
  return {};
}

Error Wire::send(const Operation &operation, Lane &lane, bool &hasMoved) {
  bool isHeader = lane.sent < sizeof(Header);
  const void *from =
      isHeader ? reinterpret_cast<const char *>(&lane.mine) + lane.sent
               : static_cast<const char *>(lane.segment.out) + lane.sent -
                     sizeof(Header);
  size_t end = isHeader ? sizeof(Header) : lane.total;
  Moved moved = sendSome(*lane.socket, from, end - lane.sent);
  if (moved.isClosed)
    return lose(operation, lane);
  hasMoved |= moved.bytes > 0;
  lane.sent += moved.bytes;
  return {};
}

Error Wire::lose(const Operation &operation, const Lane &lane) {
  return control.fail(
      {MX_ERROR_PEER, lane.peer, -1, operation.step, 0, operation.entry,
       beginMessage(control.name) + "rank " + std::to_string(lane.peer) +
           " left during " + operation.describe() +
           ": it has destroyed the group, or its process has "
           "ended"});
}

bool Wire::wait(const std::vector<Lane> &lanes, Deadline deadline) {
  std::vector<pollfd> waiting = {{control.getEvent(), POLLIN, 0}};
  for (const Lane &lane : lanes)
    if (!lane.isDone())
      waiting.push_back({lane.socket->get(),
                         short((lane.received < lane.total ? POLLIN : 0) |
                               (lane.sent < lane.total ? POLLOUT : 0)),
                         0});
  waitFor(waiting, deadline);
  return !waiting[0].revents;
}
