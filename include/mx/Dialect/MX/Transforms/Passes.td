//===- Passes.td - Passes on the mx dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_PASSES_TD
#define MX_DIALECT_MX_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MXKeepRoundings : Pass<"mx-keep-roundings"> {
  let summary = "Take back the permission to leave out conversions";
  let description = [{
    `arith-emulate-unsupported-floats` and `math-extend-to-supported-types`
    compute f16 and bf16 in f32 and mark
    the conversions that they make so that a number rounded to the type and
    widened again may become the number as it was. A rounding that the types
    state is never removed: this pass takes the marks away from `arith.extf`
    and `arith.truncf`. It runs before anything folds.
  }];
}

def MXDefineArith : Pass<"mx-define-arith"> {
  let summary = "Give what arith leaves open one meaning on all targets";
  let description = [{
    Writes out, in `arith` itself, what targets would answer each in their own
    way (docs/Spec.md, Arithmetic): `arith.fptosi` and `arith.fptoui` of numbers
    that do not fit, and of NaN; integer divisions by 0, shifts by too much; integers of more than 24 bits as f16 and bf16,
    with one rounding; the bits of NaN, where `arith.bitcast` or the sign that
    `math.copysign` takes would show them. Fast-math flags, which permit one
    target what another does not do, are taken away, and a rounding mode of
    `arith.truncf` other than `to_nearest_even` is an error.

    Runs first, before anything folds, and before `mx-expand-math`, whose own
    bit operations know what they do with NaN.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MXMaterializeLayouts : Pass<"mx-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "Turn layout encodings into explicit physical tensors";
  let description = [{
    Replaces every tensor that has a `#mx.scale_layout` or `#mx.ragged`
    encoding by the physical tensor that the encoding describes, everywhere:
    functions, calls, `scf.for`, `scf.if`, `scf.while`, `arith.select`,
    `tensor.empty`, `tensor.dim` and the mx operations.

    | encoding | physical tensor for a logical `R x C` |
    |---|---|
    | `linear`, `#mx.ragged` | `R x C` |
    | `sf_128x4` | `ceil(R/128) x ceil(C/4) x 32 x 4 x 4` |
    | `sf_128x4`, ragged rows of G groups | `(R/128 + G) x ceil(C/4) x 32 x 4 x 4` |

    It must run before bufferization, which would drop encodings silently and
    give a row-major memref. Any other operation that carries or changes an
    encoding is an error, because on the physical tensor it would mean
    something else.

    `tensor.dim` keeps giving the logical size. Where that is dynamic it is
    taken from the `tensor.empty`, or from the elements that an mx operation
    pairs the scales with; where neither is at hand it is an error.

    Example: with

    ```mlir
    func.func @f(%x: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    ```

    the pass gives

    ```mlir
    func.func @f(%x: tensor<2x4x32x4x4xf8E8M0FNU>)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXFuseEpilogues : Pass<"mx-fuse-epilogues"> {
  let summary = "Finish the results of products where they are computed";
  let description = [{
    Saves reads and writes of the results of `mx.matmul` and
    `mx.grouped_matmul` that one operation uses:

    - an elementwise `linalg` operation becomes the epilogue, or part of it: a
      bias, an activation, router probabilities. Other tensors that it reads are
      read in the region, by `tensor.extract`;
    - one that takes equal parts of the columns of a product of ragged rows
      (`tensor.extract_slice`), as a SwiGLU does of gate and up projection,
      becomes an epilogue of several sums (`num_b`);
    - an `mx.quantize` of such a product along its rows, with the same groups,
      becomes a quantized result, if it has a multiple of 128 columns, to
      elements of 4, 6 or 8 bits with `f8E8M0FNU` scales in layout `sf_128x4`;
      its prologue becomes the epilogue;
    - an `mx.combine` of such a product, with the same groups, becomes its
      `scatter`.

    A product that adds to its `outs` stays; one that has attributes of its own,
    such as a schedule, is not quantized and not made of parts. The results are the same bits for
    the same sums, but for the order in which rows are added, and but for rows
    that belong to no group, which are unspecified.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXFusePrologues : Pass<"mx-fuse-prologues"> {
  let summary = "Compute what is quantized where it is quantized";
  let description = [{
    Saves reads and writes of tensors around `mx.quantize`, step by step:

    - a quantization and an `mx.amax` of the same tensor become a quantization
      with `amax`, unless it depends on the `mx.amax`, is gathered or ragged, or
      has a prologue;
    - two quantizations of the same input (or with the same prologue) along
      different axes become one with both axes;
    - two with one recipe and the same axes become one with several values,
      where the inputs of one are among those of the other, or one elementwise
      operation computes the inputs of both, and the values have no more than
      `value-bits` together;
    - a quantization of tensors that `tensor.concat`, or insertions into an empty
      tensor, put side by side along the last dimension, for nothing else,
      becomes one with `concat`. They are of one static width, a multiple of the
      block;
    - an elementwise `linalg` operation (all loops parallel, results not
      permuted) whose results nothing else uses becomes the prologue, or part
      of it. Its operands of f32, bf16 and f16 with the shape of the input
      become inputs; scalars, rows, columns and tensors of other types are read
      by `tensor.extract`. Its body may hold `arith`, `math` and
      `linalg.index`;
    - an `mx.dequantize` whose result nothing else uses becomes a quantized
      input (`input_scales`), unless there are groups. A `global_scale` becomes
      a product in the prologue where the result is f32; for narrower results,
      which it would round twice, the operation stays.

    The results are the same bits: a value keeps the type, and so the rounding,
    of the tensor that it stood for. Operations on elements of tensors become
    `linalg` by `convert-elementwise-to-linalg`.
  }];
  let options = [
    Option<"valueBits", "value-bits", "int64_t", "0",
           "Bits that an element of all values has at most; 0: any number">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def MXVerifyTensors : Pass<"mx-verify-tensors"> {
  let summary = "Refuse operations on tensors that have no lowering";
  let description = [{
    Names the first operation on tensors that no later pass lowers, while it is
    still what was written, and says what to do instead: operations that do not
    bufferize, and with `on-device` what the host would do with tensors in
    device memory, products of `linalg`, and elementwise operations that became
    part of nothing, with what kept them apart. With `host-reads` the host may read
    elements of whole bytes (`tensor.extract`). It runs after fusion and changes
    nothing.
  }];
  let options = [
    Option<"onDevice", "on-device", "bool", /*default=*/"false",
           "Tensors lie in device memory">,
    Option<"hostReads", "host-reads", "bool", /*default=*/"false",
           "The host can read numbers from device memory">
  ];
}

def MXQuantizeMatmuls : Pass<"mx-quantize-matmuls"> {
  let summary = "Compute matrix products of f32, bf16 and f16 in block formats";
  let description = [{
    Rewrites contractions of tensors with one row, one column and one reduction
    dimension (`linalg.matmul` with any transpositions, `linalg.batch_matmul`,
    `linalg.contract`, `linalg.generic`) to `mx.quantize` of both operands and
    `mx.matmul`, and loops over the groups of a ragged dimension (docs/Linalg.md)
    to one `mx.grouped_matmul`. An operand whose reduction dimension is not its
    last is quantized along the dimension before, which writes it transposed.
    An operand that an operation gathers from the rows of a matrix, by a list of
    their numbers, becomes a `gather`. What `outs` holds is added, unless that is zeros; a result of f32 that is
    only rounded to bf16 or f16 is computed in that type.

    The formats are those of `recipe`, or of `lhs-recipe` and `rhs-recipe`; an
    attribute `mx.recipe` of an operation, a string or an array of two, goes
    before these, and `"none"` leaves the operation as it is:

    | recipe | elements | scales |
    |---|---|---|
    | `mxfp8-e4m3`, `mxfp8-e5m2` | `f8E4M3FN`, `f8E5M2` | `f8E8M0FNU` of 32 |
    | `mxfp6-e2m3`, `mxfp6-e3m2` | `f6E2M3FN`, `f6E3M2FN` | `f8E8M0FNU` of 32 |
    | `mxfp4` | `f4E2M1FN` | `f8E8M0FNU` of 32 |
    | `nvfp4` | `f4E2M1FN` | `f8E4M3FN` of 16, with the factor `global-scale` |

    A product that has no such form stays as it is, with a remark that says why:
    where the reduction dimension is no multiple of what the formats multiply at a
    time, or not known, unless `dynamic-reductions` leaves that to the run.

    Run `cse` and `mx-fuse-prologues` behind it: tensors that are
    quantized several times, or only to be quantized, are then read once, or
    never stored.
  }];
  let options = [
    Option<"recipe", "recipe", "std::string", /*default=*/"\"mxfp8-e4m3\"",
           "Formats of both operands">,
    Option<"lhsRecipe", "lhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the first operand, if others">,
    Option<"rhsRecipe", "rhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the second operand, if others">,
    Option<"scaleRounding", "scale-rounding", "std::string",
           /*default=*/"\"ceil\"", "How maxima become scales: ceil, floor, even">,
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"sf_128x4\"", "Where scales lie: sf_128x4 or linear">,
    Option<"globalScale", "global-scale", "double", /*default=*/"1.0",
           "Factor of tensors before they become NVFP4">,
    Option<"dynamicReductions", "dynamic-reductions", "bool",
           /*default=*/"false",
           "Take reduction dimensions of unknown size for multiples">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mx::MXDialect"];
}

def MXVerifyDims : Pass<"mx-verify-dims"> {
  let summary = "Refuse dimensions that an array does not have";
  let description = [{
    `tensor.dim` and `memref.dim` of a constant dimension beyond the rank have no
    meaning: an error at their location. Pipelines begin so.
  }];
}

def MXDescribeEntries : Pass<"mx-describe-entries", "::mlir::ModuleOp"> {
  let summary = "Keep the types of arguments and results for callers";
  let description = [{
    Writes down the types of the arguments and results of each public function
    as attributes `mx.type`, which lowering keeps: `mx-to-manifest` describes
    functions by them. An attribute `mx.name` of an argument or result gives it
    a name in manifests and headers.
  }];
}

def MXReplacePoison : Pass<"mx-replace-poison"> {
  let summary = "Give tensors that nothing looks at contents";
  let description = [{
    `lift-cf-to-scf` passes `ub.poison` on where a path has no value for what
    another one needs. As a tensor it becomes a `tensor.empty` without elements
    where the type leaves that open, since poison does not bufferize.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXExpandMath : Pass<"mx-expand-math"> {
  let summary = "Compute transcendental functions by IEEE operations";
  let description = [{
    Replaces functions of the math dialect that the IEEE standard does not
    define to the last bit (`exp`, `sin`, `powf`, ...) by a fixed sequence of
    IEEE operations. Run before anything that tells one target from another, it
    makes all of them give the same bits. docs/Math.md has the functions, their
    sequences and their measured errors.

    Functions of f16 and bf16 are computed from f32 and rounded to the type.
    Functions of tensors become `linalg.generic`. What there is no sequence for,
    functions of f64 among it, is refused by name; what every target computes to
    the last bit (`absf`, `fma`, `sqrt`, `floor`, ...) stays.

    Runs before anything that folds, which would compute functions of constants
    by the host's library.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // MX_DIALECT_MX_TRANSFORMS_PASSES_TD
