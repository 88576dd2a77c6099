//===- Bootstrap.cpp - Connection setup between ranks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"
#include "Lobby.h"
#include "Nccl.h"
#include "Operation.h"
#include "Secret.h"

#include "mx/Support/Version.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mx::runtime;

namespace {

/// Description of a rank, sent to all ranks.
struct Card {
  static constexpr uint32_t kMagic = 0x6d786733;
  static constexpr size_t kAddresses = 8;

  uint32_t magic = kMagic;
  int32_t rank, size, ncclVersion;
  int32_t cannotStatus = MX_SUCCESS;
  /// Ports on the loopback interface and on all interfaces.
  uint16_t port = 0, outerPort = 0;
  char name[64] = {}, transport[8] = {}, version[64] = {}, cannot[1024] = {};
  /// Equal for ranks that reach each other through 127.0.0.1.
  char machine[64] = {};
  /// Unique number and descriptor limit of the process.
  uint64_t process = 0, descriptorLimit = 0;
  char addresses[kAddresses][48] = {};
  /// Random token; the group uses the token of rank 0.
  uint8_t token[16] = {};
};

/// First message of a connection, in both directions.
struct Hello {
  uint8_t token[16];
  int32_t rank;
  uint32_t isData;
};

} // namespace

template <size_t N>
static void put(char (&place)[N], std::string_view text) {
  text.copy(place, N - 1);
}

template <size_t N>
static std::string take(const char (&place)[N]) {
  return std::string(place, strnlen(place, N));
}

std::string mx::runtime::describeMachine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network = {};
  stat("/proc/self/ns/net", &network);
  return boot + "/" + std::to_string(network.st_ino);
}

/// Identifies this process; a forked child has another number.
static uint64_t getProcessNumber() {
  static const uint64_t random = [] {
    uint64_t bits = 0;
    (void)drawRandom(&bits, sizeof(bits));
    return bits;
  }();
  return random ^ uint64_t(getpid());
}

static uint64_t getDescriptorLimit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

static bool areOnOneMachine(const std::vector<Card> &cards) {
  return std::all_of(cards.begin(), cards.end(), [&](const Card &card) {
    return take(card.machine) == take(cards[0].machine);
  });
}

static Card makeCard(const GroupConfig &config, uint16_t port,
                     uint16_t outerPort) {
  Card card;
  card.rank = config.rank;
  card.size = config.size;
  card.ncclVersion = config.ncclVersion;
  card.cannotStatus = config.cannot.status;
  card.port = port;
  card.outerPort = outerPort;
  put(card.name, config.name);
  put(card.transport, config.transport == "host" ? "host" : "nccl");
  put(card.version, mx::getVersion());
  put(card.cannot, config.cannot.text);
  put(card.machine, describeMachine());
  card.process = getProcessNumber();
  card.descriptorLimit = getDescriptorLimit();
  std::vector<std::string> addresses = getAddresses();
  for (size_t i = 0; i < std::min(addresses.size(), Card::kAddresses); ++i)
    put(card.addresses[i], addresses[i]);
  return card;
}

//===----------------------------------------------------------------------===//
// Common settings
//===----------------------------------------------------------------------===//

/// Checks that the process of each rank may open enough descriptors: two
/// connections to each peer, a listener, two to wake the thread, and a reserve
/// for other uses.
static Error checkDescriptors(const std::vector<Card> &cards) {
  uint64_t each = 2 * (cards.size() - 1) + 3;
  for (const Card &card : cards) {
    auto ranks =
        uint64_t(std::count_if(cards.begin(), cards.end(), [&](const Card &c) {
          return c.process == card.process;
        }));
    uint64_t needed = ranks * each + 16;
    if (card.descriptorLimit >= needed)
      continue;
    return {MX_ERROR_OUT_OF_MEMORY,
            beginMessage(take(card.name)) + "expected at least " +
                std::to_string(needed) +
                " file descriptors in the process of "
                "rank " +
                std::to_string(card.rank) + ", which has " +
                std::to_string(ranks) + " of the " +
                std::to_string(cards.size()) + " ranks, found a limit of " +
                std::to_string(card.descriptorLimit) +
                ": raise the limit (ulimit -n)" +
                (ranks > 1 ? ", or start ranks in several processes" : "")};
  }
  return {};
}

/// Fails if the cards differ in a common setting. Every rank computes the same
/// result.
static Error checkCards(const GroupConfig &config,
                        const std::vector<Card> &cards) {
  const Card &first = cards[0];
  std::string begin = beginMessage(
      first.magic == Card::kMagic ? take(first.name) : config.name);
  for (int i = 0; i < config.size; ++i) {
    const Card &card = cards[size_t(i)];
    std::string who = "rank " + std::to_string(i);
    if (card.magic != Card::kMagic || card.rank != i)
      return invalidValue(
          begin + "expected the exchange to return the bytes of " + who +
          " at index " + std::to_string(i) +
          (card.magic == Card::kMagic
               ? ", found those of rank " + std::to_string(card.rank)
               : ", found unknown bytes"));
    const struct {
      const char *what;
      std::string expected, found;
    } pairs[] = {
        {"size", std::to_string(first.size), std::to_string(card.size)},
        {"name", take(first.name), take(card.name)},
        {"version of mx", take(first.version), take(card.version)},
        {"transport", take(first.transport), take(card.transport)},
        {"version of NCCL", nccl::describeVersion(first.ncclVersion),
         nccl::describeVersion(card.ncclVersion)},
    };
    // A rank without NCCL records the reason.
    if (card.cannotStatus != MX_SUCCESS)
      return {card.cannotStatus,
              begin + who + " cannot take part: " + take(card.cannot)};
    for (const auto &pair : pairs)
      if (pair.expected != pair.found && first.cannotStatus == MX_SUCCESS)
        return {MX_ERROR_MISMATCH, begin + "the ranks differ in the " +
                                       pair.what + ": rank 0 has " +
                                       pair.expected + ", " + who + " has " +
                                       pair.found};
  }
  return checkDescriptors(cards);
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

namespace {

/// Connects a rank to all others. Each rank connects to lower ranks and accepts
/// connections from higher ranks.
class Connector {
public:
  Connector(const GroupConfig &config, const std::vector<Card> &cards,
            const Socket &listener, Mesh &mesh)
      : config(config), cards(cards), listener(listener), mesh(mesh),
        isLocal(areOnOneMachine(cards)),
        deadline(Clock::now() + config.timeout) {
    mesh.control.resize(size_t(config.size));
    mesh.data.resize(size_t(config.size));
  }

  Error run() {
    for (int peer = 0; peer < config.rank; ++peer)
      for (uint32_t isData : {0u, 1u})
        if (Error error = call(peer, isData))
          return error;
    return waitForOthers();
  }

private:
  Hello makeHello(uint32_t isData) const {
    Hello hello = {};
    memcpy(hello.token, cards[0].token, sizeof(hello.token));
    hello.rank = config.rank;
    hello.isData = isData;
    return hello;
  }
  Socket &place(int peer, uint32_t isData) {
    return (isData ? mesh.data : mesh.control)[size_t(peer)];
  }
  Error call(int peer, uint32_t isData);
  /// Connects to one address. On failure, sets `mayRetry` if the peer may not
  /// listen yet (ranks on several machines listen only after the exchange of
  /// cards) or if the peer's lobby dropped the connection.
  bool callAt(const Endpoint &endpoint, int peer, uint32_t isData,
              Deadline until, bool &mayRetry);
  Error waitForOthers();
  std::vector<int> missing() const;
  /// Authenticates a guest. Returns true if the connection leaves the lobby.
  bool welcome(Lobby::Guest &guest);

  const GroupConfig &config;
  const std::vector<Card> &cards;
  const Socket &listener;
  Mesh &mesh;
  const bool isLocal;
  const Deadline deadline;
};

} // namespace

bool Connector::callAt(const Endpoint &endpoint, int peer, uint32_t isData,
                       Deadline until, bool &mayRetry) {
  Socket socket;
  Hello mine = makeHello(isData), theirs = {};
  if (!connectTo(endpoint, until, socket)) {
    mayRetry |= !isLocal && errno == ECONNREFUSED;
    return false;
  }
  if (!sendAll(socket, &mine, sizeof(mine), until) ||
      !receiveAll(socket, &theirs, sizeof(theirs), deadline)) {
    mayRetry = true;
    return false;
  }
  if (theirs.rank != peer ||
      memcmp(theirs.token, mine.token, sizeof(mine.token)) != 0)
    return false;
  place(peer, isData) = std::move(socket);
  return true;
}

Error Connector::call(int peer, uint32_t isData) {
  const Card &card = cards[size_t(peer)];
  std::vector<std::string> addresses;
  uint16_t port = isLocal ? card.port : card.outerPort;
  if (isLocal)
    addresses = {"127.0.0.1"};
  else
    for (const auto &address : card.addresses)
      if (*address)
        addresses.push_back(take(address));
  // An unreachable address must not use up the time of the next address.
  auto share = config.timeout / int64_t(addresses.size() + 1);
  // Retry all addresses, because the first may also belong to another machine.
  for (bool mayRetry = true; mayRetry && Clock::now() < deadline;) {
    mayRetry = false;
    for (const std::string &address : addresses)
      if (callAt({address, port}, peer, isData,
                 std::min(deadline, Clock::now() + share), mayRetry))
        return {};
    if (mayRetry)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string tried;
  for (const std::string &address : addresses)
    tried +=
        (tried.empty() ? "" : ", ") + address + " port " + std::to_string(port);
  return {MX_ERROR_PEER, beginMessage(config.name) + "rank " +
                             std::to_string(config.rank) +
                             " cannot connect to rank " + std::to_string(peer) +
                             " at " + (tried.empty() ? "no address" : tried) +
                             ": the peer has left, or the network blocks the "
                             "connection (MX_GROUP_INTERFACE selects an "
                             "interface)"};
}

std::vector<int> Connector::missing() const {
  std::vector<int> ranks;
  for (int i = config.rank + 1; i < config.size; ++i)
    if (!mesh.control[size_t(i)] || !mesh.data[size_t(i)])
      ranks.push_back(i);
  return ranks;
}

Error Connector::waitForOthers() {
  Lobby lobby(config.size);
  while (!missing().empty()) {
    lobby.serve(listener, deadline,
                [&](Lobby::Guest &guest) { return welcome(guest); });
    if (Clock::now() >= deadline && !missing().empty())
      return {MX_ERROR_TIMEOUT,
              beginMessage(config.name) + listRanks(missing()) +
                  " did not connect to rank " + std::to_string(config.rank) +
                  " (waited " + describeDuration(config.timeout) + ")"};
  }
  return {};
}

bool Connector::welcome(Lobby::Guest &guest) {
  Hello theirs;
  if (!guest.receive(sizeof(theirs)))
    return false;
  memcpy(&theirs, guest.received.data(), sizeof(theirs));
  if (memcmp(theirs.token, cards[0].token, sizeof(theirs.token)) != 0 ||
      theirs.rank <= config.rank || theirs.rank >= config.size ||
      theirs.isData > 1 || place(theirs.rank, theirs.isData))
    return true;
  Hello mine = makeHello(theirs.isData);
  // The send does not wait, because a new connection's buffer fits the message.
  if (sendAll(guest.socket, &mine, sizeof(mine), Clock::now()))
    place(theirs.rank, theirs.isData) = std::move(guest.socket);
  return true;
}

Error mx::runtime::connectRanks(const GroupConfig &config, Mesh &mesh) {
  Socket inner, outer;
  Endpoint innerPlace = {"127.0.0.1", 0}, outerPlace;
  if (config.size == 1)
    return config.cannot;
  int backlog = 2 * config.size + 16;
  if (Error error = listenAt(innerPlace, backlog, inner))
    return error;
  if (Error error = listenAt(outerPlace, /*backlog=*/0, outer))
    return error;
  Card mine = makeCard(config, innerPlace.port, outerPlace.port);
  if (Error error = drawRandom(mine.token, sizeof(mine.token)))
    return error;
  std::vector<Card> cards(static_cast<size_t>(config.size));
  for (Card &card : cards)
    card.magic = 0;
  if (Error error = config.exchange(&mine, sizeof(mine), cards.data()))
    return error;
  if (Error error = checkCards(config, cards))
    return error;
  bool isLocal = areOnOneMachine(cards);
  (isLocal ? outer : inner).close();
  if (!isLocal && !startListening(outer, backlog))
    return {MX_ERROR_INVALID_VALUE,
            beginMessage(config.name) + "cannot listen at port " +
                std::to_string(outerPlace.port) + ": " + strerror(errno)};
  return Connector(config, cards, isLocal ? inner : outer, mesh).run();
}
