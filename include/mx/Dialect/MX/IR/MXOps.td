//===- MXOps.td - All operations of the mx dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXOPS_TD
#define MX_DIALECT_MX_IR_MXOPS_TD

include "mx/Dialect/MX/IR/MXQuantizeOps.td"
include "mx/Dialect/MX/IR/MXMatmulOps.td"
include "mx/Dialect/MX/IR/MXRankOps.td"

#endif // MX_DIALECT_MX_IR_MXOPS_TD
