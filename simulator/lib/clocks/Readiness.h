//===- Readiness.h - Readiness of registers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models when the result of an instruction is ready. Most registers read by an
// instruction were written long ago, so a bit for each register avoids most
// comparisons of times.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_READINESS_H
#define MXSIM_LIB_CLOCKS_READINESS_H

#include "Path.h"

#include <algorithm>
#include <vector>

namespace mx::sim::time {

/// Set of the registers 64 * word + n for each set bit n.
struct RegisterPart {
  uint32_t word;
  uint64_t bits;
};
struct RegisterRange {
  const RegisterPart *first, *last;
  const RegisterPart *begin() const { return first; }
  const RegisterPart *end() const { return last; }
  bool empty() const { return first == last; }
};

/// Readiness of the registers of a warp.
class Readiness {
public:
  void start(uint32_t registers) {
    moments.assign(registers, {});
    recent.assign((registers + 63) / 64, 0);
    latest = {};
    settled = 0;
    open = 0;
  }

  void set(RegisterRange written, Moment ready) {
    for (const RegisterPart &part : written) {
      recent[part.word] |= part.bits;
      for (uint64_t left = part.bits; left; left &= left - 1)
        of(part, left) = ready;
    }
    if (written.empty())
      return;
    if (ready.isOpen())
      ++open;
    else
      latest = std::max(latest, ready);
  }

  /// Replaces the open moment `before` by `ready` in the written registers.
  void fill(RegisterRange written, Moment before, Moment ready) {
    for (const RegisterPart &part : written)
      for (uint64_t left = part.bits; left; left &= left - 1)
        if (Moment &moment = of(part, left); moment == before)
          moment = ready;
    latest = std::max(latest, ready);
    --open;
  }
  /// Returns true if a load is unanswered.
  bool hasOpen() const { return open; }

  /// Returns the time when all registers in `read` are ready, but no earlier
  /// than `due`. `horizon` is a lower bound for most later values of `due`.
  Moment await(RegisterRange read, Moment due, uint64_t horizon) {
    return open || due < latest ? awaitEach(read, due, horizon) : due;
  }

  /// For prefetching.
  const std::vector<uint64_t> &bits() const { return recent; }

private:
  Moment &of(const RegisterPart &part, uint64_t left) {
    return moments[part.word * 64 + unsigned(__builtin_ctzll(left))];
  }
  Moment awaitEach(RegisterRange read, Moment due, uint64_t horizon);

  std::vector<Moment> moments; ///< indexed by register
  /// Registers without a set bit were ready before the cycle `settled`.
  std::vector<uint64_t> recent;
  uint64_t settled = 0;
  Moment latest;     ///< latest known time of readiness
  uint32_t open = 0; ///< unanswered loads
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_CLOCKS_READINESS_H
