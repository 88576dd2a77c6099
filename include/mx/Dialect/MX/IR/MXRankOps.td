//===- MXRankOps.td - Communication between ranks ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXRANKOPS_TD
#define MX_DIALECT_MX_IR_MXRANKOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "mx/Dialect/MX/IR/MXBase.td"

/// Memory that other ranks write. Operations with an effect on this resource
/// are neither removed nor reordered, so collectives keep their order.
def MX_RankGroupResource : Resource<"::mx::RankGroupResource">;

def MX_RankGroupOp : MX_Op<"group", [Symbol]> {
  let summary = "declare the ranks that run the module together";
  let description = [{
    `size` ranks, numbered from 0, run the same program. Each rank uses its own
    device and at most `tokens` tokens. Operations reference the rank group by
    its symbol, which is bound to a rank group of the runtime when the program
    is loaded.

    A window has a row for each token of each rank, or `slots` rows for each
    rank. `mx.dispatch` then sends only the tokens that a rank needs, so the
    bytes do not grow with the number of ranks.

    With `size = 1`, [mx-decompose-groups](Passes.md) replaces all operations of
    the rank group, and no binding is needed.

    Example: experts on two GPUs.

    ```mlir
    mx.group @ep size = 2 tokens = 8192
    mx.group @far size = 64 tokens = 8192 slots = 1280
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$size,
    I64Attr:$tokens, OptionalAttr<I64Attr>:$slots);
  let assemblyFormat = [{
    $sym_name `size` `=` $size `tokens` `=` $tokens (`slots` `=` $slots^)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the rows of a window that belong to a rank.
    int64_t getRowsOfRank() { return getSlots().value_or(getTokens()); }
    /// Returns the rows of a window.
    int64_t getRows() { return int64_t(getSize()) * getRowsOfRank(); }
  }];
}

/// Operation on a rank group.
class MX_OfRankGroup<string opMnemonic, list<Trait> traits = []>
    : MX_Op<opMnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def MX_RankOp : MX_OfRankGroup<"rank", [Pure]> {
  let summary = "return the number of this rank";
  let description = [{
    The result is at least 0 and less than the size of the rank group. The
    number is available on the host once the program is bound.

    Example: the first expert of this rank, which owns 32 experts.

    ```mlir
    %rank = mx.rank @ep
    %first = arith.muli %rank, %c32 : index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict";
}

def MX_WindowOp : MX_OfRankGroup<"window", [
    MemoryEffects<[MemAlloc<MX_RankGroupResource>]>]> {
  let summary = "return memory that receives the rows of all ranks";
  let description = [{
    Returns an uninitialized tensor, like `tensor.empty`, in memory of the rank
    group. Row `s * tokens + t` belongs to token t of rank s. All ranks have a
    window of the same type. A window is the destination of `mx.dispatch`,
    `mx.all_gather` or `mx.all_to_all`. Every execution returns the same memory,
    so a rank must have read the window before it executes the op again.

    Example: the elements of up to 8192 tokens from each of two ranks.

    ```mlir
    %w = mx.window @ep : tensor<16384x7168xf8E4M3FN>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs MX_TensorOrMemRef:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

/// Collective operation that writes its `outs`. All ranks must execute
/// collectives in the same order.
class MX_CollectiveOp<string opMnemonic, list<Trait> traits = []>
    : MX_OfRankGroup<opMnemonic, !listconcat([
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
          ["reifyResultShapes"]>], traits)> {
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutsMutable();
    }
    /// Returns the rank group; its existence is verified.
    ::mx::RankGroupOp getGroupOp();
  }];
  let extraClassDeclaration = dpsDeclaration;
}

def MX_DispatchOp : MX_CollectiveOp<"dispatch", [AttrSizedOperandSegments]> {
  let summary = "send each token to the ranks of its experts";
  let description = [{
    `experts` experts are divided equally among the ranks: the first expert of
    rank r is `r * experts / size`. `ids[t, j]` is the j-th expert of token t of
    this rank; ids outside [0, experts) are ignored.

    On every rank that owns an expert of token t of rank s, row `s * tokens + t`
    of each window receives the token's row of the payload. Rows of other tokens
    are unspecified, except in the window of ids, which contains -1 for missing
    rows. The row index of a token does not depend on other tokens, so ranks
    exchange no counts, and windows cannot overflow.

    If the rank group has `slots` m, row `s * m + p` receives the p-th token of
    rank s with an expert on this rank. The tokens beyond m are not sent.

    An optional last element of `outs`, an i32, receives the most tokens of this
    rank for any rank, or 0 without `slots`. A number above m means that tokens
    were not sent.

    Payloads are tensors with a row for each token: elements and scales of
    quantized tokens, and router weights. Scales use the linear layout, so each
    row is contiguous.

    A token is sent to a rank once, even if the rank owns several of its
    experts. `mx.group_rows` and the `gather` of `mx.fused_quantize` read the
    window and sort rows by expert.

    Example: quantized tokens and router weights, top 8 of 64 experts.

    ```mlir
    %w:4 = mx.dispatch @ep experts = 64 ids(%ids : tensor<?x8xi32>)
        ins(%e, %s, %p : tensor<?x7168xf8E4M3FN>, tensor<?x224xf8E8M0FNU>,
                         tensor<?x8xf32>)
        outs(%wi, %we, %ws, %wp : tensor<16384x8xi32>, tensor<16384x7168xf8E4M3FN>,
                                  tensor<16384x224xf8E8M0FNU>, tensor<16384x8xf32>)
        -> tensor<16384x8xi32>, tensor<16384x7168xf8E4M3FN>,
           tensor<16384x224xf8E8M0FNU>, tensor<16384x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$experts,
    RankedTensorOf<[I32, I64]>:$ids, Variadic<AnyRankedTensor>:$payloads,
    Variadic<AnyRankedTensor>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $group `experts` `=` $experts `ids` `(` $ids `:` type($ids) `)`
    `ins` `(` ($payloads^ `:` type($payloads))? `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($results)
  }];
}

def MX_CollectOp : MX_CollectiveOp<"collect"> {
  let summary = "add the results of each token from all ranks";
  let description = [{
    Counterpart of `mx.dispatch`. `input[p, :]` is a row that this rank computed
    for pair `slots[p]`. Pairs are numbered as in an `mx.group_rows` that reads
    the window: `(s * tokens + t) * k + j` is choice j of token t of rank s.
    Negative numbers are ignored. `ids` and `experts` are the same as for the
    dispatch.

    Each rank adds its rows of a token in f32, in the order of p, and rounds the
    sum once to `wire`: f32 or bf16. The rank that owns the token adds these
    sums in f32, in rank order and starting with 0, and rounds once to the type
    of the result, f32 or bf16. The result of a token without experts is 0. The
    order of additions is independent of arrival times, so results are
    reproducible to the bit.

    The collect of an `mx.grouped_matmul ragged = rows` result without other
    users is split into `parts` parts of the columns, so that a part is sent
    while the matmul computes the next part. Bits do not change. Parts begin at
    multiples of 256 columns, so there may be fewer. By default,
    [mx-decompose-groups](Passes.md) selects the number of parts.

    Example:

    ```mlir
    %y = mx.collect @ep experts = 64 wire = bf16 parts = 4 ids(%ids : tensor<?x8xi32>)
        ins(%z : tensor<?x7168xbf16>) slots(%slots : tensor<?xi32>)
        outs(%y0 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$experts,
    TypeAttr:$wire, OptionalAttr<I64Attr>:$parts,
    RankedTensorOf<[I32, I64]>:$ids, RankedTensorOf<[F32, BF16, F16]>:$input, RankedTensorOf<[I32]>:$slots,
    RankedTensorOf<[F32, BF16]>:$outs);
  let results = (outs RankedTensorOf<[F32, BF16]>:$result);
  let assemblyFormat = [{
    $group `experts` `=` $experts `wire` `=` $wire (`parts` `=` $parts^)?
    `ids` `(` $ids `:` type($ids) `)`
    `ins` `(` $input `:` type($input) `)`
    `slots` `(` $slots `:` type($slots) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($result)
  }];
}

def MX_CollectPairsOp : MX_CollectiveOp<"collect_pairs"> {
  let summary = "return a scalar for each token-expert pair";
  let description = [{
    `outs[t, j]` is `input[p]` of the rank that owns expert `ids[t, j]`, with p
    the row of that pair: `slots[p]` is the number of the pair in the window, as
    in `mx.collect`. The result of a pair without an expert is 0. This computes
    the gradients of router weights.

    Example:

    ```mlir
    %dw = mx.collect_pairs @ep experts = 64 ids(%ids : tensor<?x8xi32>)
        ins(%dp : tensor<?xf32>) slots(%slots : tensor<?xi32>)
        outs(%dw0 : tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$experts,
    RankedTensorOf<[I32, I64]>:$ids, RankedTensorOf<[F32]>:$input,
    RankedTensorOf<[I32]>:$slots, RankedTensorOf<[F32]>:$outs);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $group `experts` `=` $experts `ids` `(` $ids `:` type($ids) `)`
    `ins` `(` $input `:` type($input) `)`
    `slots` `(` $slots `:` type($slots) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($result)
  }];
}

def MX_AllGatherOp : MX_CollectiveOp<"all_gather", [AttrSizedOperandSegments]> {
  let summary = "gather the rows of every rank";
  let description = [{
    Row `s * tokens + t` of `outs`, a window, is row t of the input of rank s.
    Missing rows are unspecified. Without an input, the rows of this rank must
    already be in the window.

    Example:

    ```mlir
    %w = mx.all_gather @ep ins(%x : tensor<?x7168xf8E4M3FN>)
        outs(%w0 : tensor<16384x7168xf8E4M3FN>) -> tensor<16384x7168xf8E4M3FN>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
    Optional<MX_TensorOrMemRef>:$input, Variadic<MX_TensorOrMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $group (`ins` `(` $input^ `:` type($input) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def MX_AllToAllOp : MX_CollectiveOp<"all_to_all"> {
  let summary = "exchange segments of rows between all ranks";
  let description = [{
    On rank r, row `d * tokens + t` of `outs`, a window, is row `r * tokens + t`
    of the input of rank d.

    Example: each rank holds partial sums for the tokens of all ranks, and
    receives the sums of its own tokens.

    ```mlir
    %w = mx.all_to_all @ep ins(%sums : tensor<16384x7168xbf16>)
        outs(%w0 : tensor<16384x7168xbf16>) -> tensor<16384x7168xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, MX_TensorOrMemRef:$input,
                       Variadic<MX_TensorOrMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $group `ins` `(` $input `:` type($input) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def MX_PeersOp : MX_OfRankGroup<"peers", [Pure]> {
  let summary = "return the address of the distances to windows of peers, or 0";
  let description = [{
    The address refers to an i64 in device memory for each rank: the bytes from
    a window of this rank to the same window of that rank. The result is 0 on
    all ranks if they do not map each other's windows.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict";
}

def MX_BarrierOp : MX_OfRankGroup<"barrier", [
    MemoryEffects<[MemWrite<MX_RankGroupResource>]>]> {
  let summary = "wait for all ranks";
  let description = [{
    Work of all ranks before the barrier, including accesses to windows of
    peers, precedes all work after the barrier. A collective, which requires
    that `mx.peers` is not 0.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let assemblyFormat = "$group attr-dict";
}

/// View of a window that includes the windows of peers.
class MX_PeerViewOp<string opMnemonic, list<Trait> traits = []>
    : MX_OfRankGroup<opMnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>], traits)> {
  let results = (outs AnyMemRef:$result);
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::getViewSource() { return getWindow(); }
  }];
}

def MX_ToPeersOp : MX_PeerViewOp<"to_peers"> {
  let summary = "view rows of this rank that are stored to all ranks";
  let description = [{
    Returns the first `rows` rows of this rank in a window. Unless `mx.peers` is
    0, `mx.fused_quantize`, the only user, also stores them to the window on all
    other ranks.

    ```mlir
    %e = mx.to_peers @ep %w[%t] : memref<128x384xi8> to memref<?x384xi8>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, AnyMemRef:$window,
                       Index:$rows);
  let assemblyFormat = [{
    $group $window `[` $rows `]` attr-dict `:` type($window) `to` type($result)
  }];
}

def MX_FromPeersOp : MX_PeerViewOp<"from_peers", [
    AllTypesMatch<["window", "result"]>]> {
  let summary = "view rows for this rank in the windows of all ranks";
  let description = [{
    On rank r, the rows of rank s in the view are the rows of rank r in the
    window on rank s, as after `mx.all_to_all`. If `mx.peers` is 0, returns the
    window. The only user is an `mx.combine` with `order = fixed`, as its input.

    ```mlir
    %sums = mx.from_peers @ep %w : memref<128x384xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, AnyMemRef:$window);
  let assemblyFormat = "$group $window attr-dict `:` type($window)";
}

#endif // MX_DIALECT_MX_IR_MXRANKOPS_TD
