//===- RendezvousTest.cpp - Strangers at the port of rank 0 ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connections from strangers, or from ranks without the job's secret, must
// neither end nor delay a group. Random connections are the same in each run,
// unless MX_FUZZ_MINUTES and MX_FUZZ_SEED extend the test.
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/group/Secret.h"
#include "../../runtime/lib/group/Sockets.h"
#include "Ranks.h"

#include <cstdlib>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

using namespace mx::runtime;
using Milliseconds = std::chrono::milliseconds;

namespace {

//===----------------------------------------------------------------------===//
// Secrets
//===----------------------------------------------------------------------===//

std::string toHex(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest)
    for (int digit : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[digit];
  return text;
}

/// Tests the examples of FIPS 180-4 and RFC 4231.
TEST(Secrets, DigestsMatchTheStandards) {
  EXPECT_EQ(toHex(hashBytes("")), "e3b0c44298fc1c149afbf4c8996fb924"
                                  "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(hashBytes("abc")), "ba7816bf8f01cfea414140de5dae2223"
                                     "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(hashBytes(
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(toHex(hashBytes(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(toHex(signBytes("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(toHex(signBytes(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key "
                            "First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  Digest a = hashBytes("a"), b = a;
  EXPECT_TRUE(isSameDigest(a, b));
  b[31] ^= 1;
  EXPECT_FALSE(isSameDigest(a, b));
}

class SecretFile : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder), nullptr);
    path = std::string(folder) + "/secret";
    unsetenv("MX_GROUP_SECRET");
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(folder);
  }
  void expectRefusal(const std::string &found) {
    Secret secret;
    Error error = readSecret(secret, path.c_str());
    EXPECT_EQ(error.status, MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(error.text, "expected the user's group secret in " + path +
                              ", found " + found +
                              ": set MX_GROUP_SECRET to the same random text "
                              "on all ranks, or remove the file");
  }
  char folder[32] = "/tmp/mx-secret-test-XXXXXX";
  std::string path;
};

TEST_F(SecretFile, IsCreatedOnceAndPrivate) {
  Secret secrets[8];
  std::vector<std::thread> threads;
  for (Secret &secret : secrets)
    threads.emplace_back(
        [&] { EXPECT_FALSE(readSecret(secret, path.c_str())); });
  for (std::thread &thread : threads)
    thread.join();
  for (Secret &secret : secrets) {
    EXPECT_EQ(secret.bytes, secrets[0].bytes);
    EXPECT_EQ(secret.bytes.size(), 32u);
    EXPECT_TRUE(secret.isLocal);
  }
  struct stat found = {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  // No temporary file remains.
  EXPECT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(rmdir(folder), 0);
  ASSERT_EQ(mkdir(folder, 0700), 0);
}

TEST_F(SecretFile, IsRefusedIfInvalid) {
  std::ofstream(path) << std::string(32, 'x');
  chmod(path.c_str(), 0644);
  expectRefusal("a file that other users may open");
  chmod(path.c_str(), 0600);
  std::ofstream(path) << "short";
  expectRefusal("5 bytes instead of 32");
  unlink(path.c_str());
  ASSERT_EQ(symlink("/etc/hostname", path.c_str()), 0);
  expectRefusal("Too many levels of symbolic links");
  unlink(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  expectRefusal("something other than a regular file");
  rmdir(path.c_str());
  path += "/there/is/none";
  expectRefusal(
      "no file, and creating the file failed (No such file or directory)");
}

TEST_F(SecretFile, IsIgnoredIfTheVariableIsSet) {
  Secret secret;
  setenv("MX_GROUP_SECRET", "0123456789abcdef", 1);
  EXPECT_FALSE(readSecret(secret, "/no/such/file"));
  EXPECT_EQ(secret.bytes, "0123456789abcdef");
  EXPECT_FALSE(secret.isLocal);
  setenv("MX_GROUP_SECRET", "0123456789abcde", 1);
  EXPECT_EQ(readSecret(secret, "/no/such/file").text,
            "expected MX_GROUP_SECRET to be a random text of 16 to 4096 bytes, "
            "found 15: generate it with \"openssl rand -hex 16\"");
  unsetenv("MX_GROUP_SECRET");
}

//===----------------------------------------------------------------------===//
// Strangers
//===----------------------------------------------------------------------===//

/// Request as in Rendezvous.cpp.
struct Request {
  uint32_t magic = 0x6d786732;
  int32_t rank = 1, size = 2;
  uint32_t reserved = 0;
  char name[64] = "ep";
  uint64_t bytes = 0;
  char nonce[16] = {};
};
struct Challenge {
  uint32_t magic;
  char nonce[16];
};
struct Reply {
  uint32_t magic;
  int32_t status;
  uint64_t bytes;
  uint8_t proof[32];
};

template <typename T>
std::string toBytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

class Strangers : public Groups {
protected:
  void SetUp() override {
    Endpoint free = {"127.0.0.1", 0};
    Socket socket;
    ASSERT_FALSE(listenAt(free, 1, socket));
    endpoint = free;
    address = "127.0.0.1:" + std::to_string(endpoint.port);
  }
  TestRank connect(int rank, Milliseconds timeout = kLong) {
    mxSetThreadDevice("sim:0");
    return ::connectTo(address, configOf(rank, 2, timeout));
  }
  Socket call() {
    Socket socket;
    for (Deadline end = Clock::now() + kLong; Clock::now() < end;)
      if (connectTo(endpoint, end, socket))
        return socket;
    ADD_FAILURE() << "rank 0 does not listen";
    return socket;
  }
  /// Connects rank 0, runs `attack`, then connects rank 1. Returns the CPU time
  /// in seconds.
  double meet(const std::function<void()> &attack) {
    rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    std::thread zero([&] {
      TestRank test = connect(0);
      EXPECT_EQ(test.created, MX_SUCCESS) << test.error;
      mxGroupDestroy(test.group);
    });
    attack();
    TestRank test = connect(1);
    EXPECT_EQ(test.created, MX_SUCCESS) << test.error;
    zero.join();
    mxGroupDestroy(test.group);
    getrusage(RUSAGE_SELF, &after);
    auto seconds = [](const timeval &time) {
      return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
    };
    return seconds(after.ru_utime) + seconds(after.ru_stime) -
           seconds(before.ru_utime) - seconds(before.ru_stime);
  }
  /// Returns true if the peer closes the connection before `deadline`.
  static bool isClosedBy(const Socket &socket, Deadline deadline) {
    char byte;
    return !receiveAll(socket, &byte, 1, deadline) && Clock::now() < deadline;
  }

  Endpoint endpoint;
  std::string address;
};

TEST_F(Strangers, AreDroppedAfterFiveSilentSeconds) {
  meet([&] {
    Socket silent = call(), partial = call();
    Request request;
    sendAll(partial, &request, sizeof(request) - 1, Clock::now() + kLong);
    Clock::time_point begin = Clock::now();
    EXPECT_TRUE(isClosedBy(silent, begin + Milliseconds(7000)));
    EXPECT_TRUE(isClosedBy(partial, begin + Milliseconds(7000)));
    EXPECT_GT(Clock::now() - begin, Milliseconds(4000));
  });
}

TEST_F(Strangers, AreLimitedInNumber) {
  std::vector<Socket> open;
  meet([&] {
    for (int i = 0; i < 60; ++i)
      open.push_back(call());
    // The oldest connections are closed long before their timeout.
    EXPECT_TRUE(isClosedBy(open[0], Clock::now() + Milliseconds(4000)));
  });
}

/// While a connection cannot be accepted for lack of descriptors, the listener
/// stays readable, but rank 0 must not spin.
TEST_F(Strangers, WaitForDescriptors) {
  rlimit limit = {}, low = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  low = limit;
  low.rlim_cur = 64;
  std::vector<Socket> taken;
  Socket stranger;
  double seconds = meet([&] {
    // Wait until rank 0 listens.
    call();
    std::this_thread::sleep_for(Milliseconds(50));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    auto take = [] { return dup(STDERR_FILENO); };
    while (Socket socket = Socket::make(take))
      taken.push_back(std::move(socket));
    taken.pop_back();
    stranger = call();
    std::this_thread::sleep_for(Milliseconds(1000));
    taken.clear();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  });
  EXPECT_LT(seconds, 0.7);
}

/// The guest sends a complete request, but a wrong proof.
TEST_F(Strangers, AreRefusedWithoutTheSecret) {
  meet([&] {
    Socket socket = call();
    Deadline end = Clock::now() + kLong;
    Request request;
    request.bytes = 16;
    Challenge challenge = {};
    Reply reply = {};
    std::string rest(32 + 16, '\0');
    ASSERT_TRUE(sendAll(socket, &request, sizeof(request), end));
    ASSERT_TRUE(receiveAll(socket, &challenge, sizeof(challenge), end));
    ASSERT_TRUE(sendAll(socket, rest.data(), rest.size(), end));
    ASSERT_TRUE(receiveAll(socket, &reply, sizeof(reply), end));
    EXPECT_EQ(reply.status, -1);
    EXPECT_EQ(reply.bytes, 0u);
  });
}

/// A nonce is valid for a single connection.
TEST_F(Strangers, CannotReplayAProof) {
  Secret secret;
  ASSERT_FALSE(readSecret(secret));
  std::string old;
  for (int i = 0; i < 2; ++i)
    meet([&] {
      Socket socket = call();
      Deadline end = Clock::now() + kLong;
      Request request;
      Challenge challenge = {};
      Reply reply = {};
      ASSERT_TRUE(sendAll(socket, &request, sizeof(request), end));
      ASSERT_TRUE(receiveAll(socket, &challenge, sizeof(challenge), end));
      if (i == 0) // a proof for this nonce, but not for the empty payload
        old = toBytes(signBytes(
            secret.bytes, "mx rank" + toBytes(request) + toBytes(challenge) +
                              toBytes(hashBytes("something else"))));
      ASSERT_TRUE(sendAll(socket, old.data(), old.size(), end));
      ASSERT_TRUE(receiveAll(socket, &reply, sizeof(reply), end));
      EXPECT_EQ(reply.status, -1);
    });
}

/// A listener that does not belong to the job answers in place of rank 0.
TEST_F(Strangers, CannotActAsRankZero) {
  Socket listener;
  ASSERT_FALSE(listenAt(endpoint, 16, listener));
  std::atomic<bool> isOver = false;
  std::thread stranger([&] {
    bool isShort = false;
    while (!isOver) {
      Socket socket = acceptNext(listener, isShort);
      Deadline end = Clock::now() + Milliseconds(500);
      Request request;
      Challenge challenge = {0x6d786763, {}};
      Reply reply = {0x6d786762, MX_SUCCESS, 0, {}};
      if (!socket || !receiveAll(socket, &request, sizeof(request), end) ||
          !sendAll(socket, &challenge, sizeof(challenge), end)) {
        std::this_thread::sleep_for(Milliseconds(1));
        continue;
      }
      std::string card(32 + request.bytes, '\0');
      receiveAll(socket, card.data(), card.size(), end);
      reply.bytes = 2 * request.bytes;
      card.assign(reply.bytes, '\0');
      sendAll(socket, &reply, sizeof(reply), end);
      sendAll(socket, card.data(), card.size(), end);
    }
  });
  TestRank test = connect(1, Milliseconds(400));
  isOver = true;
  stranger.join();
  EXPECT_EQ(test.created, MX_ERROR_TIMEOUT);
  EXPECT_EQ(test.error,
            "group ep: rank 0 does not answer at " + address +
                " (rank 1 waited 0.4 s): this rank was refused because the "
                "job's secrets differ (MX_GROUP_SECRET is not set here; all "
                "ranks need the same secret)");
}

TEST_F(Strangers, OtherMachinesNeedASecret) {
  address = "192.0.2.1:80";
  TestRank test = connect(1);
  EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(test.error,
            "group ep: 192.0.2.1:80 is not an address of this machine: "
            "expected MX_GROUP_SECRET, a random text equal on all ranks of a "
            "job on several machines, found none");
}

//===----------------------------------------------------------------------===//
// Random bytes
//===----------------------------------------------------------------------===//

/// A guest that sends random bytes.
class RandomGuest {
public:
  RandomGuest(std::mt19937 &source, const Secret &secret)
      : source(source), secret(secret) {}

  void talk(Socket socket) {
    Deadline end = Clock::now() + Milliseconds(50);
    Request request;
    Challenge challenge = {};
    if (pick(4) == 0)
      return send(socket, noise(pick(5000)));
    request.bytes = pick(3) ? pick(3000) : source() | uint64_t(source()) << 32;
    std::string sent = toBytes(request);
    if (pick(2))
      mutate(sent);
    send(socket, sent);
    if (pick(4) == 0 || !receiveAll(socket, &challenge, sizeof(challenge), end))
      return;
    std::string payload = noise(pick(3000));
    std::string proof =
        toBytes(signBytes(secret.bytes, "mx rank" + sent + toBytes(challenge) +
                                            toBytes(hashBytes(payload))));
    mutate(proof);
    send(socket, proof + payload);
  }

private:
  uint32_t pick(uint32_t count) { return source() % count; }
  std::string noise(size_t count) {
    std::string bytes(count, '\0');
    for (char &byte : bytes)
      byte = char(source());
    return bytes;
  }
  void mutate(std::string &bytes) {
    for (uint32_t i = 0, n = 1 + pick(3); i < n; ++i)
      bytes[pick(uint32_t(bytes.size()))] = char(source());
    if (pick(3) == 0)
      bytes.resize(pick(uint32_t(bytes.size())));
  }
  /// Sends `bytes` in a single piece or in two.
  void send(const Socket &socket, const std::string &bytes) {
    Deadline end = Clock::now() + Milliseconds(50);
    size_t first = bytes.empty() ? 0 : pick(uint32_t(bytes.size()) + 1);
    sendAll(socket, bytes.data(), first, end);
    if (pick(2))
      sendAll(socket, bytes.data() + first, bytes.size() - first, end);
  }

  std::mt19937 &source;
  const Secret &secret;
};

/// Joins as a rank of the job with a random payload, which both ranks must
/// refuse with a message.
void joinWithNoise(const Socket &socket, const Secret &secret,
                   std::mt19937 &source, size_t bytes) {
  Deadline end = Clock::now() + kLong;
  Request request;
  request.bytes = bytes;
  Challenge challenge = {};
  std::string payload(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i)
    payload[i] = char(source());
  // In half of the cases, start with a correct magic number, rank and size.
  const uint32_t begin[] = {0x6d786733, 1, 2};
  if (source() % 2)
    memcpy(payload.data(), begin, std::min(bytes, sizeof(begin)));
  sendAll(socket, &request, sizeof(request), end);
  if (!receiveAll(socket, &challenge, sizeof(challenge), end))
    return;
  std::string proof = toBytes(signBytes(
      secret.bytes, "mx rank" + toBytes(request) + toBytes(challenge) +
                        toBytes(hashBytes(payload))));
  sendAll(socket, proof.data(), proof.size(), end);
  sendAll(socket, payload.data(), payload.size(), end);
  char byte;
  receiveAll(socket, &byte, 1, end);
}

/// Returns the size of a card, as stated in rank 0's error if another rank
/// sends a different size.
size_t findCardBytes(const std::string &error) {
  const std::string before = "expects 2 ranks and sends ";
  size_t at = error.find(before);
  return at == std::string::npos ? 0
                                 : std::stoul(error.substr(at + before.size()));
}

TEST_F(Strangers, MaySayAnything) {
  const char *minutes = getenv("MX_FUZZ_MINUTES"),
             *seed = getenv("MX_FUZZ_SEED");
  Deadline end = Clock::now() +
                 std::chrono::seconds(minutes ? int(60 * atof(minutes)) : 0);
  Secret secret;
  ASSERT_FALSE(readSecret(secret));
  std::mt19937 source(seed ? uint32_t(atol(seed)) : 1);
  size_t cardBytes = 0;
  for (int round = 0; round < 8 || Clock::now() < end; ++round) {
    auto attack = [&] {
      for (int i = 0; i < 20; ++i)
        RandomGuest(source, secret).talk(call());
    };
    if (round % 2 == 0) {
      meet(attack);
    } else {
      std::string error;
      std::thread zero([&] {
        TestRank test = connect(0);
        EXPECT_NE(test.created, MX_SUCCESS);
        error = test.error;
      });
      attack();
      joinWithNoise(call(), secret, source, cardBytes ? cardBytes : 7);
      zero.join();
      EXPECT_EQ(error.substr(0, 6), "group ");
      if (!cardBytes)
        cardBytes = findCardBytes(error);
      EXPECT_GT(cardBytes, 1000u) << error;
    }
    if (HasFailure())
      break;
  }
}

} // namespace
