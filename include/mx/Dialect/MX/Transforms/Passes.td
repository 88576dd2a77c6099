//===- Passes.td - Passes on the mx dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_PASSES_TD
#define MX_DIALECT_MX_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MXKeepRoundings : Pass<"mx-keep-roundings"> {
  let summary = "Keep the roundings of expanded float operations";
  let description = [{
    `arith-emulate-unsupported-floats` and `math-extend-to-supported-types`
    compute f16 and bf16 in f32 and mark the conversions that they insert with
    fast-math flags, which permit later folding to drop a rounding before a
    widening. This pass removes the flags from `arith.extf` and `arith.truncf`,
    so that results are rounded as their types state. Run it before any folding.
  }];
}

def MXDecomposeTensors : Pass<"mx-decompose-tensors"> {
  let summary = "Decompose operations on tensors into linalg";
  let description = [{
    Calls upstream's decompositions, so that later passes only handle `mx`,
    `tensor`, and `linalg` operations with loops:

    - operations of `arith` and `math` on tensors become `linalg.generic`, as in
      `convert-elementwise-to-linalg`, but with a new `outs` tensor instead of
      an operand;
    - `linalg.softmax` and other operations with a decomposition, `linalg.pack`
      and `linalg.unpack` are decomposed;
    - a splat constant that a `linalg.generic` reads becomes a scalar; with
      `on-device` other splat constants become a `linalg.fill`.

    Bodies of named `linalg` operations get the location of their operation. The
    pass runs first, before `mx-define-arith`, so that scalar functions return
    the same bits on all targets and can be fused into matmuls and
    quantizations.
  }];
  let options = [
    Option<"onDevice", "on-device", "bool", /*default=*/"false",
           "Tensors are in device memory">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def MXDefineArith : Pass<"mx-define-arith"> {
  let summary = "Define results that arith leaves open";
  let description = [{
    Expands cases in which targets return different results into other `arith`
    operations (docs/reference/Math.md, Arithmetic): `arith.fptosi` and
    `arith.fptoui` of NaN and of values out of range; integer division by 0 and
    shifts by at least the bit width; conversions of integers wider than 24 bits
    to f16 and bf16, which must round once; and the bits of NaN, if
    `arith.bitcast` or the sign operand of `math.copysign` exposes these bits.
    Removes fast-math flags, because targets use the flags differently. Rounding
    modes of `arith.truncf` other than `to_nearest_even` are an error.

    Run it before any folding, and before `mx-expand-math`, which inserts bit
    operations that handle NaN.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MXDecomposeGroups : Pass<"mx-decompose-groups", "::mlir::ModuleOp"> {
  let summary = "Decompose operations on rank groups into collectives";
  let description = [{
    Rewrites the operations that name an [`mx.group`](MX.md):

    - `mx.dispatch` becomes an `mx.all_gather` of each payload and of the ids,
      if their windows have uses. The ids are padded with -1 to the maximum
      number of tokens per rank. With `in-windows`, a quantizer of a payload
      stores its result in this rank's rows of the window;
    - `mx.collect` becomes an `mx.combine order = fixed overwrite`, which adds
      this rank's rows of each token, an `mx.all_to_all` of these partial sums,
      and an `mx.combine order = fixed` of the partial sums from all ranks that
      own experts of a token. For `parts`, the steps before the last are done
      part by part, each after the part of the matmul that it needs. By default,
      the number of parts minimizes, for `chip`, the time of one part on the
      wire plus, for each part, the latency of a collective and the tail of a
      matmul. A rank group with a single rank, and an unknown chip, get one
      part;
    - `mx.collect_pairs` is rewritten in the same way, but selects rows instead
      of adding them.

    All ranks must execute each collective the same number of times. In a
    branch, or in a loop with non-constant bounds, a collective or a call to a
    function with collectives is an error.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"",
           "GPU for which the number of parts is selected">,
    Option<"inWindows", "in-windows", "bool", /*default=*/"false",
           "let quantizers store their results in windows">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def MXGroupBatches : Pass<"mx-group-batches"> {
  let summary = "Rewrite batched matmuls as masked grouped matmuls";
  let description = [{
    Rewrites a rank-3 `mx.matmul` on tensors as an
    `mx.grouped_matmul ragged = rows masked`, for which kernels exist. Every
    batch uses all its rows. Scales in `sf_128x4`, results and epilogues do not
    change. The offsets operand contains the number of rows of each matrix, as a
    constant or, for dynamic sizes, as the result of a `linalg.fill`:

    ```mlir
    %n = arith.constant dense<96> : tensor<8xi32>
    %y = mx.grouped_matmul ragged = rows masked ins(...) offsets(%n : tensor<8xi32>) ...
    ```

    For higher ranks, the batch dimensions are collapsed first
    (`tensor.collapse_shape`), if all operands have these dimensions and at most
    one of them is dynamic.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def MXTileScales : Pass<"mx-tile-scales"> {
  let summary = "Convert matmul scales to the tensor core layout";
  let description = [{
    Converts `linear` scales of an `mx.matmul`, or of the matrices of an
    `mx.grouped_matmul`, to layout `sf_128x4`. If an `mx.fused_quantize` in the
    same function writes these scales into a `tensor.empty` and only matmuls
    read the scales, the quantization writes tiles directly. For other scales
    the pass inserts an `mx.relayout`. Scales of expert groups do not change.

    The tiled type does not contain the number of rows and blocks. Therefore the
    pass inserts an `mxgpu.require` that compares dynamic sizes of scales and
    elements, with the same message as on the CPU path.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXMaterializeLayouts : Pass<"mx-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "Replace layout encodings by physical tensors";
  let description = [{
    Tensors may have a `#mx.scale_layout`, `#mx.ragged` or an operand order as
    their encoding. The pass replaces each such tensor by the physical tensor
    that the encoding describes. Converts functions, calls, `scf.for`, `scf.if`,
    `scf.while`, `arith.select`, `tensor.empty`, `tensor.dim` and the mx
    operations.

    | encoding | physical tensor for a logical `R x C` |
    |---|---|
    | `linear`, `#mx.ragged` | `R x C` |
    | `sf_128x4` | `ceil(R/128) x ceil(C/4) x 32 x 4 x 4` |
    | `sf_128x4`, ragged rows of G expert groups | `(R/128 + G) x ceil(C/4) x 32 x 4 x 4` |
    | an operand order that stores r x c tiles in shape S | `ceil(R/r) x ceil(C/c) x S`, or `R x C` if tiles stay in place |

    An attribute of the operation then specifies the order of an operand.

    Run it before bufferization, which silently drops encodings and creates a
    row-major memref. Any other operation on an encoded tensor is an error,
    because its meaning would change on the physical tensor.

    `tensor.dim` still returns the logical size. Dynamic sizes are those of the
    `tensor.empty` that creates the tensor. Otherwise, the sizes of an mx
    operation's scales are derived from the elements, and the sizes of packed
    weights from their source or from the other operand. If the pass finds no
    source, it reports an error.

    Example: the pass rewrites

    ```mlir
    func.func @f(%x: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    ```

    to

    ```mlir
    func.func @f(%x: tensor<2x4x32x4x4xf8E8M0FNU>)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXGeneralizeQuantize : Pass<"mx-generalize-quantize"> {
  let summary = "Generalize mx.quantize and mx.fold to mx.fused_quantize";
  let description = [{
    Fusion, the CPU path and kernels work on `mx.fused_quantize`, as upstream's
    fusion works on `linalg.generic`. All pipelines run this pass first;
    `mx-fuse-prologues`, `convert-mx-to-cpu` and `convert-mx-to-mxgpu` also
    convert `mx.quantize`. `mx.fold` becomes an `mx.dequantize` to f32 and an
    `mx.fused_quantize` with wider blocks.

    If only quantizations read gathered rows, the list of row indices becomes
    their `gather` operand. The gather must be a `linalg.generic` that yields
    zeros if an index i is out of range:

    ```mlir
    %row = arith.index_cast %i : i32 to index
    %column = linalg.index 1 : index
    %exists = arith.cmpi ult, %row, %rows : index
    %value = tensor.extract %x[%row, %column] : tensor<?x512xbf16>
    %element = arith.select %exists, %value, %zero : bf16
    linalg.yield %element : bf16
    ```
  }];
}

def MXFuseEpilogues : Pass<"mx-fuse-epilogues"> {
  let summary = "Fuse operations on the results of matmuls into their epilogues";
  let description = [{
    Fuses single users of the results of `mx.matmul` and `mx.grouped_matmul`:

    - an elementwise `linalg` operation, such as a bias, an activation or router
      probabilities, becomes the epilogue or part of it. The region reads other
      operands by `tensor.extract`;
    - an elementwise operation on equal column slices (`tensor.extract_slice`)
      of a matmul with ragged rows, such as a SwiGLU on gate and up projection,
      becomes an epilogue with several accumulators (`num_b`);
    - an `mx.fused_quantize` of such a matmul's result along the rows, with the
      same expert groups, becomes a quantized result, and the prologue becomes
      the epilogue. The number of columns must be a multiple of 128, and the
      result must have 4-, 6- or 8-bit elements with `f8E8M0FNU` scales in
      layout `sf_128x4`;
    - an `mx.combine` of such a matmul's result, with the same expert groups and
      `order = any`, becomes the `scatter` of the matmul.

    Matmuls that accumulate into their `outs` are not changed. Matmuls with
    additional attributes, such as a schedule, get no quantized result and no
    `num_b`. The results have the same bits for the same accumulators, except
    for the order in which `scatter` adds rows, and for rows outside all expert
    groups, which are unspecified.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXFusePrologues : Pass<"mx-fuse-prologues"> {
  let summary = "Fuse producers into mx.fused_quantize";
  let description = [{
    Applies these fusions to `mx.fused_quantize`:

    - a quantization and an `mx.amax` of the same tensor become a quantization
      with `amax`, unless the quantization depends on the `mx.amax`, is gathered
      or ragged, or has a prologue;
    - two quantizations of the same input (or with the same prologue) along
      different axes become a single quantization along both axes;
    - two quantizations with the same recipe and axes become a single
      quantization with several values, if the inputs of one are a subset of the
      other's inputs, or one elementwise operation computes the inputs of both.
      The bits per element, added over all values, must not exceed `value-bits`;
    - a quantization of a concatenation along the last dimension
      (`tensor.concat`, or insertions into an empty tensor) without other users
      becomes a quantization with `concat`. The tensors must have the same
      static width, a multiple of the block and of `concat-multiple`;
    - an elementwise `linalg` operation (all loops parallel, results not
      permuted) without other users becomes the prologue, or part of it.
      Operands of f32, bf16 and f16 with the shape of the input become inputs;
      scalars, rows, columns and tensors of other types are read by
      `tensor.extract`. The body may contain `arith`, `math` and `linalg.index`;
    - an `mx.dequantize` without other users becomes a quantized input
      (`input_scales`), unless its elements are folded, expert groups divide
      them, or expert groups divide the reduction of the quantization. A
      `global_scale` becomes a multiplication in the prologue if the result is
      f32. A narrower result would be rounded twice and is not fused.

    Batched quantizations get no prologue, because the region cannot read the
    batch index. The results have the same bits: a value keeps the type, and so
    the rounding, of the tensor that it replaces. Run
    `convert-elementwise-to-linalg` first to convert elementwise operations on
    tensors to `linalg`.
  }];
  let options = [
    Option<"valueBits", "value-bits", "int64_t", "0",
           "Maximum number of bits per element over all values; 0: no limit">,
    Option<"concatMultiple", "concat-multiple", "int64_t", "1",
           "Required divisor of the width of concatenated values">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def MXFuseFakeQuantize : Pass<"mx-fuse-fake-quantize"> {
  let summary = "Fuse mx.dequantize into the quantization that it reads";
  let description = [{
    If an `mx.dequantize` is the only user of elements and scales, the
    `mx.fused_quantize` writes dequantized values instead (fake quantization, or
    QDQ), to a `dequantized` destination. Destinations are fused independently.
    The program contains these operations, or `mx-dequantize-operands` inserts
    them for a matmul with a schedule for bf16 operands.

    Both operations must be in the same block and have the same expert groups
    and blocks, and the destination must not depend on the quantization. The
    results have the same bits.

    `tile-bits` is the maximum number of bits per tile element, added over all
    quantized and written values. It limits kernels that keep a 128 x 128 tile
    in shared memory. Kernels along rows need no tile.

    Example:

    ```mlir
    %q:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) -> !e, !s
    %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
    ```

    becomes

    ```mlir
    %y = mx.fused_quantize ins(%x : !x) outs(%init : !x) dequantized = [f8E4M3FN]
        -> !x
    ```
  }];
  let options = [
    Option<"tileBits", "tile-bits", "int64_t", "0",
           "Maximum number of bits per element of a tile; 0: no limit">
  ];
}

def MXVerifyTensors : Pass<"mx-verify-tensors"> {
  let summary = "Reject operations on tensors without a lowering";
  let description = [{
    Reports the first operation on tensors that no later pass can lower, in its
    original form and with a remedy: operations that do not bufferize, constants
    that cannot be written as bytes, named `linalg` operations on floats of 8
    bits or fewer, and, with `on-device`, reads of elements narrower than a
    byte.

    Run it after fusion. With `on-device` the pass stores the reason why a
    `linalg` operation was not fused in the attribute `mx.apart`. Remarks of
    `mx-linalg-to-loops` print this reason.
  }];
  let options = [
    Option<"onDevice", "on-device", "bool", /*default=*/"false",
           "Tensors are in device memory">
  ];
}

def MXQuantizeMatmuls : Pass<"mx-quantize-matmuls"> {
  let summary = "Convert f32, bf16 and f16 matmuls to block-scaled matmuls";
  let description = [{
    Rewrites contractions of tensors (`linalg.matmul` with any transpositions,
    `linalg.batch_matmul`, `linalg.contract`, `linalg.generic`) to `mx.quantize`
    of both operands and `mx.matmul`. Rows, columns, reduction and batch must
    each be collapsible to a single dimension. Loops over the expert groups of a
    ragged dimension (docs/guide/Import.md) become an `mx.grouped_matmul`.

    - If the reduction is not the last dimension of an operand, quantization
      along the second to last dimension transposes the operand.
    - If an operand consists of matrix rows gathered with a list of indices, the
      list becomes the `gather` of an `mx.fused_quantize`.
    - If an operand was dequantized from a format below, with `f8E8M0FNU` scales
      along the reduction, the matmul reads the quantized source.
    - Sizes of several collapsed dynamic dimensions are compared at run time.
    - The contents of `outs` are added unless they are zeros. If an f32 result
      is only rounded to bf16 or f16, the matmul returns that type.

    `recipe`, or `lhs-recipe` and `rhs-recipe`, selects the formats. The
    attribute `mx.recipe` of an operation, a string or an array of two strings,
    overrides these options; `"none"` excludes the operation:

    | recipe | elements | scales |
    |---|---|---|
    | `mxfp8`, `mxfp8-e5m2` | `f8E4M3FN`, `f8E5M2` | `f8E8M0FNU` per 32 elements |
    | `mxfp8-fast`, `mxfp8-e5m2-fast` | as above | folded by [mx-fold-operands](#-mx-fold-operands) with its default options |
    | `mxfp6-e2m3`, `mxfp6-e3m2` | `f6E2M3FN`, `f6E3M2FN` | `f8E8M0FNU` per 32 elements |
    | `mxfp4` | `f4E2M1FN` | `f8E8M0FNU` per 32 elements |
    | `nvfp4` | `f4E2M1FN` | `f8E4M3FN` per 16 elements, with the factor `global-scale` |

    Other matmuls are not changed and get a remark with the reason, for example
    that the reduction dimension is not a multiple of the K that the formats
    require. A dynamic reduction dimension also prevents the conversion, unless
    `dynamic-reductions` moves the check to run time.

    Run `cse` and `mx-fuse-prologues` next, so that tensors quantized several
    times are read once, and tensors that are only quantized are not stored.
  }];
  let options = [
    Option<"recipe", "recipe", "std::string", /*default=*/"\"mxfp8\"",
           "Formats of both operands">,
    Option<"lhsRecipe", "lhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the first operand, if different">,
    Option<"rhsRecipe", "rhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the second operand, if different">,
    Option<"scaleRounding", "scale-rounding", "std::string",
           /*default=*/"\"ceil\"", "Rounding of f8E8M0FNU scales: ceil, floor, even, fit">,
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"sf_128x4\"", "Layout of scales: sf_128x4 or linear">,
    Option<"globalScale", "global-scale", "double", /*default=*/"1.0",
           "Factor of tensors quantized to NVFP4">,
    Option<"dynamicReductions", "dynamic-reductions", "bool",
           /*default=*/"false",
           "Allow dynamic reduction dimensions, and check them at run time">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::mx::MXDialect",
    "::mx::mxgpu::MXGPUDialect"];
}

def MXFoldOperands : Pass<"mx-fold-operands"> {
  let summary = "Fold the operands of matmuls with 8-bit elements";
  let description = [{
    Gives each `mx.matmul` and `mx.grouped_matmul` of 8-bit MX operands
    [folded](Spec.md#folded-operands) operands and sets `promote`, so that FP8
    tensor cores without scales multiply them. Run the pass before schedules are
    selected.

    - If an operand is the result of an `mx.quantize` or `mx.fused_quantize`
      without other users, the quantization writes wider blocks. A quantization
      along both axes is split if the block sizes differ.
    - An operand with the requested blocks stays.
    - Other operands are the input of an `mx.fold`. Its expansion is fused
      (`mx-fuse-prologues`) unless expert groups divide the operand.
    - If expert groups divide the reduction, quantizers must write both
      operands. They write blocks of 128, and `promote` is 128.

    Matmuls with `mx.recipe = "none"` or `promote` are not changed. Other
    matmuls that cannot be folded get a remark with the reason: elements of 4 or
    6 bits, scales of another type, other blocks, memrefs, a packed operand, or
    a reduction that is dynamic, shorter than `promote` or not a multiple of a
    block.

    With `limit` folding changes an element by at most 2^(limit - 17.8) of the
    largest magnitude in its block of 32. Rows with a larger
    [spread](Spec.md#folded-operands) are wide (`mx.row_classes`). The folded
    matmul computes the elements of narrow rows of both operands. A second
    matmul, of the operands before folding, computes the other elements; it
    skips tiles without such elements, and its quantizers run only if a row is
    wide. Run the pass after `mx-fuse-prologues` and `mx-fuse-epilogues`. These
    matmuls are not folded with a limit: expert groups divide the reduction, the
    result is quantized, an operand already has wide blocks, or the batch has
    several dimensions.

    Example: with the default options

    ```mlir
    %q:2 = mx.quantize ins(%x : tensor<64x512xbf16>) outs(%e, %f : !e, tensor<64x16xf8E8M0FNU>) -> !e, tensor<64x16xf8E8M0FNU>
    %y = mx.matmul ins(%q#0, %q#1, %b, %sb : ...) outs(%c : !c) -> !c
    ```

    becomes

    ```mlir
    %q:2 = mx.fused_quantize ins(%x : tensor<64x512xbf16>) outs(%e, %g : !e, tensor<64x4xf8E8M0FNU>) block_size = 128 -> !e, tensor<64x4xf8E8M0FNU>
    %r:2 = mx.fold ins(%b, %sb : ...) outs(%h, %s : !b, tensor<96x1xf8E8M0FNU>) block_size = row -> !b, tensor<96x1xf8E8M0FNU>
    %y = mx.matmul ins(%q#0, %q#1, %r#0, %r#1 : ...) outs(%c : !c) block_size = 128 b_block_size = row promote = 128 -> !c
    ```
  }];
  let options = [
    Option<"a", "a", "std::string", /*default=*/"\"128\"",
           "Block size of the first operand: 128, 256, 512 or row">,
    Option<"b", "b", "std::string", /*default=*/"\"row\"",
           "Block size of the second operand: 128, 256, 512 or row">,
    Option<"promote", "promote", "int64_t", /*default=*/"128",
           "Number of products in a partial sum: 128, 256 or 512">,
    Option<"limit", "limit", "int64_t", /*default=*/"-1",
           "Largest spread of a folded row, or -1 for none">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::mx::MXDialect"];
}

def MXImportScaled : Pass<"mx-import-scaled", "::mlir::ModuleOp"> {
  let summary = "Convert block-scaled operations of other dialects to mx";
  let description = [{
    Rewrites block-scaled operations in the forms that other compilers emit
    (docs/guide/Import.md lists all forms):

    | found | becomes |
    |---|---|
    | a `linalg` matmul (`matmul`, `batch_matmul`, `contract`, `generic`, with any indexing maps) with `arith.scaling_extf` in its body or on its operands | `mx.matmul` |
    | the same, but only one operand has scales, and the other is bf16 or f16 | `mx.matmul` with unscaled A |
    | other `arith.scaling_extf` on tensors or in an elementwise body | `mx.dequantize` |
    | `tosa.matmul_t_block_scaled`, `tosa.cast_from_block_scaled`, `tosa.cast_to_block_scaled` | `mx.matmul`, `mx.dequantize`, `mx.quantize` |

    `arith.scaling_extf` may be expanded to two `arith.extf` and `arith.mulf`,
    or to the integer operations of `arith-expand`. Scales may be broadcast,
    reshaped and transposed, and the reduction may be a loop, or loops over
    blocks and their elements.

    Other operations are not changed and get a remark with the reason. Results
    are equal except for rounding: mx accumulates in f32 and rounds once.
  }];
  let options = [
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"sf_128x4\"",
           "Layout of scales that matmuls read: sf_128x4 or linear">,
    Option<"dynamicBlocks", "dynamic-blocks", "bool", /*default=*/"false",
           "Assume that dynamic block sizes equal the block sizes of mx, and "
           "check them at run time">,
    Option<"wideF16", "wide-f16", "bool", /*default=*/"false",
           "Also import scaled f16 values; scales beyond the range of f16 then "
           "do not overflow">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mx::MXDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXVerifyDims : Pass<"mx-verify-dims"> {
  let summary = "Reject dimensions beyond the rank";
  let description = [{
    Reports `tensor.dim` and `memref.dim` of a constant dimension beyond the
    rank as errors. Pipelines begin with this pass.
  }];
}

def MXNormalizeViews : Pass<"mx-normalize-views"> {
  let summary = "Rewrite slices and reshapes that upstream cannot lower";
  let description = [{
    A slice may drop some of its dimensions of size 1 and keep others. For
    `memref.subview`, upstream finds the dropped dimensions by comparing
    strides, which fails (LLVM 22 crashes) if the slice or its source has
    non-unit or dynamic strides. The pass rewrites such slices:

    - `tensor.extract_slice` drops all dimensions of size 1, and
      `tensor.expand_shape` adds the kept ones;
    - `tensor.insert_slice` and `tensor.parallel_insert_slice` insert a
      `tensor.collapse_shape` of their source;
    - `memref.subview` with strides is split into a subview with all dimensions
      and one that drops dimensions.

    A `tensor.collapse_shape` of a dynamic dimension and a dimension of size 0
    becomes a `tensor.empty`, because upstream would infer a static size of 0
    for the memref, which differs from the dynamic size of the tensor.

    Pipelines begin with this pass, and run it again before bufferization.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"];
}

def MXClampIndices : Pass<"mx-clamp-indices"> {
  let summary = "Keep reads of kernels in bounds";
  let description = [{
    A region of `linalg`, an epilogue, a prologue, or the body of
    `tensor.generate` or `tensor.pad` may read elements at any index
    (`tensor.extract`, `memref.load`). The reads run in a kernel, which cannot
    report an index out of bounds. The pass handles each index that is not
    provably in bounds:

    - an index that the host can compute (a sum of constants, sizes, arguments
      of the entry and at most one index of the region) is checked before the
      launch by `cf.assert`, unless a branch or a loop of the region may skip
      the read, or the region runs for no element;
    - any other index is clamped to `[0, size - 1]`, as `dynamic_gather` of
      StableHLO and `take(mode="clip")` of NumPy do:

      ```mlir
      %0 = arith.minsi %i, %last : index
      %1 = arith.maxsi %0, %c0 : index
      %e = tensor.extract %x[%1] : tensor<?xf32>
      ```

    An empty dimension has no valid index. The host checks that the dimension is
    not empty, as NumPy does; a read that a branch or a loop may skip returns 0.

    Rows and columns of `mx` operations are not clamped, because their lowerings
    compare sizes on the host. Pipelines run this pass before the targets
    diverge, so that all targets check the same indices on the host.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def MXDescribeEntries : Pass<"mx-describe-entries", "::mlir::ModuleOp"> {
  let summary = "Record the types of arguments and results for callers";
  let description = [{
    Records the types of arguments and results of each public function in
    attributes `mx.type`, which later passes keep and `mx-to-manifest` reads. An
    attribute `mx.name` of an argument or result sets its name in manifests and
    headers.
  }];
}

def MXSkipHostCode : Pass<"mx-skip-host-code", "::mlir::ModuleOp"> {
  let summary = "Run a pipeline without the host code of a module";
  let description = [{
    A module may contain the program around mx functions, such as a `main` that
    copies arrays to the device with `gpu.memcpy` and calls a layer. This pass
    moves host code out of the module, runs a pipeline on the rest, and moves
    the host code back unchanged. `mx-to-nvvm` and similar pipelines run within
    this pass.

    The pipeline runs on
      - functions with tensors, or with mx or mxgpu operations;
      - functions with linalg operations or parallel loops on memrefs, unless
        they contain gpu operations;
      - callees of such functions, and callers without gpu operations; their
        memrefs are device memory;
      - `gpu.module`s with mxgpu operations;
      - globals and declarations that these functions and kernels use. If host
        code also uses them, the host code keeps unchanged copies.

    Symbols that the pipeline creates are renamed if they conflict with host
    code.
  }];
  let options = [
    Option<"pipeline", "pipeline", "std::string", /*default=*/"",
           "Passes on a module, as builtin.module(...)">
  ];
}

def MXReplacePoison : Pass<"mx-replace-poison"> {
  let summary = "Replace poison tensors by empty tensors";
  let description = [{
    `lift-cf-to-scf` passes `ub.poison` for values that a path does not define.
    A poison tensor becomes a `tensor.empty` with dynamic sizes of 0, because
    poison does not bufferize.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXDropDeallocations : Pass<"mx-drop-deallocations"> {
  let summary = "Remove redundant deallocations";
  let description = [{
    Run it after `ownership-based-buffer-deallocation` for launch plans, which
    free a workspace as a whole. `bufferization.dealloc` of several buffers that
    may alias, such as buffers carried by a loop, would otherwise compare
    addresses in host memory. Ownership queries return false, so the buffers are
    cloned.

    Also run it before `ownership-based-buffer-deallocation` on all paths.
    Upstream places deallocations itself and rejects functions with a
    `memref.dealloc`, so this pass removes the deallocations of `memref.alloc`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect"];
}

def MXReturnWhole : Pass<"mx-return-whole"> {
  let summary = "Copy returned slices of buffers";
  let description = [{
    Bufferization returns a slice in place if it has the layout of a whole
    array, for example the first rows of a matrix. The caller owns the memory of
    a result, which must contain only the result. Therefore the slice is copied
    to a new buffer.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXSendWhole : Pass<"mx-send-whole"> {
  let summary = "Copy slices of buffers in collectives";
  let description = [{
    `mx.all_gather` and `mx.all_to_all` send a contiguous buffer from its start,
    and `mx.gather_rows` reads contiguous rows. Bufferization passes slices to
    these operations in place, so the pass copies slices without the layout of a
    whole array (for `mx.gather_rows`, slices with gaps) to a new buffer. A
    sliced window is an error, because other ranks write to it in place.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXExpandMath : Pass<"mx-expand-math"> {
  let summary = "Expand transcendental functions to IEEE operations";
  let description = [{
    Replaces functions of the math dialect without an exact IEEE definition
    (`exp`, `sin`, `powf`, ...) by a fixed sequence of IEEE operations. It runs
    before the target pipelines diverge, so all targets return the same bits.
    docs/reference/Math.md lists the functions, their sequences and their
    measured errors.

    Functions on f16 and bf16 are computed in f32 and rounded to the operand
    type. Functions on tensors become `linalg.generic`. Exact functions (`absf`,
    `fma`, `sqrt`, `floor`, ...) are not changed. Functions without a sequence,
    including most f64 functions, are errors.

    Run it before any folding, which calls the host's math library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

#endif // MX_DIALECT_MX_TRANSFORMS_PASSES_TD
