//===- Rendezvous.cpp - An exchange through rank 0 ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens at an address that all know. Each of the others connects,
// again and again until rank 0 listens there, sends what it has, and gets
// what all have. Whatever else connects is refused.
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"
#include "Operation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <poll.h>
#include <thread>

using namespace mx::runtime;

namespace {

struct Request {
  static constexpr uint32_t kMagic = 0x6d786772;
  uint32_t magic = kMagic;
  int32_t rank = 0, size = 0;
  char name[64] = {};
  uint64_t bytes = 0;
};

struct Reply {
  static constexpr uint32_t kMagic = 0x6d786761;
  uint32_t magic = kMagic;
  int32_t status = MX_SUCCESS;
  uint64_t bytes = 0; ///< of a text, or of what all have
};

class Rendezvous {
public:
  Rendezvous(const GroupConfig &config, std::string address, Endpoint endpoint)
      : config(config), address(std::move(address)),
        endpoint(std::move(endpoint)), deadline(Clock::now() + config.timeout) {
  }

  /// Of rank 0, before anything else fails.
  Error listen() { return listenAt(endpoint, 2 * config.size + 16, listener); }
  Error exchange(const void *mine, size_t bytes, void *all) {
    return config.rank == 0 ? serve(mine, bytes, static_cast<char *>(all))
                            : join(mine, bytes, all);
  }

private:
  /// A connection, and what it has said so far.
  struct Guest {
    Socket socket;
    std::string received;
  };

  Error serve(const void *mine, size_t bytes, char *all);
  bool hear(Guest &guest, size_t bytes, char *all, Error &error);
  Error check(const Request &request, size_t bytes) const;
  std::vector<int> missing() const;
  void answer(const Error &error, const void *all, size_t bytes);
  Error join(const void *mine, size_t bytes, void *all);
  bool ask(const void *mine, size_t bytes, void *all, Error &error);

  const GroupConfig config;
  const std::string address;
  Endpoint endpoint;
  const Deadline deadline;
  Socket listener;
  std::vector<Socket> members;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

std::vector<int> Rendezvous::missing() const {
  std::vector<int> ranks;
  for (int i = 1; i < config.size; ++i)
    if (!members[size_t(i)])
      ranks.push_back(i);
  return ranks;
}

Error Rendezvous::serve(const void *mine, size_t bytes, char *all) {
  members.resize(size_t(config.size));
  memcpy(all, mine, bytes);
  std::vector<Guest> guests;
  Error error;
  while (!error && !missing().empty()) {
    std::vector<pollfd> waiting = {{listener.get(), POLLIN, 0}};
    for (const Guest &guest : guests)
      waiting.push_back({guest.socket.get(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), millisecondsUntil(deadline));
    while (Socket accepted = acceptNext(listener))
      guests.push_back({std::move(accepted), {}});
    auto isDone = [&](Guest &guest) {
      return !error && hear(guest, bytes, all, error);
    };
    guests.erase(std::remove_if(guests.begin(), guests.end(), isDone),
                 guests.end());
    if (!error && Clock::now() >= deadline && !missing().empty())
      error = {MX_ERROR_TIMEOUT,
               beginMessage(config.name) + listRanks(missing()) +
                   " did not connect to rank 0 at " + address + " (waited " +
                   describeDuration(config.timeout) + ")"};
  }
  // All that are there learn why.
  for (Guest &guest : guests)
    if (error)
      members.push_back(std::move(guest.socket));
  answer(error, all, bytes * size_t(config.size));
  return error;
}

Error Rendezvous::check(const Request &request, size_t bytes) const {
  std::string begin = beginMessage(config.name);
  if (request.size != config.size || request.bytes != bytes)
    return {MX_ERROR_MISMATCH, begin + "the ranks differ: rank 0 is of " +
                                   std::to_string(config.size) + " and sends " +
                                   std::to_string(bytes) + " bytes, rank " +
                                   std::to_string(request.rank) + " is of " +
                                   std::to_string(request.size) +
                                   " and sends " +
                                   std::to_string(request.bytes)};
  if (request.rank < 1 || request.rank >= config.size ||
      members[size_t(request.rank)])
    return invalidValue(
        begin + "expected ranks 1 to " + std::to_string(config.size - 1) +
        " once each, found rank " + std::to_string(request.rank) +
        (request.rank < 1 || request.rank >= config.size ? "" : " twice"));
  return {};
}

/// True: nothing more is expected of it.
bool Rendezvous::hear(Guest &guest, size_t bytes, char *all, Error &error) {
  Request request;
  // No more than belongs to a request, whoever sends.
  size_t wanted = sizeof(request) + bytes - guest.received.size();
  std::string buffer(wanted, '\0');
  Moved moved = receiveSome(guest.socket, buffer.data(), wanted);
  guest.received.append(buffer, 0, moved.bytes);
  if (moved.isClosed)
    return true;
  if (guest.received.size() < sizeof(request))
    return false;
  memcpy(&request, guest.received.data(), sizeof(request));
  if (request.magic != Request::kMagic ||
      std::string_view(request.name,
                       strnlen(request.name, sizeof(request.name))) !=
          config.name)
    return true;
  error = check(request, bytes);
  if (!error && guest.received.size() < sizeof(request) + bytes)
    return false;
  if (error) {
    // It is told as well.
    members.push_back(std::move(guest.socket));
    return true;
  }
  memcpy(all + size_t(request.rank) * bytes,
         guest.received.data() + sizeof(request), bytes);
  members[size_t(request.rank)] = std::move(guest.socket);
  return true;
}

void Rendezvous::answer(const Error &error, const void *all, size_t bytes) {
  Reply reply;
  reply.status = error.status;
  reply.bytes = error ? error.text.size() : bytes;
  const void *rest = error ? static_cast<const void *>(error.text.data()) : all;
  // One that does not read it keeps no other one.
  for (Socket &member : members)
    if (member && sendAll(member, &reply, sizeof(reply), deadline))
      sendAll(member, rest, size_t(reply.bytes),
              std::max(deadline, Clock::now() + std::chrono::seconds(1)));
  members.clear();
  listener.close();
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

/// False: rank 0 did not answer.
bool Rendezvous::ask(const void *mine, size_t bytes, void *all, Error &error) {
  Socket socket;
  Request request;
  Reply reply;
  request.rank = config.rank;
  request.size = config.size;
  config.name.copy(request.name, sizeof(request.name) - 1);
  request.bytes = bytes;
  // Rank 0 may wait as long, and tell who was missing.
  Deadline last = deadline + std::chrono::seconds(1);
  if (!connectTo(endpoint, deadline, socket) ||
      !sendAll(socket, &request, sizeof(request), deadline) ||
      !sendAll(socket, mine, bytes, deadline) ||
      !receiveAll(socket, &reply, sizeof(reply), last) ||
      reply.magic != Reply::kMagic)
    return false;
  if (reply.status == MX_SUCCESS)
    return reply.bytes == bytes * size_t(config.size) &&
           receiveAll(socket, all, size_t(reply.bytes), last);
  std::string text(size_t(std::min<uint64_t>(reply.bytes, 1 << 16)), '\0');
  if (!receiveAll(socket, text.data(), text.size(), last))
    return false;
  error = {reply.status, text};
  return true;
}

Error Rendezvous::join(const void *mine, size_t bytes, void *all) {
  Error error;
  while (!ask(mine, bytes, all, error)) {
    if (Clock::now() >= deadline)
      return {MX_ERROR_TIMEOUT,
              beginMessage(config.name) + "rank 0 does not answer at " +
                  address + " (rank " + std::to_string(config.rank) +
                  " waited " + describeDuration(config.timeout) + ")"};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return error;
}

Error mx::runtime::makeExchange(
    const GroupConfig &config, const char *address,
    std::function<Error(const void *, size_t, void *)> &result) {
  Endpoint endpoint;
  if (Error error = parseEndpoint(address, endpoint))
    return error;
  auto made = std::make_shared<Rendezvous>(config, address, endpoint);
  if (config.rank == 0 && config.size > 1)
    if (Error error = made->listen())
      return error;
  result = [made](const void *mine, size_t bytes, void *all) {
    return made->exchange(mine, bytes, all);
  };
  return {};
}
