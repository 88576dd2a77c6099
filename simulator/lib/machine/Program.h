//===- Program.h - Executable form of a kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each PTX instruction is decoded once into 48 bytes with a handler for 32
// lanes and the operand slots. A register is an array with an element per lane.
// Its size is 128 bytes for elements of up to 32 bits, 256 bytes for 64 bits,
// and 512 bytes for 128 bits. A predicate is a word with a bit per lane.
// Handlers are thus simple, vectorizable loops. Immediates are registers of a
// constant pool.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_PROGRAM_H
#define MXSIM_LIB_MACHINE_PROGRAM_H

#include "../ptx/AST.h"
#include "../ptx/MemoryScope.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mx::sim {

class InstructionSet;
class Warp;
struct Instr;

/// Executes `i` for the lanes in `mask`. Returns the next instruction, or null
/// if the group of lanes must wait (the warp stores the reason).
using Handler = const Instr *(*)(Warp & w, const Instr *i, uint32_t mask);

/// Byte offset of a register. Bit 0 selects the constant pool instead of the
/// register file; bit 1 negates a predicate on reads.
using Slot = uint32_t;
constexpr Slot kSlotConstant = 1, kSlotNegated = 2;
constexpr Slot kNoSlot = ~0u;
/// Elements of a vector operand.
constexpr unsigned kMaxVector = 8;

struct Instr {
  Handler fn = nullptr;
  Slot guard = kNoSlot;
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot;
  /// Handler-specific: a small number, or the index of the first Program::extra
  /// entry.
  uint32_t aux = 0;
  uint32_t aux2 = 0;
  int64_t imm = 0;
};

/// Flow of values from operands to results, for tracking undefined values.
enum class DataFlow : uint8_t {
  Decides,  ///< address, branch, memory or engine operand; no result
  Computes, ///< results depend on the operands of the same lane
  Selects,  ///< selp: results depend on one of two operands
  Masks,    ///< and, or, setp with and/or: one operand may suffice
  Loads,    ///< results are loaded; the operands are addresses
  Stores,   ///< operands other than the address are stored
  Shuffles, ///< a result is the first operand of another lane
  Gathers,  ///< results depend on the first operands of all members
  Scales,   ///< block-scaled mma: only some lanes supply scales
  Moves,    ///< each result element equals its operand element
};

/// Returns the data flow of all but the last instruction of an expansion.
/// `flow` is the data flow of the last instruction.
inline DataFlow getFlowBefore(DataFlow flow) {
  return flow == DataFlow::Selects || flow == DataFlow::Masks ||
                 flow == DataFlow::Moves
             ? DataFlow::Computes
             : flow;
}

struct InstrInfo {
  uint32_t line = 0;
  int32_t loc = -1;
  const ptx::Function *function = nullptr;
  const ptx::Instruction *source = nullptr;
  /// Ranges in Program::uses and Program::defs.
  uint32_t firstUse = 0, numUses = 0, firstDef = 0, numDefs = 0;
  bool isMove = false;  ///< copies values without using them
  bool isFirst = false; ///< first instruction of an expansion
  /// Accesses .shared::cta, the shared memory of the executing CTA only.
  bool isOfOwnCta = false;
  DataFlow flow = DataFlow::Decides;
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  IsExplicitCluster,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  TotalSmem,
  AggrSmem,
  DynamicSmem,
  ReservedSmemBegin,
  ReservedSmemEnd,
  GridWorkspaceHigh, ///< workspace of a cooperative launch
  GridWorkspaceLow,
  SharedAddress, ///< `value` plus the bits of the CTA's rank
  Clock,
  Clock64,
  ClockHi,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  Zero,
};

/// Register initialized when a warp starts.
struct SpecialSlot {
  Special kind;
  Slot slot;
  unsigned laneBytes; ///< 4 or 8
  int64_t value;
};

struct Program {
  const ptx::Function *kernel = nullptr;
  std::vector<Instr> code;
  std::vector<InstrInfo> info;
  std::vector<Slot> uses, defs;
  std::vector<Slot> extra;
  std::vector<uint8_t> constants;
  std::vector<SpecialSlot> specials;
  uint32_t registerBytes = 0;
  /// Registers of a thread at entry, or 0 if the assembler ignores setmaxnreg.
  uint32_t registersAtEntry = 0;
  uint32_t localBytes = 0;
  uint32_t staticSharedEnd = 0; ///< offset of the first free byte
  uint32_t dynamicSharedAlign = 16;
  /// Variables in shared memory by offset, for messages.
  std::vector<const ptx::Variable *> sharedVariables;
  bool usesTensorMemory = false;
  unsigned ctaGroup = 0; ///< cta_group of the tcgen05 instructions
  /// Bit mask of the MemoryScopes named by instructions.
  uint32_t memoryScopes = 0;
  /// Errors of unsupported instructions, indexed by Instr::aux.
  std::vector<std::string> messages;
  const InstructionSet *instructions = nullptr; ///< used to decode the program

  const InstrInfo &infoOf(const Instr *i) const {
    return info[i - code.data()];
  }
};

/// The first 1 KiB belongs to the system (PTX ISA, "reserved shared memory").
constexpr uint32_t kReservedShared = 1024;
constexpr unsigned kRankShift = 24;
constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;

/// State space windows in the generic address space. Global addresses are
/// identical to generic addresses.
constexpr uint64_t kSharedWindow = 0x7d0000000000ull;
constexpr uint64_t kLocalWindow = 0x7c0000000000ull;
constexpr uint64_t kParamWindow = 0x7b0000000000ull;
constexpr uint64_t kWindowBytes = 1ull << 32;
/// First parameter-space address of parameter variables of inlined functions,
/// which are stored in the local memory frame.
constexpr uint64_t kLocalParams = 1ull << 20;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_PROGRAM_H
