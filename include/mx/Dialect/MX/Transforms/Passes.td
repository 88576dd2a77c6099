//===- Passes.td - Passes on the mx dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_PASSES_TD
#define MX_DIALECT_MX_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MXKeepRoundings : Pass<"mx-keep-roundings"> {
  let summary = "Remove the permission to drop conversions";
  let description = [{
    `arith-emulate-unsupported-floats` and `math-extend-to-supported-types`
    compute f16 and bf16 in f32 and mark the conversions that they insert, so
    that later folding may drop a rounding to the type that is followed by a
    widening. A rounding that the types state must never be removed: this pass
    removes the marks from `arith.extf` and `arith.truncf`. It runs before
    anything is folded.
  }];
}

def MXDecomposeTensors : Pass<"mx-decompose-tensors"> {
  let summary = "Write operations on tensors as linalg operations on elements";
  let description = [{
    Calls upstream's decompositions, so that the passes after this one meet
    nothing but `linalg` operations with loops, `tensor` and `mx`:

    - operations of `arith` and `math` on tensors become `linalg.generic`, as
      `convert-elementwise-to-linalg` has it, but into a tensor of their own
      where upstream would write over an operand;
    - `linalg.softmax` and other operations that say what they consist of,
      `linalg.pack` and `linalg.unpack` become these operations;
    - a constant tensor of equal numbers that a `linalg.generic` reads becomes
      the number; with `on-device` any other becomes a `linalg.fill`.

    Bodies of named `linalg` operations take the location of their operation.
    It runs first, before `mx-define-arith`: functions of elements then get the
    same bits on all targets, and can become part of matmuls and quantizations.
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
  let summary = "Give arith the same meaning on all targets where it leaves results open";
  let description = [{
    Expands, into other `arith` operations, cases in which targets give
    different results (docs/reference/Math.md, Arithmetic): `arith.fptosi` and
    `arith.fptoui` of values out of range and of NaN; integer divisions by 0 and
    shifts by the width or more; conversions of integers of more than 24 bits to
    f16 and bf16, with one rounding; the bits of NaN, where `arith.bitcast` or
    the sign operand of `math.copysign` would expose them. Fast-math flags,
    which not all targets use in the same way, are removed, and a rounding mode
    of `arith.truncf` other than `to_nearest_even` is an error.

    Runs first, before anything is folded, and before `mx-expand-math`, whose
    own bit operations handle NaN themselves.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MXDecomposeGroups : Pass<"mx-decompose-groups", "::mlir::ModuleOp"> {
  let summary = "Turn ways between ranks into sums of rows and collectives";
  let description = [{
    Rewrites the operations that name an [`mx.group`](MX.md):

    - `mx.dispatch` as an `mx.all_gather` of the ids, padded with -1 to as many
      tokens as a rank may have, and one of each payload;
    - `mx.collect` as an `mx.combine order = fixed overwrite`, which adds up the
      rows that this rank has of each token, an `mx.all_to_all` of these sums,
      and an `mx.combine order = fixed` that adds up what comes from the ranks
      that have experts of a token;
    - `mx.collect_pairs` in the same way, with a choice of what comes in the end.

    Collectives must come equally often on all ranks: in a branch, or in a loop
    whose bounds are no constants, they are an error, as is a call there of a
    function that has some.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def MXGroupBatches : Pass<"mx-group-batches"> {
  let summary = "Rewrite batches of matmuls as batch groups";
  let description = [{
    Rewrites an `mx.matmul` of rank 3 on tensors as an `mx.grouped_matmul
    ragged = rows masked` all of whose groups use all their rows, for which
    there are kernels. Scales in `sf_128x4`, results and epilogues are the same
    in both. The number of rows stands once for each matrix, as a constant or,
    if sizes are dynamic, by a `linalg.fill`:

    ```mlir
    %n = arith.constant dense<96> : tensor<8xi32>
    %y = mx.grouped_matmul ragged = rows masked ins(...) offsets(%n : tensor<8xi32>) ...
    ```

    Of a higher rank, all dimensions of the batch become one before
    (`tensor.collapse_shape`), provided all operands have them and at most one
    of them is dynamic.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def MXTileScales : Pass<"mx-tile-scales"> {
  let summary = "Bring the scales of matmuls into the layout of tensor cores";
  let description = [{
    Scales of an `mx.matmul`, or of the matrices of an `mx.grouped_matmul`, that
    lie row by row become tiles of layout `sf_128x4`: an `mx.fused_quantize` of the
    function that gives them to matmuls alone, into a `tensor.empty`, writes
    tiles itself; before any other scales the pass inserts an `mx.relayout`.
    Scales of expert groups stay as they are.

    Tiles do not tell how many rows and blocks they hold. Sizes of the scales
    that are known at run time are compared with those of the elements by
    `mxgpu.require`, with the message of the CPU path.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXMaterializeLayouts : Pass<"mx-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "Turn layout encodings into explicit physical tensors";
  let description = [{
    Replaces every tensor that has a `#mx.scale_layout`, `#mx.ragged` or the
    order of an operand as its encoding by the physical tensor that the encoding
    describes, everywhere:
    functions, calls, `scf.for`, `scf.if`, `scf.while`, `arith.select`,
    `tensor.empty`, `tensor.dim` and the mx operations.

    | encoding | physical tensor for a logical `R x C` |
    |---|---|
    | `linear`, `#mx.ragged` | `R x C` |
    | `sf_128x4` | `ceil(R/128) x ceil(C/4) x 32 x 4 x 4` |
    | `sf_128x4`, ragged rows of G expert groups | `(R/128 + G) x ceil(C/4) x 32 x 4 x 4` |
    | an order, with tiles of r x c stored as S | `ceil(R/r) x ceil(C/c) x S`, or `R x C` if tiles stay in place |

    Operations then name the order of an operand by an attribute.

    It must run before bufferization, which would silently drop encodings and
    create a row-major memref. Any other operation that carries or changes an
    encoding is an error, because on the physical tensor it would mean something
    else.

    `tensor.dim` still returns the logical size. A dynamic size is taken from
    the `tensor.empty`, or from the elements that belong to the scales in an mx
    operation, or from what packed weights are packed from or multiplied by; if
    there is neither, it is an error.

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

def MXGeneralizeQuantize : Pass<"mx-generalize-quantize"> {
  let summary = "Turn mx.quantize into mx.fused_quantize";
  let description = [{
    Fusion, the CPU path and kernels work on `mx.fused_quantize`, as upstream's
    fusion does on `linalg.generic`. All pipelines run this pass first;
    `mx-fuse-prologues`, `convert-mx-to-cpu` and `convert-mx-to-mxgpu` do the
    same.

    If nothing but quantizations reads gathered rows, they become the `gather`
    of these. A gather is a `linalg.generic` that gives zeros for an index i out
    of range:

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
    Saves reads and writes of the results of `mx.matmul` and `mx.grouped_matmul`
    that have a single user:

    - an elementwise `linalg` operation becomes the epilogue, or part of it: a
      bias, an activation, router probabilities. Its other operands are read in
      the region, by `tensor.extract`;
    - an elementwise operation on equal slices of the columns
      (`tensor.extract_slice`) of a matmul with ragged rows, such as a SwiGLU on
      gate and up projection, becomes an epilogue of several accumulators
      (`num_b`);
    - an `mx.fused_quantize` of such a matmul along its rows, with the same groups,
      becomes a quantized result, if there is a multiple of 128 columns and the
      result has elements of 4, 6 or 8 bits with `f8E8M0FNU` scales in layout
      `sf_128x4`; its prologue becomes the epilogue;
    - an `mx.combine` of such a matmul, with the same groups and in any order,
      becomes its `scatter`.

    A matmul that accumulates into its `outs` is not changed; one with
    attributes of its own, such as a schedule, gets no quantized result and no
    `num_b`. The results have the same bits for the same accumulators, except
    for the order in which rows are added, and for rows that belong to no expert group,
    which are unspecified.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXFusePrologues : Pass<"mx-fuse-prologues"> {
  let summary = "Fuse the computation of quantized values into mx.fused_quantize";
  let description = [{
    Saves reads and writes of tensors around `mx.fused_quantize`, step by step:

    - a quantization and an `mx.amax` of the same tensor become a quantization
      with `amax`, unless it depends on the `mx.amax`, is gathered or ragged, or
      has a prologue;
    - two quantizations of the same input (or with the same prologue) along
      different axes become one along both axes;
    - two quantizations with the same recipe and axes become one with several
      values, if the inputs of one are among those of the other or one
      elementwise operation computes the inputs of both, and an element of all
      values has at most `value-bits` bits in total;
    - a quantization of tensors that `tensor.concat`, or insertions into an
      empty tensor, concatenate along the last dimension, without other users,
      becomes one with `concat`. The tensors must have the same static width, a
      multiple of the block and of `concat-multiple`;
    - an elementwise `linalg` operation (all loops parallel, results not
      permuted) whose results have no other users becomes the prologue, or part
      of it. Its operands of f32, bf16 and f16 with the shape of the input
      become inputs; scalars, rows, columns and tensors of other types are read
      by `tensor.extract`. Its body may contain `arith`, `math` and
      `linalg.index`;
    - an `mx.dequantize` whose result has no other users becomes a quantized
      input (`input_scales`), unless there are groups. A `global_scale` becomes
      a multiplication in the prologue if the result is f32; a narrower result
      would be rounded twice, so the operation stays.

    Quantizations of batches get no prologue: it would not know its batch.
    The results have the same bits: a value keeps the type, and so the rounding,
    of the tensor that it replaces. Run `convert-elementwise-to-linalg` before
    it to turn elementwise operations on tensors into `linalg`.
  }];
  let options = [
    Option<"valueBits", "value-bits", "int64_t", "0",
           "Maximum number of bits of an element of all values; 0: no limit">,
    Option<"concatMultiple", "concat-multiple", "int64_t", "1",
           "What the width of concatenated values is a multiple of">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def MXFuseFakeQuantize : Pass<"mx-fuse-fake-quantize"> {
  let summary = "Give the values that elements stand for in place of them";
  let description = [{
    Elements and scales that an `mx.dequantize` reads, and nothing else, are not
    written: the `mx.fused_quantize` has a `dequantized` destination in place of them
    (fake quantization, or QDQ). Each destination is for itself. The two may be
    what a program says, or what `mx-dequantize-operands` makes of a matmul
    whose schedule wants operands of bf16.

    Both operations are in one block, have the same groups and blocks, and what
    the values are written to does not depend on the quantization. The results
    have the same bits.

    `tile-bits` is for kernels that keep a tile of 128 x 128 in shared memory:
    the most bits of an element of it, of all values that are quantized and all
    that is written. Kernels along rows need no tile.

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
           "Maximum number of bits of an element of a tile; 0: no limit">
  ];
}

def MXVerifyTensors : Pass<"mx-verify-tensors"> {
  let summary = "Refuse operations on tensors that have no lowering";
  let description = [{
    Reports the first operation on tensors that no later pass can lower, while
    it still looks as it was written, and says what to do instead. These are
    operations that do not bufferize, constants that have no bytes, named
    `linalg` operations that compute with floats of 8 bits or fewer, and with
    `on-device` also reads of elements that have no bytes of their own.

    It runs after fusion. The attribute `mx.apart`, with `on-device`, says why a
    `linalg` operation was not fused, for the remarks of `mx-linalg-to-loops`.
  }];
  let options = [
    Option<"onDevice", "on-device", "bool", /*default=*/"false",
           "Tensors are in device memory">
  ];
}

def MXQuantizeMatmuls : Pass<"mx-quantize-matmuls"> {
  let summary = "Turn matmuls of f32, bf16 and f16 into block-scaled ones";
  let description = [{
    Rewrites contractions of tensors (`linalg.matmul` with any transpositions,
    `linalg.batch_matmul`, `linalg.contract`, `linalg.generic`), whose rows,
    columns, reduction and batch can each be put together to one dimension, to
    `mx.quantize` of both operands and `mx.matmul`, and loops over the expert groups of a ragged dimension
    (docs/guide/Import.md) to one `mx.grouped_matmul`. An operand whose reduction
    dimension is not its last is quantized along the dimension before, which
    writes it transposed. An operand that an operation gathers from the rows of
    a matrix, by a list of indices, becomes the `gather` of an
    `mx.fused_quantize`. One that `mx.dequantize` makes of a format below, with `f8E8M0FNU` scales along the reduction, is read
    as it is stored, in that format. Where two or more dynamic dimensions become
    one, their sizes are compared at run time. The contents of `outs`
    are added unless they are zeros; if an f32 result is only rounded to bf16 or
    f16, the matmul returns that type.

    The formats are those of `recipe`, or of `lhs-recipe` and `rhs-recipe`; an
    attribute `mx.recipe` of an operation, a string or an array of two,
    overrides them, and `"none"` leaves the operation as it is:

    | recipe | elements | scales |
    |---|---|---|
    | `mxfp8-e4m3`, `mxfp8-e5m2` | `f8E4M3FN`, `f8E5M2` | `f8E8M0FNU` of 32 |
    | `mxfp6-e2m3`, `mxfp6-e3m2` | `f6E2M3FN`, `f6E3M2FN` | `f8E8M0FNU` of 32 |
    | `mxfp4` | `f4E2M1FN` | `f8E8M0FNU` of 32 |
    | `nvfp4` | `f4E2M1FN` | `f8E4M3FN` of 16, with the factor `global-scale` |

    A matmul that cannot be rewritten is left as it is, with a remark that says
    why: its reduction dimension is not a multiple of what the formats multiply
    at a time, or is dynamic, unless `dynamic-reductions` leaves the check to
    run time.

    Run `cse` and `mx-fuse-prologues` after it: tensors that are quantized
    several times are then read once, and tensors that are only quantized are
    never stored.
  }];
  let options = [
    Option<"recipe", "recipe", "std::string", /*default=*/"\"mxfp8-e4m3\"",
           "Formats of both operands">,
    Option<"lhsRecipe", "lhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the first operand, if different">,
    Option<"rhsRecipe", "rhs-recipe", "std::string", /*default=*/"\"\"",
           "Formats of the second operand, if different">,
    Option<"scaleRounding", "scale-rounding", "std::string",
           /*default=*/"\"ceil\"", "How scales of f8E8M0FNU are rounded: ceil, floor, even, fit">,
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"sf_128x4\"", "Layout of scales: sf_128x4 or linear">,
    Option<"globalScale", "global-scale", "double", /*default=*/"1.0",
           "Factor of tensors that are quantized to NVFP4">,
    Option<"dynamicReductions", "dynamic-reductions", "bool",
           /*default=*/"false",
           "Assume that dynamic reduction dimensions are multiples">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::mx::MXDialect",
    "::mx::mxgpu::MXGPUDialect"];
}

def MXImportScaled : Pass<"mx-import-scaled", "::mlir::ModuleOp"> {
  let summary = "Turn block-scaled operations of other dialects into those of mx";
  let description = [{
    Rewrites what other compilers use for block-scaled numbers
    (docs/guide/Import.md has all forms):

    | found | becomes |
    |---|---|
    | a matmul of `linalg` (`matmul`, `batch_matmul`, `contract`, `generic`, with any indexing maps) of `arith.scaling_extf`, in its body or on tensors before it | `mx.matmul` |
    | the same with scales of one operand, the other bf16 or f16 | `mx.matmul` of numbers and weights |
    | other `arith.scaling_extf` on tensors or in an elementwise body | `mx.dequantize` |
    | `tosa.matmul_t_block_scaled`, `tosa.cast_from_block_scaled`, `tosa.cast_to_block_scaled` | `mx.matmul`, `mx.dequantize`, `mx.quantize` |

    `arith.scaling_extf` may be expanded: two `arith.extf` and `arith.mulf`, or
    the integers that `arith-expand` makes of these. Scales may be broadcast,
    reshaped and transposed on the way, and the reduction may be one loop, or
    loops over blocks and their elements.

    What cannot be rewritten is left as it is, with a remark that says why.
    Results are those of the operations found, but for rounding: sums are f32 and
    rounded once.
  }];
  let options = [
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"sf_128x4\"",
           "Layout of scales that matmuls read: sf_128x4 or linear">,
    Option<"dynamicBlocks", "dynamic-blocks", "bool", /*default=*/"false",
           "Take blocks of unknown size to be those of mx, which is checked at "
           "run time">,
    Option<"wideF16", "wide-f16", "bool", /*default=*/"false",
           "Import scaled numbers of f16 too, without the overflow of scales "
           "beyond its range">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mx::MXDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXVerifyDims : Pass<"mx-verify-dims"> {
  let summary = "Refuse dimensions that an array does not have";
  let description = [{
    `tensor.dim` and `memref.dim` of a constant dimension beyond the rank have
    no meaning and are an error at their location. Pipelines begin with this
    pass.
  }];
}

def MXNormalizeViews : Pass<"mx-normalize-views"> {
  let summary = "Write slices and reshapes as upstream can lower them";
  let description = [{
    A slice may drop some of its dimensions of size 1 and keep others. Upstream
    finds the dropped ones of `memref.subview` by comparing strides, which fails
    (LLVM 22 crashes) where the slice has strides of its own, or where strides
    are dynamic. Such a `tensor.extract_slice` drops all of them, and
    `tensor.expand_shape` adds those that are kept; `tensor.insert_slice` and
    `tensor.parallel_insert_slice` insert what `tensor.collapse_shape` makes of
    their source; a `memref.subview` with strides becomes one with all
    dimensions, and one that drops them.

    A `tensor.collapse_shape` that makes one dimension of a dynamic size and one
    of 0 becomes a `tensor.empty`: the type on memrefs would be static, and is an
    error.

    Pipelines begin with this pass, and run it again before bufferization.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"];
}

def MXClampIndices : Pass<"mx-clamp-indices"> {
  let summary = "Keep the reads of kernels inside of their arrays";
  let description = [{
    A region of `linalg`, an epilogue, a prologue, or the body of
    `tensor.generate` or `tensor.pad` may read elements at any index
    (`tensor.extract`, `memref.load`). It runs in a kernel, which cannot report
    an index outside of the array. For each index that is not in the array
    whatever the program reads:

    - an index that the host knows, because it is a sum of constants, sizes,
      arguments of the entry and at most one index of the region, is checked
      before the launch (`cf.assert`), unless a branch or a loop of the region
      may skip the read, or the region runs for no element;
    - any other index is clamped to `[0, size - 1]`, as `dynamic_gather` of
      StableHLO and `take(mode="clip")` of NumPy do:

      ```mlir
      %0 = arith.minsi %i, %last : index
      %1 = arith.maxsi %0, %c0 : index
      %e = tensor.extract %x[%1] : tensor<?xf32>
      ```

    A dimension without elements has no such index. The host checks that there
    are some, as NumPy does; a read that a branch or a loop may skip gives 0.

    Rows and columns of `mx` operations are left to their lowerings, which
    compare sizes on the host. Pipelines run this pass before the paths part,
    so that they agree about what the host knows.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def MXDescribeEntries : Pass<"mx-describe-entries", "::mlir::ModuleOp"> {
  let summary = "Record the types of arguments and results for callers";
  let description = [{
    Records the types of the arguments and results of each public function in
    attributes `mx.type`, which later passes keep: `mx-to-manifest` uses them to
    describe functions. An attribute `mx.name` of an argument or result gives it
    a name in manifests and headers.
  }];
}

def MXSkipHostCode : Pass<"mx-skip-host-code", "::mlir::ModuleOp"> {
  let summary = "Run a pipeline on mx's functions, not on the host's own code";
  let description = [{
    A module may hold the program around mx's functions, as a `main` that copies
    arrays to the device by `gpu.memcpy` and calls a layer. This pass takes what
    is not mx's out of the module, runs a pipeline on the rest, and puts it back
    unchanged. A module without such code is given to the pipeline as it is.
    `mx-to-nvvm` and the pipelines like it run within this pass.

    mx's are
      - functions with tensors, or with operations of mx or mxgpu;
      - functions with linalg operations or parallel loops on memrefs, unless
        they have operations of the gpu dialect;
      - what such a function calls, and what calls one and has no operations of
        the gpu dialect: its memrefs are device memory then;
      - `gpu.module`s with operations of mxgpu;
      - the globals and declarations that all these use. What host code uses
        too stands for the host unchanged.
    What a pipeline makes gets another name where the host's code has that name.
  }];
  let options = [
    Option<"pipeline", "pipeline", "std::string", /*default=*/"",
           "passes on a module, as builtin.module(...)">
  ];
}

def MXReplacePoison : Pass<"mx-replace-poison"> {
  let summary = "Give poison tensors that are never read a value";
  let description = [{
    `lift-cf-to-scf` passes `ub.poison` where one path has no value that another
    path needs. A poison tensor becomes a `tensor.empty`, whose dynamic sizes
    are 0, since poison does not bufferize.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MXDropDeallocations : Pass<"mx-drop-deallocations"> {
  let summary = "Remove deallocations that others make";
  let description = [{
    Runs after `ownership-based-buffer-deallocation` for launch plans, which
    give a workspace back as a whole. `bufferization.dealloc` of several
    buffers that may be one, as a loop makes that carries new buffers from round
    to round, would become comparisons of their addresses in host memory. Who
    asks a deallocation whether it owns a buffer learns that it does not, and
    clones it.

    It also runs before, on all paths: upstream finds the place of a deallocation
    by itself, and refuses functions with a `memref.dealloc`. Those of a
    `memref.alloc` are removed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect"];
}

def MXReturnWhole : Pass<"mx-return-whole"> {
  let summary = "Copy slices of buffers that are returned";
  let description = [{
    Bufferization returns a slice in place where it has the layout of a whole
    array, as the first rows of a matrix have. The memory of a result is the
    caller's and holds no more than the result: the slice is copied to a buffer
    of its own.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXSendWhole : Pass<"mx-send-whole"> {
  let summary = "Copy slices of buffers that ranks exchange";
  let description = [{
    `mx.all_gather` and `mx.all_to_all` send a buffer from its beginning, and
    without gaps. Bufferization gives them a slice in place: where its layout is
    not that of a whole array, it is copied to a buffer of its own. A window that
    is such a slice is an error, since other ranks write it where it lies.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXExpandMath : Pass<"mx-expand-math"> {
  let summary = "Compute transcendental functions by IEEE operations";
  let description = [{
    Replaces functions of the math dialect that the IEEE standard does not
    define to the last bit (`exp`, `sin`, `powf`, ...) by a fixed sequence of
    IEEE operations. It runs before the pipelines of the targets diverge, so all
    of them give the same bits. docs/reference/Math.md has the functions, their sequences
    and their measured errors.

    Functions of f16 and bf16 are computed in f32 and rounded to the type.
    Functions of tensors become `linalg.generic`. Functions without a sequence,
    including those of f64, are an error that names the function; functions that
    every target computes to the last bit (`absf`, `fma`, `sqrt`, `floor`, ...)
    stay.

    Runs before anything is folded: constant folding would call the host's math
    library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

#endif // MX_DIALECT_MX_TRANSFORMS_PASSES_TD
