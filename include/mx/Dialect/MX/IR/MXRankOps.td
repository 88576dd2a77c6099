//===- MXRankOps.td - Tokens and rows between ranks -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXGROUPOPS_TD
#define MX_DIALECT_MX_IR_MXGROUPOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mx/Dialect/MX/IR/MXBase.td"

/// Of memory that other ranks write, and of the order in which ranks meet:
/// operations with an effect on it are neither removed nor reordered.
def MX_RankGroupResource : Resource<"::mx::RankGroupResource">;

def MX_RankGroupOp : MX_Op<"group", [Symbol]> {
  let summary = "ranks that run the module together";
  let description = [{
    `size` ranks run the same program, each on a device of its own, and each with
    at most `tokens` tokens. Rank r has number r; operations name the group by
    its symbol. Which processes are the ranks is decided when the program is
    loaded: a group of the runtime is bound to the symbol.

    With `size = 1` no other rank exists: [mx-decompose-groups](Passes.md)
    turns all operations of the group into others, and nothing need be bound.

    Example: experts on two GPUs.

    ```mlir
    mx.group @ep size = 2 tokens = 8192
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$size, I64Attr:$tokens);
  let assemblyFormat = "$sym_name `size` `=` $size `tokens` `=` $tokens attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of a window: as many as all ranks together have tokens.
    int64_t getRows() { return int64_t(getSize()) * int64_t(getTokens()); }
  }];
}

/// An operation that names a rank group.
class MX_OfRankGroup<string opMnemonic, list<Trait> traits = []>
    : MX_Op<opMnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def MX_RankOp : MX_OfRankGroup<"rank", [Pure]> {
  let summary = "the number of this rank";
  let description = [{
    From 0 to the size of the group, exclusive. The host knows it when the
    program is bound.

    Example: the first of 32 experts that this rank has.

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
  let summary = "memory in which rows of all ranks arrive";
  let description = [{
    A tensor without contents, like `tensor.empty`, in memory of the rank group: row
    `s * tokens + t` is that of token t of rank s. Every rank has one of the same
    type. It is the destination of `mx.dispatch`, `mx.all_gather` and
    `mx.all_to_all`; each execution gives the same memory, so a window must have
    been read before a rank executes the operation again.

    Example: elements of 8192 tokens of two ranks.

    ```mlir
    %w = mx.window @ep : tensor<16384x7168xf8E4M3FN>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs MX_TensorOrMemRef:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

/// One that the ranks execute together, and that writes its `outs`. All of them
/// must come to it in the same order.
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
    /// The group that the symbol names; the verifier has found it.
    ::mx::RankGroupOp getGroupOp();
  }];
  let extraClassDeclaration = dpsDeclaration;
}

def MX_DispatchOp : MX_CollectiveOp<"dispatch", [AttrSizedOperandSegments]> {
  let summary = "send each token to the ranks that have its experts";
  let description = [{
    `experts` experts are divided among the ranks: rank r has those from
    `r * experts / size` on. `ids[t, j]` is the j-th expert of token t of this
    rank; a negative number, or one that is not below `experts`, means none.

    Afterwards row `s * tokens + t` of each window is that of token t of rank s
    in the payload, on every rank that has an expert of the token. Which row a
    token has on the other side therefore depends on no other token: no counts
    travel, and nothing can overflow. Rows of other tokens are unspecified. The
    window of the ids is the exception: rows of all ranks arrive, and those that
    a rank lacks are -1.

    Payloads are tensors with a row for each token: elements and scales of
    quantized tokens, the weights that a router gave. A row of scales lies
    contiguously, so they are in plain layout.

    Each token is sent once to a rank, however many of its experts are there.
    The window is what `mx.group_rows` and the `gather` of `mx.fused_quantize` read:
    they put rows into the order of experts.

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
  let summary = "add up the rows of each token that its ranks computed";
  let description = [{
    The way back of `mx.dispatch`. `input[p, :]` is a row that this rank computed
    for the pair `slots[p]`, as `mx.group_rows` numbers the pairs of the window:
    `slots[p] = (s * tokens + t) * k + j` is the j-th choice of token t of rank s,
    and a negative number is no row. `ids` and `experts` are those of the
    dispatch.

    Rank d adds up its rows of a token in f32, in the order of p, and rounds the
    sum once to `wire`: f32 or bf16. The token's rank adds the sums of all ranks
    that have an expert of the token, in the order of their numbers, in f32,
    beginning with 0. A token without experts is 0. No order depends on when
    something arrives, so that every run gives the same bits.

    Example:

    ```mlir
    %y = mx.collect @ep experts = 64 wire = bf16 ids(%ids : tensor<?x8xi32>)
        ins(%z : tensor<?x7168xbf16>) slots(%slots : tensor<?xi32>)
        outs(%y0 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$experts,
    TypeAttr:$wire, RankedTensorOf<[I32, I64]>:$ids,
    RankedTensorOf<[F32, BF16, F16]>:$input, RankedTensorOf<[I32]>:$slots,
    RankedTensorOf<[F32]>:$outs);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $group `experts` `=` $experts `wire` `=` $wire
    `ids` `(` $ids `:` type($ids) `)`
    `ins` `(` $input `:` type($input) `)`
    `slots` `(` $slots `:` type($slots) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($result)
  }];
}

def MX_CollectPairsOp : MX_CollectiveOp<"collect_pairs"> {
  let summary = "give each pair of a token and an expert its number back";
  let description = [{
    `outs[t, j]` is `input[p]` of the rank that has expert `ids[t, j]`, where p is
    the row of that pair: `slots[p]` is its number in the window, as in
    `mx.collect`. Pairs without an expert are 0. These are the gradients of the
    weights that a router gave.

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
  let summary = "the rows of every rank";
  let description = [{
    Row `s * tokens + t` of `outs`, a window, is row t of the input of rank s.
    Rows that a rank lacks are unspecified. Without an input, the rows of this
    rank are in the window already.

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
  let summary = "a segment of each rank's rows for every rank";
  let description = [{
    With r the number of this rank, row `d * tokens + t` of `outs`, a window, is
    row `r * tokens + t` of the input of rank d.

    Example: each rank has a sum for the tokens of all ranks, and gets those of
    its own tokens.

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

#endif // MX_DIALECT_MX_IR_MXGROUPOPS_TD
