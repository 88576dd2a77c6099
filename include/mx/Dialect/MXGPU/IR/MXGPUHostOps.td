//===- MXGPUHostOps.td - Host-side operations --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUHOSTOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUHOSTOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Host side
//===----------------------------------------------------------------------===//

def MXGPU_EncodeTensorMapOp : MXGPU_Op<"encode_tensor_map", [Pure]> {
  let summary = "create a tensor map of a memref";
  let description = [{
    Dimensions and strides are taken from the memref, which must be contiguous
    in its last dimension. 4- and 6-bit elements are passed as packed bytes
    (i8). Kernels never use the map of an empty tensor. `l2_promotion` is the
    size of fetches into the L2 cache, b256 by default.

    Example:

    ```mlir
    %map = mxgpu.encode_tensor_map %x l2_promotion = b64
        : memref<?x?xbf16> -> !mxgpu.tensor_map<64x64xbf16, sw128>
    ```
  }];
  let arguments = (ins AnyMemRef:$source,
    DefaultValuedAttr<MXGPU_L2PromotionAttr,
                      "::mx::mxgpu::L2Promotion::B256">:$l2_promotion);
  let results = (outs MXGPU_TensorMapType:$result);
  let assemblyFormat = [{
    $source (`l2_promotion` `=` $l2_promotion^)? attr-dict
    `:` type($source) `->` type($result)
  }];
}

def MXGPU_SmCountOp : MXGPU_Op<"sm_count", [Pure]> {
  let summary = "return the number of streaming multiprocessors of the device";
  let description = [{
    Used on the host to size a grid. Upstream offers only the special register
    `nvvm.read.ptx.sreg.nsmid`, which is read in kernels.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 0;
}

def MXGPU_RequireOp : MXGPU_Op<"require", [MemoryEffects<[MemWrite]>]> {
  let summary = "report an error at run time unless a condition holds";
  let description = [{
    `message` is a printf format with a `%lld` for each of `values`. After an
    error the runtime launches no kernels until the error is cleared.
    `mxGetLastError` returns the message with its location. `cf.assert` does not
    fit: it aborts with a fixed message, but callers of a library must be able
    to continue. Canonicalization keeps the first of several checks of a
    condition.

    Example:

    ```mlir
    mxgpu.require %same, "expected %lld rows, found %lld" (%m, %n)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message,
                       Variadic<Index>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)`)? attr-dict";
  let hasCanonicalizeMethod = 1;
}

def MXGPU_LaunchOp : MXGPU_Op<"launch", [
    MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launch a kernel on a grid of CTAs";
  let description = [{
    An empty grid launches nothing. Block size and shared memory follow from the
    kernel. `convert-mxgpu-host-to-gpu` lowers the op to `gpu.launch_func`,
    which takes both as operands and takes flat parameters instead of memrefs.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$grid,
                       Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
  let hasVerifier = 0;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUHOSTOPS_TD
