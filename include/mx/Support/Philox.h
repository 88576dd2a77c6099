//===- Philox.h - Constants of the Philox generator -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox-4x32-10 maps a counter and a key to four random words. It is
// stateless, so all paths draw the same number for an element in any order.
// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As
// Easy as 1, 2, 3", SC 2011, section 3.3.
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_PHILOX_H
#define MX_SUPPORT_PHILOX_H

#include <cstdint>

namespace mx {

inline constexpr unsigned kPhiloxRounds = 10;
/// Multipliers of the first and third word of the counter.
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
/// Increments of the key between rounds: golden ratio, sqrt(3) - 1.
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};

} // namespace mx

#endif // MX_SUPPORT_PHILOX_H
