//===- Instructions.cpp - The PTX instruction set -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Instructions.h"

using namespace mx::sim;

namespace {

class PTXInstructions final : public InstructionSet {
public:
  PTXInstructions() {
    addIntegerInstructions(table);
    addBitInstructions(table);
    addVideoInstructions(table);
    addFloatInstructions(table);
    addFloatFunctions(table);
    addFloatSelection(table);
    addConversionInstructions(table);
    addMoveInstructions(table);
    addControlInstructions(table);
    addCallInstructions(table);
    addMemoryInstructions(table);
    addAtomicInstructions(table);
    addWarpInstructions(table);
    addBarrierInstructions(table);
    addMbarrierInstructions(table);
    addBulkInstructions(table);
    addFenceInstructions(table);
    addLaunchControlInstructions(table);
    addTensorMapInstructions(table);
    addTensorInstructions(table);
    addMatrixMoveInstructions(table);
    addMmaSyncInstructions(table);
    addWmmaInstructions(table);
    addWgmmaInstructions(table);
  }

  DecodeFn decoderOf(std::string_view opcode) const override {
    auto it = table.find(opcode);
    return it == table.end() ? nullptr : it->second;
  }
  DataFlow dataFlowOf(const ptx::Instruction &i) const override {
    return mx::sim::dataFlowOf(i);
  }
  const SystemCall *findSystemCall(std::string_view name) const override {
    return mx::sim::findSystemCall(name);
  }
  Handler touchOf(const ptx::Instruction &source) const override {
    return mx::sim::touchOf(source);
  }
  uint32_t lanesOfScales(Warp &w, const Instr *i, Slot slot) const override {
    return mx::sim::lanesOfScales(w, i, slot);
  }

private:
  DecodeTable table;
};

} // namespace

const InstructionSet &mx::sim::ptxInstructions() {
  static const PTXInstructions instructions;
  return instructions;
}
