//===- mx-translate.cpp - Translations from and to MLIR -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the translations of mx and of upstream MLIR (LLVM IR, C++, SPIR-V,
// ...).
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mlir/InitAllTranslations.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mx/Translation/ToManifest.h"
#include "mx/Translation/ToPTX.h"

extern "C" int mxTranslateMain(int argc, char **argv) {
  mx::initTool<mx::kExitUpstream>("mx-translate");
  if (!mx::checkInputWords(argc, argv))
    return mx::kExitUpstream;
  mlir::registerAllTranslations();
  mx::registerToManifestTranslation();
  mx::registerToPTXTranslation();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "mx translation driver\n"));
}
