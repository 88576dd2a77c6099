//===- Header.h - C headers of compiled programs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed wrappers of the runtime's mx_program.h.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H
#define MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H

#include "mx/Plan/Plan.h"

namespace mx {

std::string getIdentifier(const std::string &text);

/// Returns a header with functions named `prefix`_ENTRY.
std::string writeHeader(const plan::Manifest &manifest,
                        const std::string &prefix);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H
