//===- TensorMap.h - Tensor maps of the simulator ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a tensor map by the arguments of cuTensorMapEncodeTiled, checks the
// constraints of the driver, and converts to and from the 128-byte hardware
// image.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TENSORMAP_H
#define MXSIM_TENSOR_TENSORMAP_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::sim {

/// CUtensorMapDataType, with the values of the driver.
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
/// The driver rejects boxes larger than the shared memory of an SM.
constexpr uint64_t maxBoxBytes = 228 * 1024;

/// Arguments of a map. Dimensions are innermost first, in elements; strides are
/// in bytes, starting with dimension 1.
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

/// Returns the bits of an element in global memory; packed types use 4 or 6.
unsigned elementBits(TmapType type);
bool isFloat(TmapType type);
/// Returns true for types that unpack 16 elements into 16 bytes.
bool isPaddedType(TmapType type);
/// Returns the span of a swizzle pattern in bytes: 0, 32, 64 or 128.
unsigned swizzleSpan(TmapSwizzle swizzle);
/// Returns the physical address of the byte at unswizzled address `address`.
/// All patterns act on absolute shared-memory addresses (PTX ISA, swizzling
/// modes).
uint32_t swizzleAddress(TmapSwizzle swizzle, uint32_t address);
/// Returns the number of elements that a load transfers in dimension `dim`:
/// ceil(box / element stride).
uint32_t boxElements(const TensorMapDesc &map, unsigned dim);

/// Returns the box size in bytes according to the driver's formula. If an
/// extent is not a multiple of its stride, the remainder is ignored. Strides
/// must not be 0.
uint64_t boxBytes(const TensorMapDesc &map);

/// Returns the first violated constraint of cuTensorMapEncodeTiled, or an empty
/// string.
std::string validate(const TensorMapDesc &map);

/// Writes the image of a valid map, as the driver does on an H200. Features
/// that an H200 lacks (packed types, swizzle atomicity) are unverified.
void encodeTensorMap(const TensorMapDesc &map, uint8_t *image);
/// Decodes an image. Returns the first field that is illegal for tiled copies,
/// or an empty string. Checks no other constraint; call validate() before use.
/// Reserved bits and the last 64 bytes are ignored, as on an H200.
std::string decodeTensorMap(const uint8_t *image, TensorMapDesc &map);

/// The .field operand of tensormap.replace.
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
/// Parses the PTX spelling of a field ("global_address", "box_dim", ...).
bool parseTensorMapField(std::string_view name, TensorMapField &field);

/// Performs tensormap.replace. `value` is encoded as in the instruction (rank
/// minus one, immediate codes for enumerations); `ordinal` selects the
/// dimension of per-dimension fields. Changes only this field, even in an
/// invalid image. Returns an error message if the value does not fit the field,
/// or an empty string; the hardware drops the excess bits.
std::string replaceTensorMapField(uint8_t *image, TensorMapField field,
                                  unsigned ordinal, uint64_t value);

/// Parse the spellings of launch files: "u8", "bf16", "u6_align16"; "none",
/// "128b_atom32"; "16b"; "256b"; "nan". Return an empty string, or the list of
/// valid names.
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
