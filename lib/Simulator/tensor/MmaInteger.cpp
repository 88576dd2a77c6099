//===- MmaInteger.cpp - tiles of kind::i8 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 32-bit sums that wrap, or saturate when the instruction descriptor says so.
//===----------------------------------------------------------------------===//

#include "MmaTile.h"

#include <algorithm>
#include <limits>

using namespace mx::sim;

void mx::sim::runInteger(const MmaContext &context, const MmaTile &tile) {
  const InstrDesc &desc = context.desc;
  std::vector<int32_t> a(tile.rows * stepBytes), b(tile.columns * stepBytes);
  for (unsigned row = 0; row < tile.rows; ++row)
    decodeIntRow(tile.a.row(row), desc.a, &a[row * stepBytes]);
  for (unsigned n = 0; n < tile.columns; ++n)
    decodeIntRow(context.b.row(tile.firstB + n), desc.b, &b[n * stepBytes]);
  for (unsigned row = 0; row < tile.rows; ++row) {
    unsigned lane = tile.lane(row);
    if (context.isDisabled(tile, lane))
      continue;
    uint32_t *cells = tile.cta->tensor->row(lane) + tile.column;
    for (unsigned n = 0; n < tile.columns; ++n) {
      int32_t dot = 0; // 32 products of at most 2^16: no overflow
      for (unsigned i = 0; i < stepBytes; ++i)
        dot += a[row * stepBytes + i] * b[n * stepBytes + i];
      int64_t sum = dot;
      if (context.op.enableInputD)
        sum += static_cast<int32_t>(cells[n]);
      if (desc.saturate)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      cells[n] = static_cast<uint32_t>(sum);
    }
    tile.cta->tensor->define(lane, tile.column, tile.columns);
  }
}
