//===- Registers.h - registers that instructions wait for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written takes its time. Most registers that an instruction reads were
// written long ago: a bit for each tells so without a look at when that was.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_REGISTERS_H
#define MXSIM_LIB_TIME_REGISTERS_H

#include "../machine/Program.h"
#include "../clocks/Path.h"

namespace mx::sim::time {

/// The registers of a program, by numbers from 0 on in the order in which the
/// text names them: what is used together lies side by side in memory.
class Registers {
public:
  explicit Registers(const Program &program);

  /// Those with the numbers 64 * word + n, for each bit n.
  struct Part {
    uint32_t word;
    uint64_t bits;
  };
  struct Range {
    const Part *first, *last;
    const Part *begin() const { return first; }
    const Part *end() const { return last; }
    bool empty() const { return first == last; }
  };
  /// What instruction `k` waits for, its guard included, and what it writes
  /// that others may wait for.
  Range reads(size_t k) const { return rangeOf(uses[k].reads, uses[k].writes); }
  Range writes(size_t k) const { return rangeOf(uses[k].writes, uses[k].end); }
  uint32_t count() const { return numRegisters; }

private:
  struct Uses {
    uint32_t reads, writes, end; ///< places in `parts`
  };
  Range rangeOf(uint32_t first, uint32_t last) const {
    return {parts.data() + first, parts.data() + last};
  }
  std::vector<Uses> uses; ///< by instruction
  std::vector<Part> parts;
  uint32_t numRegisters = 0;
};

/// When the registers of a warp hold their values.
class Readiness {
public:
  void start(uint32_t registers) {
    moments.assign(registers, {});
    recent.assign((registers + 63) / 64, 0);
    latest = {};
    settled = 0;
    open = 0;
  }

  void set(Registers::Range written, Moment ready) {
    for (const Registers::Part &part : written) {
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

  /// It is known when what was set to `before`, which was open, is ready.
  void fill(Registers::Range written, Moment before, Moment ready) {
    for (const Registers::Part &part : written)
      for (uint64_t left = part.bits; left; left &= left - 1)
        if (Moment &moment = of(part, left); moment == before)
          moment = ready;
    latest = std::max(latest, ready);
    --open;
  }
  /// Whether there is a load of which it is not known when it is ready.
  bool hasOpen() const { return open; }

  /// The latest of `due` and what is read. Most that comes later is due from
  /// the cycle `horizon` on.
  Moment await(Registers::Range read, Moment due, uint64_t horizon) {
    return open || due < latest ? awaitEach(read, due, horizon) : due;
  }

  /// Where the bits of all registers lie, for what needs them soon.
  const std::vector<uint64_t> &bits() const { return recent; }

private:
  Moment &of(const Registers::Part &part, uint64_t left) {
    return moments[part.word * 64 + unsigned(__builtin_ctzll(left))];
  }
  Moment awaitEach(Registers::Range read, Moment due, uint64_t horizon);

  std::vector<Moment> moments; ///< by number
  /// A bit for each; those without were ready before the cycle `settled`.
  std::vector<uint64_t> recent;
  uint64_t settled = 0;
  Moment latest;     ///< of those that are known
  uint32_t open = 0; ///< loads of which it is not
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_REGISTERS_H
