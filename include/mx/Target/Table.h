//===- Table.h - View of constant table rows --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_TABLE_H
#define MX_TARGET_TABLE_H

#include <cstddef>
#include <vector>

namespace mx::target {

/// Rows of a constant table as a range.
template <typename Row>
class Table {
public:
  template <size_t numRows>
  constexpr Table(const Row (&rows)[numRows]) : first(rows), count(numRows) {}
  Table(const std::vector<Row> &rows)
      : first(rows.data()), count(rows.size()) {}

  const Row *begin() const { return first; }
  const Row *end() const { return first + count; }

private:
  const Row *first;
  size_t count;
};

} // namespace mx::target

#endif // MX_TARGET_TABLE_H
