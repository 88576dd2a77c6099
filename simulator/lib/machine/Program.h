//===- Program.h - a kernel in the form that is executed --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each PTX instruction is decoded once into 48 bytes: a function that executes
// it for 32 lanes and the places of its operands. Registers live lane after
// lane (128 bytes for up to 32 bits, 256 for 64, 512 for 128; a predicate is
// one word with a bit per lane), so that a handler is a loop over 32 lanes that
// compilers vectorise. Immediates are registers of a constant pool.
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

/// Executes `i` for the lanes in `mask` and returns the next instruction, or
/// null when the group of lanes cannot go on now (Warp says why).
using Handler = const Instr *(*)(Warp & w, const Instr *i, uint32_t mask);

/// Byte offset of a register. Bit 0: in the constant pool instead of the
/// register file; bit 1: a predicate that is read negated.
using Slot = uint32_t;
constexpr Slot kSlotConstant = 1, kSlotNegated = 2;
constexpr Slot kNoSlot = ~0u;
/// Elements of a vector operand.
constexpr unsigned kMaxVector = 8;

struct Instr {
  Handler fn = nullptr;
  Slot guard = kNoSlot;
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot;
  /// Handler's choice: a small number, or the first of several Program::extra.
  uint32_t aux = 0;
  uint32_t aux2 = 0;
  int64_t imm = 0;
};

/// What an instruction makes of an operand that is undefined in some lanes.
enum class DataFlow : uint8_t {
  Decides,  ///< an address, a branch, memory, another engine: no result of it
  Computes, ///< a lane's results depend on the operands of that lane
  Selects,  ///< selp: on one of two operands
  Masks,    ///< and, or, and setp with them: one operand may settle the result
  Loads,    ///< results are what memory holds, the operands are addresses
  Stores,   ///< operands but for the address are stored
  Shuffles, ///< a lane's result is the first operand of another lane
  Gathers,  ///< members' results depend on the first operands of all members
  Scales,   ///< mma with block scales, of which some lanes hold those read
  Moves,    ///< each element of the result is the one of the operand
};

/// Returns the flow of an instruction that comes before the last one that a
/// source becomes, and has other operands.
inline DataFlow getFlowBefore(DataFlow flow) {
  return flow == DataFlow::Selects || flow == DataFlow::Masks ||
                 flow == DataFlow::Moves
             ? DataFlow::Computes
             : flow;
}

/// What reports and checks need to know about an instruction.
struct InstrInfo {
  uint32_t line = 0;
  int32_t loc = -1;
  const ptx::Function *function = nullptr;
  const ptx::Instruction *source = nullptr;
  /// Ranges in Program::uses and Program::defs.
  uint32_t firstUse = 0, numUses = 0, firstDef = 0, numDefs = 0;
  bool isMove = false;  ///< passes values on without looking at them
  bool isFirst = false; ///< of those that its source has become
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
  GridWorkspaceHigh, ///< of a cooperative launch
  GridWorkspaceLow,
  SharedAddress, ///< `value` plus the bits of the own rank
  Clock,
  Clock64,
  ClockHi,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  Zero,
};

/// A register that is filled when a warp starts.
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
  uint32_t localBytes = 0;
  uint32_t staticSharedEnd = 0; ///< offset of the first free byte
  uint32_t dynamicSharedAlign = 16;
  /// Variables in shared memory by offset, for messages.
  std::vector<const ptx::Variable *> sharedVariables;
  bool usesTensorMemory = false;
  unsigned ctaGroup = 0; ///< of its tcgen05 instructions
  /// Bit `MemoryScope` for each that an instruction names.
  uint32_t memoryScopes = 0;
  /// Why instructions are unsupported; Instr::aux is the index.
  std::vector<std::string> messages;
  const InstructionSet *instructions = nullptr; ///< that it was decoded with

  const InstrInfo &infoOf(const Instr *i) const {
    return info[i - code.data()];
  }
};

/// PTX ISA "reserved shared memory": 1 KiB at the start belongs to the system.
constexpr uint32_t kReservedShared = 1024;
constexpr unsigned kRankShift = 24;
constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;

/// Where the state spaces lie in the generic address space. Global memory is
/// generic memory as it is.
constexpr uint64_t kSharedWindow = 0x7d0000000000ull;
constexpr uint64_t kLocalWindow = 0x7c0000000000ull;
constexpr uint64_t kParamWindow = 0x7b0000000000ull;
constexpr uint64_t kWindowBytes = 1ull << 32;
/// Parameter variables of inlined functions lie in the frame in local memory;
/// in parameter space their addresses begin here.
constexpr uint64_t kLocalParams = 1ull << 20;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_PROGRAM_H
