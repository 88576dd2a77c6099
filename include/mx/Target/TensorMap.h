//===- TensorMap.h - Rules of tiled tensor maps -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of the driver's encode call for tiled tensor maps, with their
// rules. Verifiers and the runtime check maps first, because the driver only
// reports "invalid value". Source: CUDA Driver API, "Tensor Map Object
// Management", cuTensorMapEncodeTiled.
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_TENSORMAP_H
#define MX_TARGET_TENSORMAP_H

#include "mx/Support/Swizzle.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace mx::target {

/// Values match CUtensorMapDataType.
enum class TensorMapType : uint8_t {
  U8 = 0,
  U16,
  U32,
  I32,
  U64,
  I64,
  F16,
  F32,
  F64,
  BF16,
  F32FTZ,
  TF32,
  TF32FTZ,
  U4Align8,  ///< packed nibbles, dense in shared memory
  U4Align16, ///< 16 nibbles in a 16-byte slot
  U6Align16  ///< 16 six-bit values in a 16-byte slot
};
inline constexpr unsigned kNumTensorMapTypes = 16;

enum class TensorMapInterleave : uint8_t { None = 0, B16, B32 };
enum class TensorMapL2 : uint8_t { None = 0, B64, B128, B256 };
enum class TensorMapFill : uint8_t { Zero = 0, NaN };

inline constexpr unsigned kTensorMapBytes = 128;
inline constexpr unsigned kTensorMapAlignment = 64;
inline constexpr unsigned kTensorMapMaxRank = 5;
inline constexpr unsigned kTensorMapMaxBox = 256;
/// Minimum alignment of addresses and strides in bytes.
inline constexpr unsigned kTensorMapStrideUnit = 16;
/// Inner box dimension of the padded types, in elements.
inline constexpr unsigned kTensorMapPaddedBox = 128;
/// Maximum size of a box. Undocumented: the driver rejects boxes larger than
/// the shared memory of an SM.
inline constexpr uint64_t kTensorMapMaxBoxBytes = 228 * 1024;
inline constexpr uint64_t kTensorMapMaxDim = uint64_t(1) << 32;
inline constexpr uint64_t kTensorMapStrideLimit = uint64_t(1) << 40;
/// Alignment of shared memory that cp.async.bulk.tensor writes.
inline constexpr unsigned kTmaSmemAlignment = 128;

struct TensorMapTypeInfo {
  TensorMapType type;
  const char *name;  ///< "bf16", "u4_align16"
  unsigned bits;     ///< bits of an element in global memory
  unsigned smemBits; ///< average bits of an element in shared memory
  bool isFloat;
};

const TensorMapTypeInfo &getInfo(TensorMapType type);
const char *getName(TensorMapInterleave interleave);
const char *getName(TensorMapL2 l2);
const char *getName(TensorMapFill fill);

/// Dimensions are innermost first, in elements. Strides are in bytes and start
/// at dimension 1.
struct TensorMapDesc {
  TensorMapType type = TensorMapType::U8;
  unsigned rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, kTensorMapMaxRank> dims{};
  std::array<uint64_t, kTensorMapMaxRank - 1> strides{};
  std::array<uint32_t, kTensorMapMaxRank> box{};
  std::array<uint32_t, kTensorMapMaxRank> elementStrides{{1, 1, 1, 1, 1}};
  TensorMapInterleave interleave = TensorMapInterleave::None;
  Swizzle swizzle = Swizzle::None;
  TensorMapL2 l2 = TensorMapL2::None;
  TensorMapFill fill = TensorMapFill::Zero;

  bool operator==(const TensorMapDesc &other) const {
    auto all = [](const TensorMapDesc &d) {
      return std::tie(d.type, d.rank, d.globalAddress, d.dims, d.strides, d.box,
                      d.elementStrides, d.interleave, d.swizzle, d.l2, d.fill);
    };
    return all(*this) == all(other);
  }
};

/// Returns the first violated rule with the expected and the found value, or an
/// empty string.
std::string check(const TensorMapDesc &desc);

/// Returns the elements of a box along a dimension: ceil(box / element stride).
uint32_t boxElements(const TensorMapDesc &desc, unsigned dim);
/// Returns the bytes that a load of a full box adds to an mbarrier: packed
/// bytes, including elements out of bounds, but not the gaps of the row pitch.
uint64_t boxTransactionBytes(const TensorMapDesc &desc);

} // namespace mx::target

#endif // MX_TARGET_TENSORMAP_H
