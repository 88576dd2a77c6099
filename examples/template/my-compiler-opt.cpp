//===- my-compiler-opt.cpp - The driver -----------------------------------===//

#include "Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mx/InitAll.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mx::registerAllPasses();
  my::registerMyPasses();
  my::registerMyPipelines();

  // These calls also register the interface models of upstream dialects that
  // the lowerings of mx need, such as bufferization, tiling and inlining.
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mx::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "my compiler\n", registry));
}
