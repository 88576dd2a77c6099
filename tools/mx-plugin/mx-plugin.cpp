//===- mx-plugin.cpp - mx as a plugin of mlir-opt -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the dialects, passes and pipelines of mx to a program built without
// them. mlir-opt defines its flags before it loads plugins, so passes
// are available only through --pass-pipeline.
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/InitAll.h"
#include "mx/Support/Version.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/raw_ostream.h"

/// Exits with a message if mx is already registered. MLIR would abort because
/// of the duplicate passes or dialects, with an obscure message.
static void refuseIf(bool isRegistered) {
  if (!isRegistered)
    return;
  llvm::errs() << "error: this program already contains the passes or dialects "
                  "of mx and cannot load them again as a plugin: omit the "
                  "option for this library\n";
  exit(1);
}

/// Registers the passes once, because several plugin options may name this
/// library.
static void registerPassesOnce() {
  static bool registered = [] {
    refuseIf(mlir::PassInfo::lookup("mx-quantize-matmuls"));
    mx::registerAllPasses();
    return true;
  }();
  (void)registered;
}

/// Returns true if `registry` contains the mx dialect from another copy of this
/// library.
static bool hasForeignDialect(mlir::DialectRegistry *registry) {
  auto allocate = registry->getDialectAllocator("mx");
  if (!allocate)
    return false;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return allocate(&context)->getTypeID() != mlir::TypeID::get<mx::MXDialect>();
}

static void registerAll(mlir::DialectRegistry *registry) {
  refuseIf(hasForeignDialect(registry));
  mx::registerAllDialects(*registry);
  registerPassesOnce();
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "mx", mx::getVersion(), registerAll};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "mx", mx::getVersion(), registerPassesOnce};
}
