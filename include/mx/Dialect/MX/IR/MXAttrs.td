//===- MXAttrs.td - Attributes of the mx dialect -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXATTRS_TD
#define MX_DIALECT_MX_IR_MXATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mx/Dialect/MX/IR/MXDialect.td"
include "mx/Dialect/MX/IR/MXEnums.td"
include "mx/Dialect/Shared/OperandOrder.td"
include "mx/Dialect/Shared/ScaleRounding.td"

def MX_ScaleRoundingAttr
    : EnumAttr<MX_Dialect, MX_ScaleRounding, "scale_rounding">;

class MX_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<MX_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def MX_ScaleLayoutAttr : MX_Attr<"ScaleLayout", "scale_layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "memory layout of a tensor's scales";
  let description = [{
    A scale tensor has the logical shape `[batch...] x rows x blocks`. Its
    encoding defines the location of scale `(r, c)`:

    - `linear`: row-major; equivalent to no encoding;
    - `sf_128x4`: row-major tiles of 128 rows by 4 blocks, 512 bytes each, in
      the layout of the 5th-generation tensor cores (PTX ISA, section "Scale
      factor layout"): byte `(r % 32) * 16 + (r / 32 % 4) * 4 + c % 4` of tile
      `(r / 128) * ceil(blocks / 4) + c / 4`;
    - `mn_major`, for `f32` scales of single rows: blocks by rows, with the
      number of rows rounded up to a multiple of 4. FP8 kernels for Hopper read
      the scales of many rows at once in this order.

    With `ragged` the tensor is divided into `groups` expert groups with sizes
    that are known only on the device:

    - `rows`: expert group g owns rows `offsets[g-1] .. offsets[g]`. Its scales
      start at tile row `offsets[g-1] / 128 + g`, so tiles never span groups.
      There are `rows / 128 + groups` tile rows;
    - `reduction`: the blocks of expert group g start at block `p[g] / 32` of
      the reduction dimension, with `p[g] = sum of roundup(n[i], 128) for i <
      g`. The last dimension of the type is the capacity
      `roundup(T + 127 * groups, 128)` divided by the block size. The layout is
      otherwise unchanged.

    Expert groups move no scales in the layouts `linear` and `mn_major`.

    `mx-materialize-layouts` converts a tensor in layout `sf_128x4` to the
    physical shape `[batch...] x tile rows x tile columns x 32 x 4 x 4`, and a
    tensor in layout `mn_major` to `[batch...] x blocks x ceil(rows / 4) x 4`,
    without an encoding. Every operation accepts both forms.

    Example:
    `#mx.scale_layout<sf_128x4>`,
    `#mx.scale_layout<sf_128x4, ragged = rows, groups = 8>`.
  }];
  let parameters = (ins
    EnumParameter<MX_ScaleLayoutKind>:$kind,
    DefaultValuedParameter<"::mx::RaggedKind", "::mx::RaggedKind::None">:$ragged,
    DefaultValuedParameter<"int64_t", "0">:$groups);
  let assemblyFormat = [{
    `<` custom<Keyword>($kind)
    (`,` `ragged` `=` custom<Keyword>($ragged)^ `,` `groups` `=` $groups)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the encoding of `type`, or `linear` if there is none.
    static ScaleLayoutAttr get(::mlir::ShapedType type);
  }];
}

def MX_RaggedAttr : MX_Attr<"Ragged", "ragged",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "physical layout of elements with a ragged reduction dimension";
  let description = [{
    The last dimension of the tensor holds the reduction segments of `groups`
    expert groups. Group g starts at
    `p[g] = sum of roundup(n[i], align) for i < g`. The last dimension of the
    type is the capacity `T + (align - 1) * groups` rounded up to a multiple of
    `align`, with T the sum of all group sizes. Elements between groups are
    zero. Materialization keeps the shape and drops the encoding.

    Example: `#mx.ragged<groups = 8, align = 128>`.
  }];
  let parameters = (ins "int64_t":$groups, "int64_t":$align);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // MX_DIALECT_MX_IR_MXATTRS_TD
