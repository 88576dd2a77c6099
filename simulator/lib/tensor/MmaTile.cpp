//===- MmaTile.cpp - Rows of an MMA tile ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse rows are expanded with zeros before the arithmetic. The zeros usually
// do not change sums. As on an H200, a sparse MMA differs from a dense MMA in
// two cases: it ignores infinities and NaN of B that no index selects, and
// metadata may repeat an index.
//===----------------------------------------------------------------------===//

#include "MmaTile.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mx::sim;

/// Moves the K / 2 stored elements of a row to their positions.
template <typename T>
static void spread(const uint8_t *kept, unsigned k, T *values) {
  T stored[maxK / 2];
  std::copy(values, values + k / 2, stored);
  std::fill(values, values + k, T(0));
  for (unsigned i = 0; i < k / 2; ++i)
    values[kept[i]] = stored[i];
}

/// Selects the elements of a column that a row of a sparse A uses.
template <typename T>
static void gather(const uint8_t *from, unsigned count, T *values) {
  T column[2 * maxK];
  std::copy(values, values + count, column);
  for (unsigned i = 0; i < count; ++i)
    values[i] = from[i] == SeenB::kNothing ? T(0) : column[from[i]];
}

void MmaTile::decodeA(unsigned row, double *values) const {
  unsigned k = desc.k;
  decodeRow(a->row(row), desc.a, packingA, sparsity ? k / 2 : k, desc.negateA,
            values);
  if (sparsity)
    spread(&sparsity->kept[row * (k / 2)], k, values);
}

void MmaTile::decodeB(unsigned column, double *values) const {
  unsigned k = desc.k;
  const uint8_t *row = b->row(firstB + column);
  if (seenB && desc.b == ElementType::TF32) {
    uint16_t halves[2 * maxK];
    uint8_t from[2 * maxK];
    std::memcpy(halves, row, k * sizeof(uint32_t));
    for (unsigned i = 0; i < k; ++i) {
      from[2 * i] = seenB->low[i];
      from[2 * i + 1] = seenB->high[i];
    }
    gather(from, 2 * k, halves);
    decodeRow(reinterpret_cast<const uint8_t *>(halves), desc.b, packingB, k,
              desc.negateB, values);
    return;
  }
  decodeRow(row, desc.b, packingB, k, desc.negateB, values);
  if (seenB)
    gather(seenB->low, k, values);
}

void MmaTile::decodeA(unsigned row, int32_t *values) const {
  unsigned k = desc.k;
  decodeIntRow(a->row(row), desc.a, sparsity ? k / 2 : k, values);
  if (sparsity)
    spread(&sparsity->kept[row * (k / 2)], k, values);
}

void MmaTile::decodeB(unsigned column, int32_t *values) const {
  decodeIntRow(b->row(firstB + column), desc.b, desc.k, values);
  if (seenB)
    gather(seenB->low, desc.k, values);
}

//===----------------------------------------------------------------------===//
// Sparse MMAs
//===----------------------------------------------------------------------===//

static bool isInteger(const MmaTile &tile) {
  return tile.desc.d == AccumulatorType::S32;
}

/// Returns true if B contains an infinity or NaN. For tf32, also checks 16-bit
/// halves that detours could use as the upper half.
static bool hasSpecialB(const MmaTile &tile) {
  unsigned k = tile.desc.k;
  double values[maxK];
  if (isInteger(tile))
    return false;
  unsigned step = tile.sparsity->detours.empty() ? 2 : 1;
  for (unsigned n = 0; n < tile.columns; ++n) {
    if (tile.desc.b == ElementType::TF32) {
      uint16_t halves[2 * maxK];
      std::memcpy(halves, tile.b->row(tile.firstB + n), k * sizeof(uint32_t));
      for (unsigned i = step - 1; i < 2 * k; i += step)
        if ((halves[i] & 0x7F80) == 0x7F80)
          return true;
      continue;
    }
    tile.decodeB(n, values);
    for (unsigned i = 0; i < k; ++i)
      if (!std::isfinite(values[i]))
        return true;
  }
  return false;
}

template <typename T>
static bool isZeroAt(const MmaTile &tile, const Sparsity::Detour &detour) {
  T values[maxK];
  tile.decodeA(detour.row, values);
  return values[detour.place] == 0;
}

static SeenB seenBy(const MmaTile &tile, unsigned row) {
  SeenB seen;
  std::fill_n(seen.low, maxK, SeenB::kNothing);
  std::fill_n(seen.high, maxK, SeenB::kNothing);
  unsigned k = tile.desc.k;
  bool hasHalves = tile.desc.b == ElementType::TF32;
  for (unsigned i = 0; i < k / 2; ++i) {
    uint8_t place = tile.sparsity->kept[row * (k / 2) + i];
    seen.low[place] = hasHalves ? 2 * place : place;
    seen.high[place] = hasHalves ? 2 * place + 1 : place;
  }
  for (const Sparsity::Detour &detour : tile.sparsity->detours)
    if (detour.row == row) {
      seen.low[detour.place] = detour.low;
      seen.high[detour.place] = detour.high;
    }
  return seen;
}

/// Computes a row as a separate tile, with the elements of B that the row
/// selects.
static void runRow(const MmaTile &tile, unsigned row,
                   void (*compute)(const MmaTile &)) {
  constexpr unsigned rows = 8;
  SeenB seen = seenBy(tile, row);
  MmaTile part = tile;
  part.rows = rows;
  part.seenB = &seen;
  RawRows a;
  a.rowBytes = tile.a->rowBytes;
  a.resize(rows);
  std::copy_n(tile.a->row(row), a.rowBytes, a.row(0));
  part.a = &a;
  std::vector<ScaleRow> scales;
  if (tile.desc.scaleBlocks)
    scales.assign(rows, tile.scaleA[row]);
  part.scaleA = scales.data();
  Sparsity sparsity;
  auto kept = tile.sparsity->kept.begin() + row * (tile.desc.k / 2);
  for (unsigned i = 0; i < rows; ++i)
    sparsity.kept.insert(sparsity.kept.end(), kept, kept + tile.desc.k / 2);
  part.sparsity = &sparsity;
  uint32_t *cells[rows] = {tile.cells[row]};
  part.cells = cells;
  compute(part);
}

void mx::sim::run(const MmaTile &tile, void (*compute)(const MmaTile &)) {
  if (!tile.sparsity)
    return compute(tile);
  std::vector<bool> isApart(tile.rows, hasSpecialB(tile));
  // Compressors repeat an index in chunks of zeros, which is harmless.
  for (const Sparsity::Detour &detour : tile.sparsity->detours)
    if (!(isInteger(tile) ? isZeroAt<int32_t>(tile, detour)
                          : isZeroAt<double>(tile, detour)))
      isApart[detour.row] = true;
  std::vector<uint32_t *> cells(tile.cells, tile.cells + tile.rows);
  for (unsigned row = 0; row < tile.rows; ++row)
    if (isApart[row] && tile.cells[row]) {
      runRow(tile, row, compute);
      cells[row] = nullptr;
    }
  MmaTile rest = tile;
  rest.cells = cells.data();
  compute(rest);
}
