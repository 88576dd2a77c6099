//===- EnumTable.h - tables with a row for each enumerator ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A table that is read by the number of an enumerator has its rows in the order
// of the enumeration. Rows name their enumerator, so that the compiler can see
// to it:
//
//   static_assert(isEnumTable<&KindInfo::kind>(kKinds));
//
// A table of as many rows as there are enumerators that lacks one ends with a
// row of zeros, which is out of order, too.
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_ENUMTABLE_H
#define MX_SUPPORT_ENUMTABLE_H

#include <cstddef>

namespace mx {

/// Whether `Key` of each row is the enumerator with the row's number.
template <auto Key, typename Rows>
constexpr bool isEnumTable(const Rows &rows) {
  size_t number = 0;
  for (const auto &row : rows)
    if (static_cast<size_t>(row.*Key) != number++)
      return false;
  return true;
}

/// The row of a table of names.
template <typename Enum>
struct EnumName {
  Enum value;
  const char *name;
};

} // namespace mx

#endif // MX_SUPPORT_ENUMTABLE_H
