//===- downstream.cpp - A user of the installed libraries -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses mx IR from a file, runs the canonicalizer, inspects an operation
// through its C++ class and prints the module.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/InitAll.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  mx::registerAllDialects(registry);
  mx::registerAllPasses();

  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createCanonicalizerPass());
  if (mlir::failed(passes.run(*module)))
    return 1;
  module->walk([](mx::QuantizeOp op) {
    llvm::outs() << "block size " << op.getBlockSize() << "\n";
  });
  module->print(llvm::outs());
  return 0;
}
