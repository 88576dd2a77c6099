//===- MXGPUOrders.td - Memory orders of operands ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory orders of matmul operands, defined by the strategies that read them.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUORDERS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUORDERS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mx/Dialect/MXGPU/IR/MXGPUDialect.td"
include "mx/Dialect/Shared/OperandOrder.td"

class MXGPU_OrderAttr<string name, string order, dag fields = (ins)>
    : AttrDef<MXGPU_Dialect, name, [VerifiableTensorEncoding,
        DeclareAttrInterfaceMethods<MX_OperandOrderAttrInterface>]> {
  let mnemonic = order;
  let parameters = fields;
}

def MXGPU_Fragment64x64Attr
    : MXGPU_OrderAttr<"Fragment64x64", "fragment_64x64"> {
  let summary = "weights in the order of wgmma's register fragments of A";
  let description = [{
    Weights in tiles of 64 rows by 64 columns. Each tile is stored in the order
    in which the 128 threads of a warpgroup hold a tile of A in their registers
    (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", A), except that
    the two rows of a thread are adjacent. The 32 elements of thread t are
    contiguous. Element e of thread t in tile `(i, j)` is

    row `64 i + 16 (t / 32) + 2 (t % 32 / 4) + e / 2 % 2`,
    column `64 j + 2 (t % 4) + e % 2 + 8 (e / 4 % 2) + 16 (e / 8)`.

    The stored shape is `[batch...] x ceil(N/64) x ceil(K/64) x 128 x 32`.
    Strategies that dequantize B support this order if A is unscaled.
  }];
}

def MXGPU_KOrderAttr : MXGPU_OrderAttr<"KOrder", "k_order",
    (ins "int64_t":$block)> {
  let summary = "bf16 values with the reduction permuted to match wgmma fragments";
  let description = [{
    Permutes each block of 64 columns, or of 32 if the reduction is not a
    multiple of 64, so that a `wgmma` thread multiplies adjacent elements of the
    other operand. For t < 4 and h, j < 2, column `16 t + 4 s + 2 h + j` of a
    block of 64, or `8 t + 4 s + 2 h + j` of a block of 32, is stored as column
    `16 s + 8 h + 2 t + j`.

    `#mxgpu.wgmma_swap_ab<permuted_a = true>` reads A in this order, and
    `#mxgpu.wgmma_upcast_a<permuted_b = true>` reads B.

    Example: `#mxgpu.k_order<64>`.
  }];
  let assemblyFormat = "`<` $block `>`";
  let genVerifyDecl = 1;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUORDERS_TD
