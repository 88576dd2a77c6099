//===- MmaShapes.h - what tcgen05.mma can multiply --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The legal shapes, element types and scale vectors of each kind of
// tcgen05.mma, and where accumulators and scale factors lie in tensor memory.
// Dense instructions without .ws and with K at its usual width are covered;
// sparse ones and the K = 96 of sm_103a are not.
//
// Sources: PTX ISA, "tcgen05 Matrix and Data Movement Shape" (table of kinds
// and shapes), "Data Path Layout Organization", "Block Scaling for
// tcgen05.mma" (scale vectors, scale factor IDs and layouts).
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_MMASHAPES_H
#define MX_TARGET_MMASHAPES_H

#include "mx/Support/FloatFormats.h"
#include "mx/Target/TargetInfo.h"
#include <optional>
#include <string>

namespace mx::target {

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};
inline constexpr unsigned kNumMmaKinds = 7;

/// Element types of A and B.
enum class MmaType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8
};
inline constexpr unsigned kNumMmaTypes = 10;

/// Element types of D.
enum class AccumulatorType : uint8_t { F16, F32, S32 };

/// Scales of the MX formats; the instructions also take UE4M3.
inline constexpr FloatFormat kPowerOfTwoScale = FloatFormat::E8M0;

/// Every kind reads 32 bytes of K from shared memory per instruction.
inline constexpr unsigned kMmaKBytes = 32;

struct MmaKindInfo {
  MmaKind kind;
  const char *name; ///< "mxf8f6f4"
  unsigned k;
  bool blockScaled;
  uint16_t operands;    ///< bit mask over MmaType
  uint8_t accumulators; ///< bit mask over AccumulatorType
  bool transpose;       ///< MN-major operands in shared memory
  bool negate;
};

const MmaKindInfo &getInfo(MmaKind kind);
const char *getName(MmaType type);
const char *getName(AccumulatorType type);
/// Bits of one element as the format defines it.
unsigned getBits(MmaType type);
/// The operand type of a number format, none for E8M0 and UE4M3.
std::optional<MmaType> getMmaType(FloatFormat format);

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

/// One row of the table of shapes: N runs from nMin to nMax in steps of nStep.
struct MmaShapeRule {
  MmaKind kind;
  unsigned ctaGroup;
  unsigned m;
  unsigned nMin, nMax, nStep;
  /// The step that all published descriptions agree on; compilers choose their
  /// tiles with it.
  unsigned nStepPreferred;
};

Table<MmaShapeRule> getShapeRules();
/// The first row of the kind, CTA group and M, or null; N is not asked.
const MmaShapeRule *lookupShape(MmaKind kind, unsigned ctaGroup, unsigned m);

/// Empty if `m` x `n` is legal for the kind and CTA group; M counts the rows of
/// both CTAs of a pair.
std::string checkMmaShape(MmaKind kind, unsigned ctaGroup, unsigned m,
                          unsigned n);
/// The same for MN-major B with 8-bit elements, which restricts N further.
std::string checkTransposedB8(unsigned ctaGroup, unsigned n);
/// Empty if the kind multiplies A by B into D.
std::string checkMmaTypes(MmaKind kind, MmaType a, MmaType b,
                          AccumulatorType d);
/// Empty if the chip has the kind.
std::string checkMmaKind(const TargetInfo &target, MmaKind kind);

//===----------------------------------------------------------------------===//
// Scale vectors
//===----------------------------------------------------------------------===//

/// One way in which a kind may be scaled.
struct ScaleVectorRule {
  MmaKind kind;
  FloatFormat format;
  unsigned blockSize;   ///< elements of K that share a scale
  unsigned scaleIdStep; ///< legal scale ids are multiples of it below 4
  const char *block;    ///< PTX: ".block32"
};

Table<ScaleVectorRule> getScaleVectorRules();

/// The rule for a kind, block size and scale format, or null with a message.
const ScaleVectorRule *lookupScaleVector(MmaKind kind, unsigned blockSize,
                                         FloatFormat format,
                                         std::string &error);
/// Empty if the scale id selects bytes that the rule allows.
std::string checkScaleId(const ScaleVectorRule &rule, unsigned scaleId);

/// The kind with the highest rate that multiplies A by B with the given
/// scaling, or none.
std::optional<MmaKind> selectBlockScaledKind(MmaType a, MmaType b,
                                             unsigned blockSize,
                                             FloatFormat format);

//===----------------------------------------------------------------------===//
// Places in tensor memory
//===----------------------------------------------------------------------===//

/// Rows served by one 4-column group of scale words.
inline constexpr unsigned kScaleRowsPerGroup = 128;
inline constexpr unsigned kScaleColumnsPerGroup = 4;

/// Lanes of tensor memory. A warp reaches those of its number modulo
/// kWarpGroupWarps (PTX ISA, tcgen05 access restrictions); in addresses the
/// lane stands above the column's bits.
inline constexpr unsigned kTmemLanes = 128;
inline constexpr unsigned kTmemLaneShift = 16;

/// Columns that an M x N accumulator takes in each CTA.
unsigned accumulatorColumns(unsigned ctaGroup, unsigned m, unsigned n);

/// Columns of scale words that one instruction reads in each CTA. Copies fill
/// whole groups of four columns.
unsigned scaleAColumns(unsigned ctaGroup, unsigned m);
unsigned scaleBColumns(unsigned ctaGroup, unsigned m, unsigned n);

} // namespace mx::target

#endif // MX_TARGET_MMASHAPES_H
