//===- WarpFragments.h - Matrix fragments in warp registers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync and wgmma use the same fragments. Thread t of a warp holds elements
// of rows t / 4 and t / 4 + 8. Of each 16-byte piece of an operand row, or of
// each 8 columns of an accumulator, the thread holds quarter t % 4 (PTX ISA,
// figures of the fragments of mma.m16n8k16 and wgmma.m64nNk16).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_WARPFRAGMENTS_H
#define MXSIM_LIB_EXEC_WARPFRAGMENTS_H

#include "../machine/Machine.h"

#include "mxsim/tensor/WarpMma.h"

#include <cstring>

namespace mx::sim {

/// Returns the summation model of this launch.
inline Numerics numericsOf(const Warp &w) {
  return w.machine->config.truncatesTensorSums ? Numerics::Truncate25
                                               : Numerics::Exact;
}

/// Requires all 32 threads. Returns false after a finding.
inline bool wholeWarp(Warp &w, const Instr *i, uint32_t mask,
                      const char *name) {
  if (mask == ~0u)
    return true;
  w.fail(i, FindingKind::IllegalInstruction,
         std::string(name) + " needs all 32 threads of the warp, but some "
                             "have exited or do not exist",
         mask);
  return false;
}

/// Copies `count` registers of an 8-row or 16-row operand A to a row-major
/// array with `rowBytes` bytes per row.
inline void gatherA(Warp &w, const Slot *slots, unsigned count, unsigned rows,
                    uint8_t *out, unsigned rowBytes = warpRowBytes) {
  unsigned halves = rows / 8;
  for (unsigned r = 0; r < count; ++r) {
    const uint32_t *values = w.at<uint32_t>(slots[r]);
    for (unsigned lane = 0; lane < 32; ++lane)
      std::memcpy(out + (lane / 4 + r % halves * 8) * rowBytes +
                      r / halves * 16 + lane % 4 * 4,
                  values + lane, 4);
  }
}

inline void gatherB(Warp &w, const Slot *slots, unsigned count, uint8_t *out,
                    unsigned rowBytes = warpRowBytes) {
  gatherA(w, slots, count, 8, out, rowBytes);
}

/// Calls fn(lane, register, bit shift, row, column) for each element of an
/// accumulator fragment of `count` registers. An f16 register contains two
/// elements.
template <typename Fn>
void forAccumulators(unsigned count, bool half, Fn fn) {
  for (unsigned r = 0; r < count; ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned row = lane / 4, column = lane % 4 * 2;
      if (!half) {
        fn(lane, r, 0, row + r / 2 % 2 * 8, r / 4 * 8 + column + r % 2);
        continue;
      }
      for (unsigned e = 0; e < 2; ++e)
        fn(lane, r, 16 * e, row + r % 2 * 8, r / 2 * 8 + column + e);
    }
}

/// Gathers accumulators into cells[row * columns + column].
inline void gatherCells(Warp &w, const Slot *slots, unsigned count,
                        unsigned columns, bool half, uint32_t *cells) {
  forAccumulators(count, half,
                  [&](unsigned lane, unsigned r, unsigned shift, unsigned row,
                      unsigned column) {
                    uint32_t value = w.at<uint32_t>(slots[r])[lane] >> shift;
                    cells[row * columns + column] =
                        half ? value & 0xFFFF : value;
                  });
}

inline void scatterCells(Warp &w, const Slot *slots, unsigned count,
                         unsigned columns, bool half, const uint32_t *cells) {
  forAccumulators(count, half,
                  [&](unsigned lane, unsigned r, unsigned shift, unsigned row,
                      unsigned column) {
                    uint32_t value = cells[row * columns + column];
                    uint32_t &target = w.at<uint32_t>(slots[r])[lane];
                    target = shift ? (target & 0xFFFF) | value << shift : value;
                  });
}

/// Computes an f64 dot product as a chain of fused multiply-adds along K.
/// `rounding` is 0 for .rn, 1 for .rz, 2 for .rm and 3 for .rp.
double chainOfProducts(const double *a, const double *b, unsigned k, double c,
                       unsigned rounding);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_WARPFRAGMENTS_H
