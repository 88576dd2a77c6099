//===- Instructions.h - The PTX instruction set -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of opcodes adds its decode functions to a table indexed by
// opcode.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_INSTRUCTIONS_H
#define MXSIM_LIB_EXEC_INSTRUCTIONS_H

#include "../machine/InstructionSet.h"

#include <unordered_map>

namespace mx::sim {

const InstructionSet &ptxInstructions();

using DecodeTable = std::unordered_map<std::string_view, DecodeFn>;
void addIntegerInstructions(DecodeTable &table);
void addBitInstructions(DecodeTable &table);
void addVideoInstructions(DecodeTable &table);
void addFloatInstructions(DecodeTable &table);
void addFloatFunctions(DecodeTable &table);
void addFloatSelection(DecodeTable &table);
void addConversionInstructions(DecodeTable &table);
void addMoveInstructions(DecodeTable &table);
void addControlInstructions(DecodeTable &table);
void addCallInstructions(DecodeTable &table);
void addMemoryInstructions(DecodeTable &table);
void addAtomicInstructions(DecodeTable &table);
void addWarpInstructions(DecodeTable &table);
void addBarrierInstructions(DecodeTable &table);
void addMbarrierInstructions(DecodeTable &table);
void addBulkInstructions(DecodeTable &table);
void addFenceInstructions(DecodeTable &table);
void addLaunchControlInstructions(DecodeTable &table);
void addTensorMapInstructions(DecodeTable &table);
void addTensorInstructions(DecodeTable &table);
void addMatrixMoveInstructions(DecodeTable &table);
void addMmaSyncInstructions(DecodeTable &table);
void addWmmaInstructions(DecodeTable &table);
void addWgmmaInstructions(DecodeTable &table);

// See InstructionSet.
DataFlow dataFlowOf(const ptx::Instruction &i);
const SystemCall *findSystemCall(std::string_view name);
Handler touchOf(const ptx::Instruction &source);
uint32_t lanesOfScales(Warp &w, const Instr *i, Slot slot);

/// Executes bar.warp.sync; a: member mask.
const Instr *warpSync(Warp &w, const Instr *i, uint32_t mask);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_INSTRUCTIONS_H
