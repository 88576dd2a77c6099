//===- Rendezvous.cpp - Exchange through rank 0 ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens on the caller's address. The other ranks retry until they
// connect:
//
//   request     rank, size, name of the group, size of the payload, a nonce
//   challenge   a nonce of rank 0
//   proof       HMAC of request, challenge and payload, then the payload
//   reply       HMAC of request, challenge and body, then the body, which
//               contains all payloads
//
// The job's secret is the key of the HMACs. A connection without a valid proof
// cannot affect the group.
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"
#include "Lobby.h"
#include "Operation.h"
#include "Secret.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

using namespace mx::runtime;

namespace {

struct Request {
  static constexpr uint32_t kMagic = 0x6d786732;
  uint32_t magic = kMagic;
  int32_t rank = 0, size = 0;
  uint32_t reserved = 0;
  char name[64] = {};
  uint64_t bytes = 0;
  char nonce[16] = {};
};

struct Challenge {
  static constexpr uint32_t kMagic = 0x6d786763;
  uint32_t magic = kMagic;
  char nonce[16] = {};
};

struct Reply {
  static constexpr uint32_t kMagic = 0x6d786762;
  /// Status for a wrong proof. Rank 0 sends this status without a proof.
  static constexpr int32_t kRefused = -1;
  uint32_t magic = kMagic;
  int32_t status = MX_SUCCESS;
  uint64_t bytes = 0; ///< size of the error text or of all payloads
  Digest proof = {};
};

/// Largest size of a rank's payload and of an error text, in bytes.
constexpr uint64_t kMostTextBytes = 1 << 16;
/// Longest wait for a challenge, because the listener may be another program.
constexpr std::chrono::seconds kChallengeTime(5);
/// Time that rank 0 keeps waiting for proofs before reporting an error to all.
constexpr std::chrono::seconds kFarewellTime(1);

template <typename T>
std::string toBytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

class Rendezvous {
public:
  Rendezvous(const GroupConfig &config, std::string address, Endpoint endpoint,
             Secret secret)
      : config(config), address(std::move(address)),
        endpoint(std::move(endpoint)), secret(std::move(secret)),
        deadline(Clock::now() + config.timeout) {}

  /// Opens rank 0's listener, before anything else can fail.
  Error listen() { return listenAt(endpoint, 2 * config.size + 16, listener); }
  Error exchange(const void *mine, size_t bytes, void *all) {
    return config.rank == 0 ? serve(mine, bytes, static_cast<char *>(all))
                            : join(mine, bytes, all);
  }

private:
  /// Authenticated rank that waits for the reply.
  struct Member {
    Socket socket;
    /// Request and challenge.
    std::string transcript;
  };

  Error serve(const void *mine, size_t bytes, char *all);
  bool hear(Lobby::Guest &guest, size_t bytes, char *all, Error &error);
  bool challenge(Lobby::Guest &guest) const;
  Error check(const Request &request, size_t bytes) const;
  std::vector<int> missing() const;
  void answer(const Error &error, const void *all, size_t bytes);
  Error join(const void *mine, size_t bytes, void *all);
  bool ask(const void *mine, size_t bytes, void *all, Error &error);
  Digest prove(std::string_view transcript, const Digest &payload) const {
    return signBytes(secret.bytes,
                     "mx rank" + std::string(transcript) + toBytes(payload));
  }
  Digest prove(std::string_view transcript, const Reply &reply,
               const Digest &body) const {
    return signBytes(secret.bytes, "mx rank 0" + std::string(transcript) +
                                       toBytes(reply.status) +
                                       toBytes(reply.bytes) + toBytes(body));
  }
  std::string describeRefusal(const std::string &whose) const {
    return ": " + whose + " was refused because the job's secrets differ (" +
           (secret.isLocal ? "MX_GROUP_SECRET is not set here"
                           : "MX_GROUP_SECRET is set here") +
           "; all ranks need the same secret)";
  }
  /// keepLocal() may have replaced the address with the loopback address.
  std::string describeReach() const {
    return secret.isLocal && endpoint.host == "127.0.0.1" &&
                   address.rfind("127.0.0.1:", 0) != 0
               ? ": MX_GROUP_SECRET is not set, so this rank connects only to "
                 "other ranks without the variable, on this machine at "
                 "127.0.0.1"
               : "";
  }

  const GroupConfig config;
  const std::string address;
  Endpoint endpoint;
  const Secret secret;
  const Deadline deadline;
  Socket listener;
  std::vector<Member> members;
  /// Authenticated ranks. They receive an error instead of the payloads.
  std::vector<Member> others;
  bool wasRefused = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

std::vector<int> Rendezvous::missing() const {
  std::vector<int> ranks;
  for (int i = 1; i < config.size; ++i)
    if (!members[size_t(i)].socket)
      ranks.push_back(i);
  return ranks;
}

Error Rendezvous::serve(const void *mine, size_t bytes, char *all) {
  members.resize(size_t(config.size));
  memcpy(all, mine, bytes);
  Lobby lobby(config.size);
  Error error;
  auto take = [&](Lobby::Guest &guest) {
    return hear(guest, bytes, all, error);
  };
  while (!error && !missing().empty()) {
    lobby.serve(listener, deadline, take);
    if (!error && Clock::now() >= deadline && !missing().empty())
      error = {MX_ERROR_TIMEOUT,
               beginMessage(config.name) + listRanks(missing()) +
                   " did not connect to rank 0 at " + address + " (waited " +
                   describeDuration(config.timeout) + ")" +
                   (wasRefused ? describeRefusal("another process")
                               : describeReach())};
  }
  // Ranks in the middle of authentication receive the error as well.
  Error ignored = error;
  for (Deadline end = Clock::now() + kFarewellTime;
       error && lobby.hasChallenged() && Clock::now() < end;)
    lobby.serve(listener, end, [&](Lobby::Guest &guest) {
      return hear(guest, bytes, all, ignored);
    });
  answer(error, all, bytes * size_t(config.size));
  return error;
}

Error Rendezvous::check(const Request &request, size_t bytes) const {
  std::string begin = beginMessage(config.name);
  if (request.size != config.size || request.bytes != bytes)
    return {MX_ERROR_MISMATCH,
            begin + "the ranks differ: rank 0 expects " +
                std::to_string(config.size) + " ranks and sends " +
                std::to_string(bytes) + " bytes, rank " +
                std::to_string(request.rank) + " expects " +
                std::to_string(request.size) + " ranks and sends " +
                std::to_string(request.bytes)};
  bool isRank = request.rank >= 1 && request.rank < config.size;
  // A rank that disconnected while waiting may reconnect.
  if (!isRank || (members[size_t(request.rank)].socket &&
                  !isClosed(members[size_t(request.rank)].socket)))
    return invalidValue(
        begin + "expected ranks 1 to " + std::to_string(config.size - 1) +
        " once each, found rank " + std::to_string(request.rank) +
        (isRank ? " twice" : ""));
  return {};
}

/// Answers a request with a nonce. Returns false for requests of other groups.
bool Rendezvous::challenge(Lobby::Guest &guest) const {
  Request request;
  memcpy(&request, guest.received.data(), sizeof(request));
  std::string_view name(request.name,
                        strnlen(request.name, sizeof(request.name)));
  Challenge sent;
  if (request.magic != Request::kMagic || name != config.name ||
      request.bytes > kMostTextBytes ||
      drawRandom(sent.nonce, sizeof(sent.nonce)))
    return false;
  guest.challenge = toBytes(sent);
  // The challenge fits in the send buffer of a new connection.
  return sendAll(guest.socket, &sent, sizeof(sent), Clock::now());
}

/// Handles a guest. Returns true if the connection leaves the lobby.
bool Rendezvous::hear(Lobby::Guest &guest, size_t bytes, char *all,
                      Error &error) {
  Request request;
  if (!guest.receive(std::max(sizeof(request), guest.received.size())))
    return false;
  if (guest.challenge.empty() && !challenge(guest))
    return true;
  memcpy(&request, guest.received.data(), sizeof(request));
  // Limits the bytes read from any sender.
  constexpr size_t begin = sizeof(request) + sizeof(Digest);
  if (!guest.receive(begin + size_t(request.bytes)))
    return false;
  std::string_view received = guest.received;
  std::string transcript =
      std::string(received.substr(0, sizeof(request))) + guest.challenge;
  Digest proof;
  memcpy(&proof, received.data() + sizeof(request), sizeof(proof));
  if (!isSameDigest(proof,
                    prove(transcript, hashBytes(received.substr(begin))))) {
    Reply refusal;
    refusal.status = Reply::kRefused;
    sendAll(guest.socket, &refusal, sizeof(refusal), Clock::now());
    wasRefused = true;
    return true;
  }
  if (!error)
    error = check(request, bytes);
  Member member{std::move(guest.socket), std::move(transcript)};
  if (error) {
    others.push_back(std::move(member));
    return true;
  }
  memcpy(all + size_t(request.rank) * bytes, received.data() + begin, bytes);
  members[size_t(request.rank)] = std::move(member);
  return true;
}

void Rendezvous::answer(const Error &error, const void *all, size_t bytes) {
  std::string_view body(static_cast<const char *>(all), bytes);
  if (error)
    body = std::string_view(error.text).substr(0, kMostTextBytes);
  Digest hashed = hashBytes(body);
  for (Member &other : others)
    members.push_back(std::move(other));
  // A member that does not read must not delay the others.
  for (Member &member : members) {
    Reply reply;
    reply.status = error.status;
    reply.bytes = body.size();
    if (!member.socket)
      continue;
    reply.proof = prove(member.transcript, reply, hashed);
    Deadline last = std::max(deadline, Clock::now() + kFarewellTime);
    if (sendAll(member.socket, &reply, sizeof(reply), last))
      sendAll(member.socket, body.data(), body.size(), last);
  }
  members.clear();
  others.clear();
  listener.close();
}

//===----------------------------------------------------------------------===//
// Other ranks
//===----------------------------------------------------------------------===//

/// Sends a request. Returns false unless rank 0 of this job answers.
bool Rendezvous::ask(const void *mine, size_t bytes, void *all, Error &error) {
  Socket socket;
  Request request;
  Challenge challenge;
  Reply reply;
  request.rank = config.rank;
  request.size = config.size;
  config.name.copy(request.name, sizeof(request.name) - 1);
  request.bytes = bytes;
  error = drawRandom(request.nonce, sizeof(request.nonce));
  if (error)
    return true;
  // Rank 0 may use the whole time-out and then report missing ranks.
  Deadline last = deadline + 2 * kFarewellTime;
  if (!connectTo(endpoint, deadline, socket) ||
      !sendAll(socket, &request, sizeof(request), deadline) ||
      !receiveAll(socket, &challenge, sizeof(challenge),
                  std::min(last, Clock::now() + kChallengeTime)) ||
      challenge.magic != Challenge::kMagic)
    return false;
  std::string_view payload(static_cast<const char *>(mine), bytes);
  std::string transcript = toBytes(request) + toBytes(challenge);
  Digest proof = prove(transcript, hashBytes(payload));
  if (!sendAll(socket, &proof, sizeof(proof), deadline) ||
      !sendAll(socket, mine, bytes, deadline) ||
      !receiveAll(socket, &reply, sizeof(reply), last) ||
      reply.magic != Reply::kMagic)
    return false;
  bool isRefused = reply.status == Reply::kRefused;
  wasRefused |= isRefused;
  bool isText = reply.status != MX_SUCCESS;
  if (isRefused || (isText ? reply.bytes > kMostTextBytes
                           : reply.bytes != bytes * size_t(config.size)))
    return false;
  std::string body(size_t(reply.bytes), '\0');
  if (!receiveAll(socket, body.data(), body.size(), last))
    return false;
  if (!isSameDigest(reply.proof, prove(transcript, reply, hashBytes(body)))) {
    wasRefused = true;
    return false;
  }
  if (isText)
    error = {reply.status, body};
  else
    memcpy(all, body.data(), body.size());
  return true;
}

Error Rendezvous::join(const void *mine, size_t bytes, void *all) {
  Error error;
  while (!ask(mine, bytes, all, error)) {
    if (Clock::now() >= deadline)
      return {
          MX_ERROR_TIMEOUT,
          beginMessage(config.name) + "rank 0 does not answer at " + address +
              " (rank " + std::to_string(config.rank) + " waited " +
              describeDuration(config.timeout) + ")" +
              (wasRefused ? describeRefusal("this rank") : describeReach())};
    // The address may belong to rank 0 of another job. That job may end soon.
    std::this_thread::sleep_for(
        std::chrono::milliseconds(wasRefused ? 100 : 5));
  }
  return error;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Restricts the exchange to this machine. Without a job secret all ranks are
/// local, and no remote peer may reach rank 0.
static Error keepLocal(const GroupConfig &config, const char *address,
                       Endpoint &endpoint) {
  switch (locate(endpoint)) {
  case Location::Loopback:
    // A name may resolve to further addresses.
    if (endpoint.host.find(':') == std::string::npos &&
        endpoint.host.rfind("127.", 0) != 0)
      endpoint.host = "127.0.0.1";
    return {};
  case Location::Unknown:
    return {};
  case Location::Here:
    endpoint.host = "127.0.0.1";
    return {};
  case Location::Elsewhere:
    // On rank 0, listenAt() reports the error.
    return config.rank == 0
               ? Error()
               : invalidValue(beginMessage(config.name) + address +
                              " is not an address of this machine: expected "
                              "MX_GROUP_SECRET, a random text equal on all "
                              "ranks of a job on several machines, found none");
  }
  return {};
}

Error mx::runtime::makeExchange(
    const GroupConfig &config, const char *address,
    std::function<Error(const void *, size_t, void *)> &result) {
  Endpoint endpoint;
  Secret secret;
  if (Error error = parseEndpoint(address, endpoint))
    return error;
  if (config.size > 1) {
    if (Error error = readSecret(secret))
      return error;
    if (secret.isLocal)
      if (Error error = keepLocal(config, address, endpoint))
        return error;
  }
  auto made = std::make_shared<Rendezvous>(config, address, endpoint, secret);
  if (config.rank == 0 && config.size > 1)
    if (Error error = made->listen())
      return error;
  result = [made](const void *mine, size_t bytes, void *all) {
    return made->exchange(mine, bytes, all);
  };
  return {};
}
