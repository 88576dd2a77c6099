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
include "mx/Dialect/Shared/ScaleRounding.td"

def MX_ScaleRoundingAttr
    : EnumAttr<MX_Dialect, MX_ScaleRounding, "scale_rounding">;

class MX_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<MX_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def MX_ScaleLayoutAttr : MX_Attr<"ScaleLayout", "scale_layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "layout of the scales of a tensor in memory";
  let description = [{
    A scale tensor keeps its logical shape, `[batch...] x rows x blocks`; its
    encoding says where scale `(r, c)` lies:

    - `linear`: row-major; the same as no encoding;
    - `sf_128x4`: tiles of 128 rows by 4 blocks, 512 bytes each, blocks fastest,
      as the 5th-generation tensor cores read them (PTX ISA, section
      "Scale factor layout"): byte `(r % 32) * 16 + (r / 32 % 4) * 4 + c % 4`
      of tile `(r / 128) * ceil(blocks / 4) + c / 4`.

    With `ragged` the tensor is divided into `groups` expert groups whose sizes are
    known only on the device:

    - `rows`: expert group g owns rows `offsets[g-1] .. offsets[g]`; its scales start
      at tile row `offsets[g-1] / 128 + g`, so no tile has rows of two groups;
      there are `rows / 128 + groups` tile rows;
    - `reduction`: expert group g owns blocks of the reduction dimension that start at
      `p[g] / 32`, `p[g] = sum of roundup(n[i], 128) for i < g`; the last
      dimension of the type is the capacity `roundup(T + 127 * groups, 128)`
      divided by the block size; the layout is otherwise the same.

    Once materialized by `mx-materialize-layouts`, a tensor in layout `sf_128x4`
    has the physical shape `[batch...] x tile rows x tile columns x 32 x 4 x 4`
    and no encoding. Every operation accepts both forms.

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
    /// The layout of `type`: its encoding, or `linear` where there is none.
    static ScaleLayoutAttr get(::mlir::ShapedType type);
  }];
}

def MX_WeightLayoutAttr : MX_Attr<"WeightLayout", "weight_layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "layout of packed weights in memory";
  let description = [{
    A tensor of packed weights, which `mx.pack_weights` writes, keeps its
    logical shape, `[batch...] x N x K`; its encoding says where element
    `(r, c)` lies:

    - `fragment_64x64`: tiles of 64 rows by 64 columns, each in the order in
      which the 128 threads of a warpgroup hold a tile of A in registers (PTX
      ISA, "Register Fragments for wgmma.mma_async.m64nNk16", A), but with the
      two rows of a thread adjacent. Of thread t the 32 elements are adjacent in
      memory; element e of tile `(i, j)` is

      row `64 i + 16 (t / 32) + 2 (t % 32 / 4) + e / 2 % 2`,
      column `64 j + 2 (t % 4) + e % 2 + 8 (e / 4 % 2) + 16 (e / 8)`.

    Once materialized by `mx-materialize-layouts`, the tensor has the physical
    shape `[batch...] x ceil(N/64) x ceil(K/64) x 128 x 32` and no encoding.
    Every operation that takes packed weights accepts both forms. What lies
    beyond row N or column K is 0.

    Example: `#mx.weight_layout<fragment_64x64>`.
  }];
  let parameters = (ins EnumParameter<MX_WeightLayoutKind>:$kind);
  let assemblyFormat = "`<` custom<Keyword>($kind) `>`";
}

def MX_RaggedAttr : MX_Attr<"Ragged", "ragged",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "physical layout of elements whose reduction dimension is ragged";
  let description = [{
    The last dimension of the tensor holds the reduction segments of `groups`
    expert groups. Group g starts at `p[g] = sum of roundup(n[i], align) for i < g`;
    the type's last dimension is the capacity `T + (align - 1) * groups` rounded
    up to `align`, where T is the sum of the group sizes. Elements between the
    end of a group and the start of the next are zero. The layout does not
    change the shape: materializing only drops the encoding.

    Example: `#mx.ragged<groups = 8, align = 128>`.
  }];
  let parameters = (ins "int64_t":$groups, "int64_t":$align);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // MX_DIALECT_MX_IR_MXATTRS_TD
