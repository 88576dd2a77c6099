//===- Parser.h - PTX text to ptx::Module -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry point of the front end.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_PARSER_H
#define MXSIM_LIB_PTX_PARSER_H

#include "AST.h"

#include <memory>

namespace mx::sim::ptx {

/// Null, with the first error in `errors`, when the text is not well formed.
std::unique_ptr<Module> parse(std::string_view text, std::string_view name,
                              std::vector<Diagnostic> &errors);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_PARSER_H
