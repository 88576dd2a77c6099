//===- Bootstrap.cpp - How ranks come to be connected ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"
#include "Nccl.h"
#include "Operation.h"

#include "mx/Support/Version.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mx::runtime;

namespace {

/// What each rank tells the others of itself.
struct Card {
  static constexpr uint32_t kMagic = 0x6d786731;
  static constexpr size_t kAddresses = 8;

  uint32_t magic = kMagic;
  int32_t rank, size, ncclVersion;
  int32_t cannotStatus = MX_SUCCESS;
  uint16_t port = 0;
  char name[64] = {}, transport[8] = {}, version[64] = {}, cannot[1024] = {};
  /// The same where 127.0.0.1 is the same machine.
  char machine[64] = {};
  /// Another one in each process, and how many descriptors it may have.
  uint64_t process = 0, descriptorLimit = 0;
  char addresses[kAddresses][48] = {};
  /// That of rank 0 counts.
  uint8_t token[16] = {};
};

/// What a connection begins with, in both directions.
struct Hello {
  uint8_t token[16];
  int32_t rank;
  uint32_t isData;
};

/// A stray connection has so long to say hello.
constexpr auto kHelloTime = std::chrono::seconds(5);

} // namespace

template <size_t N>
static void put(char (&place)[N], std::string_view text) {
  text.copy(place, N - 1);
}

template <size_t N>
static std::string take(const char (&place)[N]) {
  return std::string(place, strnlen(place, N));
}

/// Of this boot, and of this namespace of networks: a container may have one of
/// its own.
static std::string describeMachine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network = {};
  stat("/proc/self/ns/net", &network);
  return boot + "/" + std::to_string(network.st_ino);
}

/// Of this process, whose children have another one.
static uint64_t getProcessNumber() {
  static const uint64_t random = [] {
    uint64_t bits = 0;
    (void)!getrandom(&bits, sizeof(bits), 0);
    return bits;
  }();
  return random ^ uint64_t(getpid());
}

static uint64_t getDescriptorLimit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

static Card makeCard(const GroupConfig &config, uint16_t port) {
  Card card;
  card.rank = config.rank;
  card.size = config.size;
  card.ncclVersion = config.ncclVersion;
  card.cannotStatus = config.cannot.status;
  card.port = port;
  put(card.name, config.name);
  put(card.transport, config.transport);
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
// What has to agree
//===----------------------------------------------------------------------===//

/// That the process of each rank may have as many descriptors as its ranks
/// need: two connections to each peer, one where the rank listens, two that
/// wake its thread, and some of other uses.
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
                ": raise it (ulimit -n)" +
                (ranks > 1 ? ", or start ranks in several processes" : "")};
  }
  return {};
}

/// On every rank the same answer.
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
          begin + "expected the exchange to give what " + who +
          " gave at place " + std::to_string(i) +
          (card.magic == Card::kMagic
               ? ", found that of rank " + std::to_string(card.rank)
               : ", found other bytes"));
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
    // One that has no NCCL says so.
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

/// A connection that has not said yet whose it is.
struct Guest {
  Socket socket;
  Hello hello = {};
  size_t received = 0;
  Deadline deadline;
};

/// Connects one rank to all others: it calls those before it and waits for
/// those after it.
class Connector {
public:
  Connector(const GroupConfig &config, const std::vector<Card> &cards,
            Socket &listener, Mesh &mesh)
      : config(config), cards(cards), listener(listener), mesh(mesh),
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
  bool callAt(const Endpoint &endpoint, int peer, uint32_t isData,
              Deadline until);
  Error waitForOthers();
  std::vector<int> missing() const;
  void greet(std::vector<Guest> &guests);
  /// False: it is none of ours.
  bool welcome(Guest &guest);

  const GroupConfig &config;
  const std::vector<Card> &cards;
  Socket &listener;
  Mesh &mesh;
  const Deadline deadline;
};

} // namespace

bool Connector::callAt(const Endpoint &endpoint, int peer, uint32_t isData,
                       Deadline until) {
  Socket socket;
  Hello mine = makeHello(isData), theirs = {};
  if (!connectTo(endpoint, until, socket) ||
      !sendAll(socket, &mine, sizeof(mine), until) ||
      !receiveAll(socket, &theirs, sizeof(theirs), deadline) ||
      theirs.rank != peer ||
      memcmp(theirs.token, mine.token, sizeof(mine.token)) != 0)
    return false;
  place(peer, isData) = std::move(socket);
  return true;
}

Error Connector::call(int peer, uint32_t isData) {
  const Card &card = cards[size_t(peer)];
  std::vector<std::string> addresses;
  bool isOneMachine =
      std::all_of(cards.begin(), cards.end(), [&](const Card &other) {
        return take(other.machine) == take(cards[0].machine);
      });
  if (isOneMachine)
    addresses = {"127.0.0.1"};
  else
    for (const auto &address : card.addresses)
      if (*address)
        addresses.push_back(take(address));
  // One that no packet reaches must not take the time of the next one.
  auto share = config.timeout / int64_t(addresses.size() + 1);
  std::string tried;
  for (const std::string &address : addresses) {
    if (callAt({address, card.port}, peer, isData,
               std::min(deadline, Clock::now() + share)))
      return {};
    tried += (tried.empty() ? "" : ", ") + address + " port " +
             std::to_string(card.port);
  }
  return {MX_ERROR_PEER, beginMessage(config.name) + "rank " +
                             std::to_string(config.rank) +
                             " cannot connect to rank " + std::to_string(peer) +
                             " at " + (tried.empty() ? "no address" : tried) +
                             ": it has left, or the network does not let them "
                             "(MX_GROUP_INTERFACE names an interface)"};
}

std::vector<int> Connector::missing() const {
  std::vector<int> ranks;
  for (int i = config.rank + 1; i < config.size; ++i)
    if (!mesh.control[size_t(i)] || !mesh.data[size_t(i)])
      ranks.push_back(i);
  return ranks;
}

Error Connector::waitForOthers() {
  std::vector<Guest> guests;
  while (!missing().empty()) {
    std::vector<pollfd> waiting = {{listener.get(), POLLIN, 0}};
    Deadline until = deadline;
    for (const Guest &guest : guests) {
      waiting.push_back({guest.socket.get(), POLLIN, 0});
      until = std::min(until, guest.deadline);
    }
    poll(waiting.data(), waiting.size(), millisecondsUntil(until));
    greet(guests);
    if (Clock::now() >= deadline && !missing().empty())
      return {MX_ERROR_TIMEOUT,
              beginMessage(config.name) + listRanks(missing()) +
                  " did not connect to rank " + std::to_string(config.rank) +
                  " (waited " + describeDuration(config.timeout) + ")"};
  }
  return {};
}

/// Takes new connections, and hears the ones that wait.
void Connector::greet(std::vector<Guest> &guests) {
  while (Socket accepted = acceptNext(listener)) {
    guests.emplace_back();
    guests.back().socket = std::move(accepted);
    guests.back().deadline = Clock::now() + kHelloTime;
  }
  for (size_t i = 0; i < guests.size();) {
    Guest &guest = guests[i];
    Moved moved = receiveSome(
        guest.socket, reinterpret_cast<char *>(&guest.hello) + guest.received,
        sizeof(Hello) - guest.received);
    guest.received += moved.bytes;
    bool isDone = moved.isClosed || Clock::now() >= guest.deadline;
    if (guest.received == sizeof(Hello)) {
      welcome(guest);
      isDone = true;
    }
    if (isDone)
      guests.erase(guests.begin() + int64_t(i));
    else
      ++i;
  }
}

bool Connector::welcome(Guest &guest) {
  const Hello &theirs = guest.hello;
  if (memcmp(theirs.token, cards[0].token, sizeof(theirs.token)) != 0 ||
      theirs.rank <= config.rank || theirs.rank >= config.size ||
      theirs.isData > 1 || place(theirs.rank, theirs.isData))
    return false;
  Hello mine = makeHello(theirs.isData);
  // It fits the buffer of a new connection.
  if (!sendAll(guest.socket, &mine, sizeof(mine), Clock::now()))
    return false;
  place(theirs.rank, theirs.isData) = std::move(guest.socket);
  return true;
}

Error mx::runtime::connectRanks(const GroupConfig &config, Mesh &mesh) {
  Socket listener;
  Endpoint own;
  if (config.size == 1)
    return config.cannot;
  if (Error error = listenAt(own, 2 * config.size + 16, listener))
    return error;
  Card mine = makeCard(config, own.port);
  if (getrandom(mine.token, sizeof(mine.token), 0) != sizeof(mine.token))
    return {MX_ERROR_INTERNAL, "the system gives no random numbers"};
  std::vector<Card> cards(static_cast<size_t>(config.size));
  for (Card &card : cards)
    card.magic = 0;
  if (Error error = config.exchange(&mine, sizeof(mine), cards.data()))
    return error;
  if (Error error = checkCards(config, cards))
    return error;
  return Connector(config, cards, listener, mesh).run();
}
