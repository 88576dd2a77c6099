//===- Registration.cpp - Registration for users of MLIR's C API ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses only headers of MLIR's C API, because linking its archives here would
// hide symbols that mx shares with libMLIR.
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
  // Query the trait through libMLIR first, because the first use determines the
  // trait's type name. g++ and clang generate different names, and MLIR's C API
  // uses the names of libMLIR.
  (void)SymbolTable::getNearestSymbolTable(*module);
  // Query the trait again through the copy of MLIR in this library.
  return (*module)->hasTrait<OpTrait::SymbolTable>();
}

void mxcRegisterAllDialects(MlirDialectRegistry registry) {
  mx::registerAllDialects(*unwrap(registry));
}

void mxcRegisterEverything(MlirDialectRegistry registry) {
  mx::capi::registerEverything(*unwrap(registry));
}

void mxcRegisterAllPasses() { registerOwnPassesOnce(); }
