//===- Secret.cpp - Secret of a job ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Secret.h"
#include "Sockets.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mx::runtime;

//===----------------------------------------------------------------------===//
// Digests
//===----------------------------------------------------------------------===//

static uint32_t rotate(uint32_t x, int count) {
  return x >> count | x << (32 - count);
}

static void addBlock(std::array<uint32_t, 8> &state, const uint8_t *block) {
  static constexpr uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
      0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
      0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
      0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
      0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
      0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
      0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
      0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
           uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + w[i - 7] +
           (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
           (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                  ((e & f) ^ (~e & g)) + k[i] + w[i];
    uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                  ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t added[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i)
    state[i] += added[i];
}

Digest mx::runtime::hashBytes(std::string_view bytes) {
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  auto data = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t whole = bytes.size() / 64 * 64, rest = bytes.size() - whole;
  for (size_t i = 0; i < whole; i += 64)
    addBlock(state, data + i);
  uint8_t last[128] = {};
  if (rest)
    memcpy(last, data + whole, rest);
  last[rest] = 0x80;
  size_t end = rest < 56 ? 64 : 128;
  for (size_t i = 0; i < 8; ++i)
    last[end - 1 - i] = uint8_t(uint64_t(bytes.size()) * 8 >> 8 * i);
  for (size_t i = 0; i < end; i += 64)
    addBlock(state, last + i);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

static std::string_view view(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

Digest mx::runtime::signBytes(std::string_view key, std::string_view bytes) {
  Digest hashed = hashBytes(key);
  if (key.size() > 64)
    key = view(hashed);
  std::string inner(64, 0x36), outer(64, 0x5c);
  for (size_t i = 0; i < key.size(); ++i) {
    inner[i] = char(inner[i] ^ key[i]);
    outer[i] = char(outer[i] ^ key[i]);
  }
  Digest first = hashBytes(inner.append(bytes));
  return hashBytes(outer.append(view(first)));
}

bool mx::runtime::isSameDigest(const Digest &a, const Digest &b) {
  uint8_t differences = 0;
  for (size_t i = 0; i < a.size(); ++i)
    differences |= uint8_t(a[i] ^ b[i]);
  return differences == 0;
}

Error mx::runtime::drawRandom(void *bytes, size_t count) {
  if (getrandom(bytes, count, 0) == ssize_t(count))
    return {};
  return {MX_ERROR_INTERNAL, "reading random bytes from the system failed"};
}

//===----------------------------------------------------------------------===//
// Secret file of a user
//===----------------------------------------------------------------------===//

static constexpr size_t kLeastBytes = 16, kMostBytes = 4096, kFileBytes = 32;

static Error describeFile(const std::string &path, const std::string &found) {
  return invalidValue("expected the user's group secret in " + path +
                      ", found " + found +
                      ": set MX_GROUP_SECRET to the same random text on all "
                      "ranks, or remove the file");
}

/// Creates the file with content in one atomic step, unless another process is
/// first.
static Error makeFile(const std::string &path) {
  uint8_t bytes[kFileBytes], suffix[8];
  for (auto [place, count] :
       {std::pair(bytes, sizeof(bytes)), std::pair(suffix, sizeof(suffix))})
    if (Error error = drawRandom(place, count))
      return error;
  std::string beside = path + ".";
  for (uint8_t byte : suffix)
    beside += std::to_string(byte) + ".";
  Socket file = Socket::make([&] {
    return open(beside.c_str(),
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  });
  if (!file)
    return describeFile(path,
                        std::string("no file, and creating the file failed (") +
                            strerror(errno) + ")");
  bool isWritten =
      write(file.get(), bytes, sizeof(bytes)) == ssize_t(sizeof(bytes));
  bool isMade =
      isWritten && (link(beside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  int reason = errno;
  unlink(beside.c_str());
  return isMade ? Error()
                : describeFile(
                      path,
                      std::string("no file, and creating the file failed (") +
                          strerror(reason) + ")");
}

/// Reads the file. Sets `isMissing` if there is no file.
static Error readFile(const std::string &path, std::string &bytes,
                      bool &isMissing) {
  Socket file = Socket::make([&] {
    return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  });
  isMissing = !file && errno == ENOENT;
  if (!file)
    return describeFile(path, strerror(errno));
  struct stat found = {};
  if (fstat(file.get(), &found) || !S_ISREG(found.st_mode))
    return describeFile(path, "something other than a regular file");
  if (found.st_uid != geteuid())
    return describeFile(path, "a file of user " + std::to_string(found.st_uid) +
                                  " instead of " + std::to_string(geteuid()));
  if (found.st_mode & 077)
    return describeFile(path, "a file that other users may open");
  bytes.resize(kFileBytes);
  if (found.st_size != off_t(kFileBytes) ||
      read(file.get(), bytes.data(), kFileBytes) != ssize_t(kFileBytes))
    return describeFile(path, std::to_string(found.st_size) +
                                  " bytes instead of " +
                                  std::to_string(kFileBytes));
  return {};
}

Error mx::runtime::readSecret(Secret &secret, const char *path) {
  const char *given = getenv("MX_GROUP_SECRET");
  if (given && *given) {
    size_t length = strlen(given);
    if (length < kLeastBytes || length > kMostBytes)
      return invalidValue("expected MX_GROUP_SECRET to be a random text of " +
                          std::to_string(kLeastBytes) + " to " +
                          std::to_string(kMostBytes) + " bytes, found " +
                          std::to_string(length) +
                          ": generate it with \"openssl rand -hex 16\"");
    secret = {given, false};
    return {};
  }
  std::string place =
      path ? path : "/tmp/mx-group-secret-" + std::to_string(geteuid());
  bool isMissing = false;
  secret.isLocal = true;
  Error error = readFile(place, secret.bytes, isMissing);
  if (!isMissing)
    return error;
  error = makeFile(place);
  return error ? error : readFile(place, secret.bytes, isMissing);
}
