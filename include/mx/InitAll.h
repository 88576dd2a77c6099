//===- InitAll.h - Registration of dialects and passes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_INITALL_H
#define MX_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mx {

/// Adds the mx dialects and their external interface models to `registry`.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes registerAllDialects call `registerDialects` first, so mx tools
/// support linked-in dialects.
using RegisterDialects = void (*)(mlir::DialectRegistry &registry);
void addDialects(RegisterDialects registerDialects);

void registerAllPasses();

} // namespace mx

#endif // MX_INITALL_H
