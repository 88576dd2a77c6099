//===- InitAll.cpp - Registration of dialects and passes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/InitAll.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/Linalg/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/MemRef/Transforms/RuntimeOpVerification.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Conversion/MXGPUToPlan/MXGPUToPlan.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/MXBar/IR/MXBar.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "mx/Pipelines/Pipelines.h"

static std::vector<mx::RegisterDialects> &getAddedDialects() {
  static std::vector<mx::RegisterDialects> added;
  return added;
}

void mx::addDialects(RegisterDialects registerDialects) {
  getAddedDialects().push_back(registerDialects);
}

void mx::registerAllDialects(mlir::DialectRegistry &registry) {
  for (RegisterDialects registerDialects : getAddedDialects())
    registerDialects(registry);
  registry.insert<mx::MXDialect, mx::mxgpu::MXGPUDialect,
                  mx::mxbar::MXBarDialect, mx::mxplan::MXPlanDialect>();
  mx::registerTilingInterfaceExternalModels(registry);
  mx::registerBufferizableOpInterfaceExternalModels(registry);
  // mx-check-accesses uses these interfaces to generate checks.
  mlir::linalg::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  mlir::memref::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  // convert-to-llvm uses these interfaces to lower the dialects in kernels.
  mlir::arith::registerConvertArithToLLVMInterface(registry);
  mlir::cf::registerConvertControlFlowToLLVMInterface(registry);
  mlir::registerConvertMemRefToLLVMInterface(registry);
  mlir::registerConvertNVVMToLLVMInterface(registry);
  mx::mxgpu::registerConvertFloatsToLLVMInterface(registry);
}

void mx::registerAllPasses() {
  mx::registerMXPasses();
  mx::registerMXToCPUPasses();
  mx::mxgpu::registerMXGPUPasses();
  mx::mxgpu::registerMXToMXGPUPasses();
  mx::mxgpu::registerMXGPUToNVVMPasses();
  mx::mxgpu::registerMXGPUToPlanPasses();
  mx::registerMXPipelines();
}
