//===- Secret.h - Secret of a job -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that connect to a common address prove that they know the job's secret,
// but do not send the secret. The secret is the value of MX_GROUP_SECRET.
// Without the variable, all ranks must be processes of one user on one machine,
// and the secret is a file readable only by that user.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_SECRET_H
#define MX_RUNTIME_LIB_GROUP_SECRET_H

#include "../Device.h"

#include <array>
#include <cstdint>

namespace mx::runtime {

using Digest = std::array<uint8_t, 32>;

/// Computes SHA-256 (FIPS 180-4).
Digest hashBytes(std::string_view bytes);
/// Computes HMAC-SHA-256 (RFC 2104).
Digest signBytes(std::string_view key, std::string_view bytes);
/// Compares in constant time.
bool isSameDigest(const Digest &a, const Digest &b);
/// Fills `bytes` from the system's random generator.
Error drawRandom(void *bytes, size_t count);

struct Secret {
  std::string bytes;
  /// True if the secret comes from the user's file, so other machines do not
  /// know the secret.
  bool isLocal = false;
};

/// Reads MX_GROUP_SECRET, else the file at `path`, which the first process
/// creates. A null `path` is "/tmp/mx-group-secret-UID".
Error readSecret(Secret &secret, const char *path = nullptr);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_SECRET_H
