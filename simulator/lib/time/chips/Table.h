//===- Table.h - Format of the tables of figures ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CHIPS_TABLE_H
#define MXSIM_LIB_TIME_CHIPS_TABLE_H

#include "../Chip.h"

namespace mx::sim::time {

struct Row {
  Fact fact;
  Figure figure;
};

/// Returns true if the tables name each fact once. A missing fact is a
/// compile-time error.
template <size_t N, size_t M>
constexpr bool namesEachFactOnce(const Row (&rows)[N],
                                 const Fact (&absent)[M]) {
  std::array<unsigned, kFacts> count = {};
  for (const Row &row : rows)
    ++count[unsigned(row.fact)];
  for (Fact fact : absent)
    ++count[unsigned(fact)];
  for (unsigned n : count)
    if (n != 1)
      return false;
  return true;
}

template <size_t N>
constexpr std::array<Figure, kFacts> figuresOf(const Row (&rows)[N]) {
  std::array<Figure, kFacts> all = {};
  for (const Row &row : rows)
    all[unsigned(row.fact)] = row.figure;
  return all;
}

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CHIPS_TABLE_H
