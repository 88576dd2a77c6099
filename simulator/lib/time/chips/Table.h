//===- Table.h - Format of the tables of figures ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CHIPS_TABLE_H
#define MXSIM_LIB_TIME_CHIPS_TABLE_H

#include "../FactTable.h"

namespace mx::sim::time {

struct Range {
  double value, low, high;
  Origin origin;
  std::string_view source;
};
struct Row {
  Fact fact;
  Range range;
  std::string_view name = {}; ///< if not that of FactTable.h
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
  for (const auto &[fact, range, name] : rows) {
    const FactInfo &info = kFactInfos[unsigned(fact)];
    all[unsigned(fact)] = {name.empty() ? info.name : name,
                           range.value,
                           range.low,
                           range.high,
                           info.unit,
                           range.origin,
                           range.source};
  }
  return all;
}

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CHIPS_TABLE_H
