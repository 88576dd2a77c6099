//===- Registration.cpp - Registration for users of MLIR's C API ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only uses headers of MLIR's C API. The archives hide symbols shared with
// libMLIR, and linking them here would hide these symbols for mx, too.
//===----------------------------------------------------------------------===//

#include "mx-c/Registration.h"
#include "Handles.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXBar/IR/MXBar.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "mx/InitAll.h"
#include <mutex>

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MX, mx, mx::MXDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MXGPU, mxgpu, mx::mxgpu::MXGPUDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MXBar, mxbar, mx::mxbar::MXBarDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MXPlan, mxplan, mx::mxplan::MXPlanDialect)

void mx::capi::registerEverything(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry); // mx-host-to-llvm
  mx::registerAllDialects(registry);
}

static void registerOwnPassesOnce() {
  static std::once_flag once;
  std::call_once(once, [] { mx::registerAllPasses(); });
}

void mx::capi::registerPassesOnce() {
  static std::once_flag once;
  std::call_once(once, [] { mlir::registerAllPasses(); });
  registerOwnPassesOnce();
}

bool mx::capi::sharesTypesWithMLIR(MLIRContext &context) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  // First through libMLIR: the first use names a trait, g++ and clang use
  // different names, and MLIR's C API uses libMLIR's.
  (void)SymbolTable::getNearestSymbolTable(*module);
  // Then through the copy in this library.
  return (*module)->hasTrait<OpTrait::SymbolTable>();
}

void mxcRegisterAllDialects(MlirDialectRegistry registry) {
  mx::registerAllDialects(*unwrap(registry));
}

void mxcRegisterEverything(MlirDialectRegistry registry) {
  mx::capi::registerEverything(*unwrap(registry));
}

void mxcRegisterAllPasses() { registerOwnPassesOnce(); }
