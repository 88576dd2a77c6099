//===- Philox.h - constants of the counter-based generator ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Philox-4x32-10 gives four random words for a counter and a key. It has no
// state that one element would hand on to the next, so that every path draws
// the same number for an element in whatever order it comes to it.
//
// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As
// Easy as 1, 2, 3", SC 2011, section 3.3.
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_PHILOX_H
#define MX_SUPPORT_PHILOX_H

#include <cstdint>

namespace mx {

inline constexpr unsigned kPhiloxRounds = 10;
/// Of the counter's first and third word.
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
/// What the key's words grow by between rounds: the golden ratio, sqrt(3) - 1.
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};

} // namespace mx

#endif // MX_SUPPORT_PHILOX_H
