//===- mx-plugin.cpp - mx as a plugin of stock mlir-opt -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Brings the dialects, passes and pipelines of mx into a program that was built
// without them. mlir-opt fixes its command-line flags before it loads plugins,
// so the passes are reached through --pass-pipeline and not as flags.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mx/InitAll.h"
#include "mx/Support/Version.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/raw_ostream.h"

/// Both plugin options may name this library: the passes are registered once.
static void registerPassesOnce() {
  static bool registered = [] {
    mx::registerAllPasses();
    return true;
  }();
  (void)registered;
}

static void registerAll(mlir::DialectRegistry *registry) {
  // A second copy of a dialect would abort in MLIR with words about namespaces.
  if (registry->getDialectAllocator("mx")) {
    llvm::errs()
        << "error: this program has the mx dialect built in and cannot "
           "load it again as a plugin\n";
    exit(1);
  }
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
