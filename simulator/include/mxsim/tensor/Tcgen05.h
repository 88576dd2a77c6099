//===- Tcgen05.h - The tcgen05 mma, cp and shift instructions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Effects of tcgen05 instructions on the shared and tensor memory of a CTA or a
// CTA pair. The machine calls these functions in issue order and handles
// completion.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TCGEN05_H
#define MXSIM_TENSOR_TCGEN05_H

#include "mxsim/tensor/Descriptors.h"
#include "mxsim/tensor/Fault.h"
#include "mxsim/tensor/Memory.h"
#include "mxsim/tensor/TensorMemory.h"

namespace mx::sim {

/// Memory of a CTA that tcgen05 can access. Functions take two views for
/// cta_group::2, even rank first.
struct CtaView {
  SharedMemory shared;
  TensorMemory *tensor = nullptr;
  uint32_t owner = 0;
};

/// Method of adding the products of a K step to the old accumulator.
enum class Numerics {
  /// Exact sum, then one rounding toward zero to f32.
  Exact,
  /// Tensor-core behavior: truncate each term 25 bits below the largest
  /// exponent (35 for the kinds with K = 64, 13 for the 8-bit types of wgmma),
  /// sum, and round toward zero. Follows the model of MMA-Sim, arXiv
  /// 2511.10909.
  Truncate25,
};

struct MmaOp {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1;
  ScaleVec scaleVec = ScaleVec::Default;
  uint32_t idesc = 0;
  /// Tensor memory address of D.
  uint32_t d = 0;
  bool aInTensorMemory = false;
  uint64_t aDesc = 0;
  uint32_t aAddress = 0;
  uint64_t bDesc = 0;
  /// Scale addresses; bits 30-31 are ignored.
  uint32_t scaleA = 0, scaleB = 0;
  bool enableInputD = false;
  /// scale-input-d: D is multiplied by 2^-s (kinds f16 and tf32), 0..15.
  unsigned scaleInputD = 0;
  /// tcgen05.mma.sp: A is sparse, with its metadata at this tensor memory
  /// address.
  bool sparse = false;
  uint32_t metadata = 0;
  /// tcgen05.mma.ws and its zero-column mask descriptor (0: no column).
  bool weightStationary = false;
  uint64_t zeroColumnMask = 0;
  /// .ashift: row i of A in tensor memory is read from row i + 1; the last row
  /// is not shifted.
  bool shiftA = false;
  /// Mask of disable-output-lane: 4 words for cta_group::1, 8 words for
  /// cta_group::2, or null.
  const uint32_t *disableOutputLane = nullptr;
};
/// Performs the MMA. The operation completes even if the fault is
/// Uninitialized.
Fault mma(const MmaOp &op, const CtaView *ctas,
          Numerics numerics = Numerics::Exact);

enum class CpShape { L128x256b, L128x128b, L64x128b, L32x128b, L4x256b };
enum class CpMulticast { None, Warpx2_02_13, Warpx2_01_23, Warpx4 };
enum class CpDecompress { None, B4x16P64, B6x16P32 };
bool parseCpShape(std::string_view name, CpShape &shape);
/// Parses "warpx2::02_13", "warpx2::01_23" or "warpx4".
bool parseCpMulticast(std::string_view name, CpMulticast &multicast);
/// Parses "b4x16_p64" or "b6x16_p32".
bool parseCpDecompress(std::string_view name, CpDecompress &decompress);

struct CpOp {
  CpShape shape = CpShape::L128x256b;
  CpMulticast multicast = CpMulticast::None;
  CpDecompress decompress = CpDecompress::None;
  unsigned ctaGroup = 1;
  uint32_t address = 0;
  uint64_t desc = 0;
};
Fault copyToTensor(const CpOp &op, const CtaView *ctas);

/// Performs tcgen05.shift.down: in the 32 lanes of the address, row i receives
/// the 32 bytes (8 columns) of row i + 1; the last row is unchanged. The
/// direction is inferred from tcgen05.cp.4x256b, which refills the last row.
Fault shiftDown(uint32_t address, unsigned ctaGroup, const CtaView *ctas);

} // namespace mx::sim

#endif // MXSIM_TENSOR_TCGEN05_H
