//===- InitAll.h - Register what mx adds to MLIR ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One call for a tool or plugin that wants everything of ours.
//
//===----------------------------------------------------------------------===//

#ifndef MX_INITALL_H
#define MX_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mx {

/// Adds the mx dialects and their external interface models to `registry`.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes registerAllDialects call `registerDialects` first: tools of mx then
/// know dialects that are linked with them.
using RegisterDialects = void (*)(mlir::DialectRegistry &registry);
void addDialects(RegisterDialects registerDialects);

/// Registers the mx passes and pipelines.
void registerAllPasses();

} // namespace mx

#endif // MX_INITALL_H
