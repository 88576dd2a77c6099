//===- Passes.td - Passes of the CPU reference path --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOCPU_PASSES_TD
#define MX_CONVERSION_MXTOCPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertMXToCPU : Pass<"convert-mx-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Lower bufferized mx operations to loops";
  let description = [{
    Lowers mx operations on memrefs to `scf`, `arith`, `vector` and `memref`:
    the reference path. Quantization works on the bits of f32 values, so the
    result depends neither on a flush-to-zero mode nor on the host's support for
    narrow types; elements and scales are decoded through constant 256-entry
    tables; `mx.matmul` adds exact f64 products in ascending order of k and
    rounds once. Code that depends only on the number format becomes a private
    function `@__mx_...`.

    Elements narrower than a byte get a storage type, in function signatures
    too: `f4E2M1FN` becomes `i8` with two elements, the lower one in the low
    nibble, and half as many in the last dimension; `f6E3M2FN` and `f6E2M3FN`
    become one `i8` each.

    Dynamic sizes are compared at run time. If they do not match, the program
    prints `LOCATION: error: expected ..., found ...` to the standard
    error stream and calls `exit(2)`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MXCheckAccesses : Pass<"mx-check-accesses", "::mlir::ModuleOp"> {
  let summary = "End the program if an access is outside an array";
  let description = [{
    Checks at run time, before loads, stores, slices and linalg operations on
    arrays, that the accesses are in bounds (MLIR's
    RuntimeVerifiableOpInterface), and that dimensions that are reshaped have as
    many elements as the sizes that they become. If that is not so, or if a
    `cf.assert` or an `mxgpu.require` does not hold, the program prints one line with the location to the standard error
    stream and calls `exit(2)`. It runs before operations become loops, whose
    indices need no checks.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MXCheckLoops : Pass<"mx-check-loops", "::mlir::ModuleOp"> {
  let summary = "End the program if a loop does not count upwards";
  let description = [{
    A loop of scf whose step is below 1 at run time prints `LOCATION: error:
    expected a loop with a step of at least 1, found 0` to the standard error
    stream and calls `exit(2)`; it would not end otherwise.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

def MXCheckAllocations : Pass<"mx-check-allocations", "::mlir::ModuleOp"> {
  let summary = "End the program if there is no memory for an array";
  let description = [{
    `memref.alloc` of an array whose size does not fit into an address space, or
    for which `malloc` has no memory, prints `LOCATION: error: expected memory
    for an array of 1048576x1048576xf32, found less` to the standard error
    stream and calls `exit(2)`; a dimension below 0 has a message of its own. If the static extents alone are already too
    large, the pass reports an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

def MXExpandHalfConversions
    : Pass<"mx-expand-half-conversions", "::mlir::ModuleOp"> {
  let summary = "Expand f16 and bf16 conversions to integer arithmetic";
  let description = [{
    Rewrites `arith.extf` and `arith.truncf` between f16 or bf16 and f32 or f64,
    and vectors of these, which become library calls on hosts without such
    instructions. Each rounds once, to nearest even; a NaN becomes 0x7FFF, except
    that bf16 widens by a shift.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def MXExpandHostArith : Pass<"mx-expand-host-arith", "::mlir::ModuleOp"> {
  let summary = "Expand operations that a host computes differently from a GPU";
  let description = [{
    Rewrites minima and maxima of `arith` as comparisons, `math.fma` of f16 and
    bf16 in f64, with one rounding, and `arith.select` of f16 and bf16 as a
    select of their bits. LLVM's code for a host would return the other zero,
    round twice, call a missing function, or lose subnormals.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MXExpandStridedCopies : Pass<"mx-expand-strided-copies"> {
  let summary = "Turn copies of non-contiguous arrays into loops";
  let description = [{
    Rewrites `memref.copy` if an array does not have the identity layout. Its
    LLVM lowering would call a function of MLIR's runner library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def MXExpandReshapes : Pass<"mx-expand-reshapes"> {
  let summary = "Give reshapes to several dynamic sizes the sizes that they name";
  let description = [{
    Rewrites `memref.expand_shape` as `memref.reinterpret_cast` if a dimension
    becomes several of dynamic size, or one beside a size of 0, for which
    MLIR's `expand-strided-metadata` has no lowering. It runs before that pass.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def MXRequestEntryWrappers : Pass<"mx-request-entry-wrappers", "::mlir::ModuleOp"> {
  let summary = "Give every public function definition a C interface";
  let description = [{
    Sets `llvm.emit_c_interface` on public `func.func` definitions, so that the
    function `f` can be called as `_mlir_ciface_f` with pointers to memref
    descriptors. Declarations are not changed: they refer to external functions.
  }];
}

def MXVerifyLowered : Pass<"mx-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Fail if an operation outside the LLVM dialect is left";
  let description = [{
    The dialect conversions of a pipeline are partial and silently skip
    operations that they do not know. This pass ends such a pipeline: every
    operation that is not in the LLVM dialect is an error at its location.
  }];
}

#endif // MX_CONVERSION_MXTOCPU_PASSES_TD
