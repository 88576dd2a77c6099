//===- MmaTile.cpp - rows of a tile ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse rows are spread out before any arithmetic: zeros change no sum.
//===----------------------------------------------------------------------===//

#include "MmaTile.h"

#include <algorithm>

using namespace mx::sim;

/// Moves the K / 2 stored elements of a row to their places.
template <typename T>
static void spread(const uint8_t *kept, unsigned k, T *values) {
  T stored[maxK / 2];
  std::copy(values, values + k / 2, stored);
  std::fill(values, values + k, T(0));
  for (unsigned i = 0; i < k / 2; ++i)
    values[kept[i]] = stored[i];
}

void MmaTile::decodeA(unsigned row, double *values) const {
  unsigned k = desc.k;
  decodeRow(a->row(row), desc.a, packingA, kept ? k / 2 : k, desc.negateA,
            values);
  if (kept)
    spread(kept + row * (k / 2), k, values);
}

void MmaTile::decodeB(unsigned column, double *values) const {
  decodeRow(b->row(firstB + column), desc.b, packingB, desc.k, desc.negateB,
            values);
}

void MmaTile::decodeA(unsigned row, int32_t *values) const {
  unsigned k = desc.k;
  decodeIntRow(a->row(row), desc.a, kept ? k / 2 : k, values);
  if (kept)
    spread(kept + row * (k / 2), k, values);
}

void MmaTile::decodeB(unsigned column, int32_t *values) const {
  decodeIntRow(b->row(firstB + column), desc.b, desc.k, values);
}
