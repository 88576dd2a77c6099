//===- Passes.td - Passes of the CPU reference path --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOCPU_PASSES_TD
#define MX_CONVERSION_MXTOCPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertMXToCPU : Pass<"convert-mx-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Lower bufferized mx operations to loops";
  let description = [{
    Lowers mx operations on memrefs to `scf`, `arith`, `vector` and `memref`.
    This lowering is the reference path. Quantization uses integer arithmetic on
    the bits of f32 values, so flush-to-zero modes and the host's support for
    narrow types cannot change the result. Constant 256-entry tables decode
    elements and scales. `mx.matmul` adds exact f64 products in ascending order
    of k and rounds once. Code that depends only on the format becomes a private
    function `@__mx_...`.

    Elements narrower than a byte are stored in bytes, also in function
    signatures. An `i8` contains two `f4E2M1FN` elements, the first in the low
    nibble, so the last dimension is halved. An `i8` contains an `f6E3M2FN` or
    `f6E2M3FN` element.

    Dynamic sizes are compared at run time. On a mismatch the program prints
    `LOCATION: error: expected ..., found ...` to the standard error stream and
    calls `exit(2)`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MXCheckAccesses : Pass<"mx-check-accesses", "::mlir::ModuleOp"> {
  let summary = "Check array accesses at run time";
  let description = [{
    Checks that loads, stores, slices and linalg operations stay within array
    bounds (MLIR's RuntimeVerifiableOpInterface) and that reshapes preserve the
    number of elements. If a check, a `cf.assert` or an `mxgpu.require` fails,
    the program prints one line with the location to the standard error stream
    and calls `exit(2)`. Run this pass before operations become loops, because
    loop indices need no checks.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MXCheckLoops : Pass<"mx-check-loops", "::mlir::ModuleOp"> {
  let summary = "Check loop steps at run time";
  let description = [{
    If the step of an scf loop is below 1 at run time, the program prints
    `LOCATION: error: expected a loop with a step of at least 1, found 0` to the
    standard error stream and calls `exit(2)`. Otherwise the loop would not
    terminate.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

def MXCheckAllocations : Pass<"mx-check-allocations", "::mlir::ModuleOp"> {
  let summary = "Check allocations at run time";
  let description = [{
    If the size of a `memref.alloc` exceeds the address space, or `malloc`
    fails, the program prints `LOCATION: error: expected memory for an array of
    1048576x1048576xf32, found less` to the standard error stream and calls
    `exit(2)`. Negative dimensions have a separate message. If the static
    extents alone are too large, the pass reports an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

def MXExpandHalfConversions
    : Pass<"mx-expand-half-conversions", "::mlir::ModuleOp"> {
  let summary = "Expand f16 and bf16 conversions to integer arithmetic";
  let description = [{
    Rewrites `arith.extf` and `arith.truncf` between f16 or bf16 and f32 or f64,
    also on vectors. On hosts without conversion instructions, LLVM would call
    library functions. Each conversion rounds once, to nearest even. A NaN
    becomes 0x7FFF, except that a shift widens bf16.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def MXExpandHostArith : Pass<"mx-expand-host-arith", "::mlir::ModuleOp"> {
  let summary = "Expand operations that LLVM lowers differently on hosts";
  let description = [{
    Rewrites `arith` minima and maxima as comparisons, f16 and bf16 `math.fma`
    as f64 arithmetic with one rounding, and f16 and bf16 `arith.select` as a
    select of bits. Otherwise LLVM's host code could return a zero of the wrong
    sign, round twice, call a missing function, or flush subnormals.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MXExpandStridedCopies : Pass<"mx-expand-strided-copies"> {
  let summary = "Expand copies of non-contiguous arrays to loops";
  let description = [{
    Rewrites `memref.copy` of arrays without the identity layout. Their LLVM
    lowering would call MLIR's runner library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def MXExpandReshapes : Pass<"mx-expand-reshapes"> {
  let summary = "Expand reshapes to several dynamic sizes";
  let description = [{
    Rewrites `memref.expand_shape` as `memref.reinterpret_cast` if a dimension
    is expanded to several dynamic dimensions, or to a dynamic dimension and a
    size of 0. MLIR's `expand-strided-metadata`, which runs later, cannot lower
    these.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def MXRequestEntryWrappers : Pass<"mx-request-entry-wrappers", "::mlir::ModuleOp"> {
  let summary = "Request C interfaces of public functions";
  let description = [{
    Sets `llvm.emit_c_interface` on public `func.func` definitions, so that the
    function `f` can be called as `_mlir_ciface_f` with pointers to memref
    descriptors. Declarations refer to external functions and are not changed.
  }];
}

def MXVerifyLowered : Pass<"mx-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Reject operations outside the LLVM dialect";
  let description = [{
    The dialect conversions of a pipeline are partial and skip unknown
    operations without an error. This pass reports each operation outside the
    LLVM dialect as an error.
  }];
}

#endif // MX_CONVERSION_MXTOCPU_PASSES_TD
