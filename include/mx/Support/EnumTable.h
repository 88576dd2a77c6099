//===- EnumTable.h - Tables indexed by enumerators --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table indexed by an enumerator must follow the order of the
// enumeration. Each row names its enumerator, so the compiler can check the
// order:
//
//   static_assert(isEnumTable<&KindInfo::kind>(kKinds));
//
// A missing row leaves a row of zeros at the end, which is also out of order.
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_ENUMTABLE_H
#define MX_SUPPORT_ENUMTABLE_H

#include <cstddef>

namespace mx {

/// Returns true if `Key` of each row is the enumerator with the row's index.
template <auto Key, typename Rows>
constexpr bool isEnumTable(const Rows &rows) {
  size_t number = 0;
  for (const auto &row : rows)
    if (static_cast<size_t>(row.*Key) != number++)
      return false;
  return true;
}

/// Row of a table of names.
template <typename Enum>
struct EnumName {
  Enum value;
  const char *name;
};

} // namespace mx

#endif // MX_SUPPORT_ENUMTABLE_H
