//===- MXBytecode.h - Bytecode version of the mx dialect --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lets the dialect write its version into bytecode.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_IR_MXBYTECODE_H
#define MX_LIB_DIALECT_MX_IR_MXBYTECODE_H

#include <cstdint>

namespace mx {

class MXDialect;

/// Raised whenever the operands, properties or regions of an operation change
/// in a way that an older reader would misunderstand.
inline constexpr uint64_t kBytecodeVersion = 5;

void addBytecodeInterface(MXDialect &dialect);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_IR_MXBYTECODE_H
