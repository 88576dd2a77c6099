//===- Parser.h - Parser of PTX text ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_PARSER_H
#define MXSIM_LIB_PTX_PARSER_H

#include "AST.h"

#include <memory>

namespace mx::sim::ptx {

/// Parses PTX text. Returns null if the text is malformed, with the first error
/// in `errors`.
std::unique_ptr<Module> parse(std::string_view text, std::string_view name,
                              std::vector<Diagnostic> &errors);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_PARSER_H
