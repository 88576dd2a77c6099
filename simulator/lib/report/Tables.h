//===- Tables.h - tables of text --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_TABLES_H
#define MXSIM_LIB_REPORT_TABLES_H

#include <cstdint>
#include <string>
#include <vector>

namespace mx::sim {

/// "0,3,5-7"
std::string listOf(const std::vector<uint32_t> &warps);
/// "12.0 KiB", or "-" for none.
std::string bytesText(uint64_t n);
/// Lines of columns, the `first` ones set to the left; those of which every
/// cell is "-" are left out.
std::string tableText(const std::vector<std::vector<std::string>> &table,
                      size_t first);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_TABLES_H
