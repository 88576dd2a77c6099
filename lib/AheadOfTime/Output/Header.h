//===- Header.h - A C header for a compiled program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Typed functions over the runtime's mx_program.h.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H
#define MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H

#include "mx/Plan/Plan.h"

namespace mx {

/// `text` as a C identifier.
std::string getIdentifier(const std::string &text);

/// A header whose functions are named `prefix`_ENTRY.
std::string writeHeader(const plan::Manifest &manifest,
                        const std::string &prefix);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_HEADER_H
