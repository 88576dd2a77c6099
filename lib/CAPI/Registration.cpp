//===- Registration.cpp - Dialects and passes for users in C --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Only headers of MLIR's C API are used: its archives are compiled so that what
// they share with libMLIR stays hidden, and linked beside our code they would
// hide it here too.
//
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
  // First by libMLIR's code: who asks first names a trait, g++ and clang name
  // it differently, and MLIR's C API, where a program has it, knows libMLIR's
  // name.
  (void)SymbolTable::getNearestSymbolTable(*module);
  // Then by the copy that our code uses.
  return (*module)->hasTrait<OpTrait::SymbolTable>();
}

void mxcRegisterAllDialects(MlirDialectRegistry registry) {
  mx::registerAllDialects(*unwrap(registry));
}

void mxcRegisterEverything(MlirDialectRegistry registry) {
  mx::capi::registerEverything(*unwrap(registry));
}

void mxcRegisterAllPasses() { registerOwnPassesOnce(); }
