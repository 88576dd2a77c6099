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
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/ManagedStatic.h"

#ifdef MX_INCLUDE_TESTS
namespace mx::test {
void registerBreakPasses();
void registerTensorCore(mlir::DialectRegistry &registry);
} // namespace mx::test
#endif

// LLVM's release packages leave out what --mlir-pass-statistics prints. Made by
// the main: libmx has the mains of other tools in it.
static llvm::cl::opt<bool> &printStatistics() {
  static llvm::cl::opt<bool> option{
      "mx-statistics", llvm::cl::desc("Print what the passes of mx counted")};
  return option;
}

// MlirOptMain shuts LLVM down, and with it what was counted: in reverse order
// of creation, so that this comes first.
namespace {
struct StatisticsPrinter {
  ~StatisticsPrinter() {
    if (printStatistics())
      llvm::PrintStatistics(llvm::errs());
  }
};
} // namespace
static llvm::ManagedStatic<StatisticsPrinter> statisticsPrinter;

extern "C" int mxOptMain(int argc, char **argv) {
  mx::initTool<mx::kExitUpstream>("mx-opt");
  printStatistics();
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
#ifdef MX_INCLUDE_TESTS
  mx::test::registerTensorCore(registry);
#endif
  // Counting costs nothing; whether to print is known after the options.
  llvm::EnableStatistics(/*DoPrintOnExit=*/false);
  (void)llvm::GetStatistics(); // makes LLVM's list, before the printer
  *statisticsPrinter;
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "mx optimizer driver\n", registry);
  if (!mx::checkInput(input))
    return mx::kExitUpstream;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
