//===- TensorMap.h - tensor maps of the simulator -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor map as the driver's cuTensorMapEncodeTiled takes it, the rules it
// must obey, and its 128-byte image, which is the hardware's.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TENSORMAP_H
#define MXSIM_TENSOR_TENSORMAP_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::sim {

/// CUtensorMapDataType, with the driver's numbers.
enum class TmapType : uint8_t {
  U8,
  U16,
  U32,
  I32,
  U64,
  I64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  U4Align8,
  U4Align16,
  U6Align16,
};

/// CUtensorMapInterleave.
enum class TmapInterleave : uint8_t { None, B16, B32 };

/// CUtensorMapSwizzle.
enum class TmapSwizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32,
  B128Atom32Flip8,
  B128Atom64,
};

/// CUtensorMapL2promotion; no functional effect.
enum class TmapL2 : uint8_t { None, B64, B128, B256 };

/// CUtensorMapFloatOOBfill.
enum class TmapOob : uint8_t { Zero, Nan };

constexpr unsigned tensorMapBytes = 128;
constexpr unsigned tensorMapAlignment = 64;
constexpr unsigned maxTensorRank = 5;
/// The driver refuses boxes that exceed the shared memory of an SM.
constexpr uint64_t maxBoxBytes = 228 * 1024;

/// Dimensions innermost first and in elements; strides in bytes, of dimensions
/// 1 and up.
struct TensorMapDesc {
  uint64_t globalAddress = 0;
  TmapType type = TmapType::U8;
  unsigned rank = 0;
  std::array<uint64_t, maxTensorRank> dims{};
  std::array<uint64_t, maxTensorRank - 1> strides{};
  std::array<uint32_t, maxTensorRank> box{};
  std::array<uint32_t, maxTensorRank> elementStrides{{1, 1, 1, 1, 1}};
  TmapInterleave interleave = TmapInterleave::None;
  TmapSwizzle swizzle = TmapSwizzle::None;
  TmapL2 l2 = TmapL2::None;
  TmapOob oob = TmapOob::Zero;
};

/// Bits of one element in global memory: 4 and 6 for the packed types.
unsigned elementBits(TmapType type);
bool isFloat(TmapType type);
/// One of the types whose groups of 16 elements are unpacked to 16 bytes.
bool isPaddedType(TmapType type);
/// Bytes of one line of a swizzle pattern: 0, 32, 64 or 128.
unsigned swizzleSpan(TmapSwizzle swizzle);
/// The physical address of the byte at unswizzled address `address`. All
/// patterns act on absolute shared-memory addresses (PTX ISA, swizzling modes).
uint32_t swizzleAddress(TmapSwizzle swizzle, uint32_t address);
/// Elements a load takes in dimension `dim`: ceil(box / element stride).
uint32_t boxElements(const TensorMapDesc &map, unsigned dim);

/// What the driver takes for the bytes of a box: of a dimension whose extent is
/// no multiple of its stride the rest does not count. No stride may be 0.
uint64_t boxBytes(const TensorMapDesc &map);

/// Empty, or the first constraint of cuTensorMapEncodeTiled that is violated.
std::string validate(const TensorMapDesc &map);

/// Writes the image of a map that obeys the rules, as the driver does on an
/// H200. What an H200 does not have (packed types, swizzles with an atomicity)
/// has no such witness.
void encodeTensorMap(const TensorMapDesc &map, uint8_t *image);
/// Empty, or which field of the image no tiled copy takes. Other rules may be
/// broken; call validate() before use. Reserved bits and the last 64 bytes do
/// not matter, as on an H200.
std::string decodeTensorMap(const uint8_t *image, TensorMapDesc &map);

/// The .field of tensormap.replace.
enum class TensorMapField {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElemType,
  InterleaveLayout,
  SwizzleMode,
  FillMode,
  SwizzleAtomicity,
};
/// Finds a field by its PTX spelling ("global_address", "box_dim", ...).
bool parseTensorMapField(std::string_view name, TensorMapField &field);

/// tensormap.replace: `value` as the instruction takes it (rank minus one,
/// immediate codes for enumerations), `ordinal` for the fields per dimension.
/// Whatever the image holds, only the field changes. Empty, or which value does
/// not fit the field; the hardware drops the bits in excess.
std::string replaceTensorMapField(uint8_t *image, TensorMapField field,
                                  unsigned ordinal, uint64_t value);

/// The spellings of launch descriptions: "u8", "bf16", "u6_align16"; "none",
/// "128b_atom32"; "16b"; "256b"; "nan". Empty, or else the names that there
/// are.
std::string parseTmapType(std::string_view name, TmapType &type);
std::string parseTmapSwizzle(std::string_view name, TmapSwizzle &swizzle);
std::string parseTmapInterleave(std::string_view name,
                                TmapInterleave &interleave);
std::string parseTmapL2(std::string_view name, TmapL2 &l2);
std::string parseTmapOob(std::string_view name, TmapOob &oob);
std::string_view name(TmapType type);
std::string_view name(TmapSwizzle swizzle);
std::string_view name(TmapInterleave interleave);

} // namespace mx::sim

#endif // MXSIM_TENSOR_TENSORMAP_H
