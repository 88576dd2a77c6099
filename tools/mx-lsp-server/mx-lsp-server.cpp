//===- mx-lsp-server.cpp - Editor support for mx IR -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs upstream's language server with the mx dialects. It offers completion,
// definitions and hover, and shows verifier messages while typing.
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mlir/IR/Dialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mx/InitAll.h"

extern "C" int mxLspServerMain(int argc, char **argv) {
  mx::initTool<mx::kExitUpstream>("mx-lsp-server");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mx::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
