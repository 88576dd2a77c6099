//===- Secret.h - Secret of a job -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that meet at an address prove to each other that they know the secret
// of the job, without sending it. MX_GROUP_SECRET holds it. Without that
// variable all ranks must be processes of one user on one machine, and the
// secret is the content of a file that only this user may read.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_SECRET_H
#define MX_RUNTIME_LIB_GROUP_SECRET_H

#include "../Device.h"

#include <array>
#include <cstdint>

namespace mx::runtime {

using Digest = std::array<uint8_t, 32>;

/// SHA-256 (FIPS 180-4).
Digest hashBytes(std::string_view bytes);
/// HMAC with SHA-256 (RFC 2104).
Digest signBytes(std::string_view key, std::string_view bytes);
/// Compares in a time that does not depend on the content.
bool isSameDigest(const Digest &a, const Digest &b);
/// Fills `bytes` with random bytes of the system.
Error drawRandom(void *bytes, size_t count);

struct Secret {
  std::string bytes;
  /// From the file of the user, so no other machine knows it.
  bool isLocal = false;
};

/// Reads MX_GROUP_SECRET, else the file at `path`, which the first process that
/// needs it makes. A null `path` is "/tmp/mx-group-secret-UID".
Error readSecret(Secret &secret, const char *path = nullptr);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_SECRET_H
