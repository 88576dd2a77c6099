//===- MmaInteger.cpp - MMA tiles of integers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulates 32-bit integers, with wraparound or saturation as the instruction
// requires.
//===----------------------------------------------------------------------===//

#include "MmaTile.h"

#include <algorithm>
#include <limits>

using namespace mx::sim;

void mx::sim::runInteger(const MmaTile &tile) {
  const InstrDesc &desc = tile.desc;
  unsigned k = desc.k;
  std::vector<int32_t> a(k), b(tile.columns * k);
  for (unsigned n = 0; n < tile.columns; ++n)
    tile.decodeB(n, &b[n * k]);
  for (unsigned row = 0; row < tile.rows; ++row) {
    uint32_t *cells = tile.cells[row];
    if (!cells)
      continue;
    tile.decodeA(row, a.data());
    for (unsigned n = 0; n < tile.columns; ++n) {
      const int32_t *column = &b[n * k];
      int32_t dot = 0; // 64 products of at most 2^16: no overflow
      for (unsigned i = 0; i < k; ++i)
        dot += tile.exclusiveOr ? a[i] ^ column[i] : a[i] * column[i];
      int64_t sum = dot;
      if (tile.enableInputD)
        sum += static_cast<int32_t>(cells[n]);
      if (desc.saturate)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      cells[n] = static_cast<uint32_t>(sum);
    }
  }
}
