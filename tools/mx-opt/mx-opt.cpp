//===- mx-opt.cpp - The mx optimizer driver -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/InitAll.h"

#ifdef MX_INCLUDE_TESTS
namespace mx::test {
void registerBreakPasses();
} // namespace mx::test
#endif

int main(int argc, char **argv) {
  mx::initTool<mx::kExitUpstream>("mx-opt");
  mlir::registerAllPasses();
  mx::registerAllPasses();
  mx::mxgpu::registerExplainOption();
#ifdef MX_INCLUDE_TESTS
  mx::test::registerBreakPasses();
#endif
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry); // mx-host-to-llvm
  mx::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mx optimizer driver\n", registry));
}
