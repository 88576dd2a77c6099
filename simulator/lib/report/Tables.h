//===- Tables.h - Formatting of text tables ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_TABLES_H
#define MXSIM_LIB_REPORT_TABLES_H

#include <cstdint>
#include <string>
#include <vector>

namespace mx::sim {

/// Formats indices as ranges: "0,3,5-7".
std::string listOf(const std::vector<uint32_t> &warps);
/// Formats a size: "12.0 KiB", or "-" for 0.
std::string bytesText(uint64_t n);
/// Formats rows of columns, the first `first` left-aligned. Omits columns in
/// which every cell is "-".
std::string tableText(const std::vector<std::vector<std::string>> &table,
                      size_t first);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_TABLES_H
