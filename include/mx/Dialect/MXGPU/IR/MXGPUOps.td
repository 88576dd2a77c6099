//===- MXGPUOps.td - All operations of the mxgpu dialect ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUKernelOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUPipelineOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUFragmentOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUFragmentViewOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUOperandOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUQuantizeOps.td"
include "mx/Dialect/MXGPU/IR/MXGPUHostOps.td"

#endif // MX_DIALECT_MXGPU_IR_MXGPUOPS_TD
