//===- EntryReader.h - Reader of manifest entries ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tracks which values, chosen buffers and tensor maps are defined at each point
// of an entry. Definitions of a block end with the block.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_ENTRYREADER_H
#define MX_LIB_PLAN_ENTRYREADER_H

#include "mx/Plan/Plan.h"
#include "mxsim/io/Json.h"

namespace mx::plan {

/// Limit of offsets and sizes in constant tables, so that their sum does not
/// overflow.
inline constexpr int64_t kMaxBytes = INT64_MAX / 2;

/// Reads a multiple of kWorkspaceAlignment.
int64_t readOffset(const JsonReader &json);

class EntryReader {
public:
  EntryReader(const Manifest &manifest, Entry &entry)
      : manifest(manifest), entry(entry) {}

  void read(const JsonReader &json);

private:
  void readValue(const JsonReader &json, Value &value);
  Argument readArgument(const JsonReader &json);
  void readResult(const JsonReader &json, Result &result);
  void readOperator(const JsonReader &json, Expression &expression);
  Expression readExpression(const JsonReader &json);
  Requirement readRequirement(const JsonReader &json);
  TensorMap readTensorMap(const JsonReader &json, bool isStep = false);
  Parameter readParameter(const JsonReader &json);
  Number readNumber(const JsonReader &json);
  /// Reads a number that must not depend on addresses.
  Number readSize(const JsonReader &json);
  std::vector<Number> readNumbers(const JsonReader &json) {
    return json.list<Number>(
        [&](const JsonReader &n) { return readNumber(n); });
  }
  Buffer readBuffer(const JsonReader &json);
  /// Reads a buffer that a step writes.
  Buffer readTarget(const JsonReader &json);
  /// Reads the index of a rank group.
  unsigned readRankGroup(const JsonReader &json);
  Window readWindow(const JsonReader &json);
  /// Reads a buffer in which a collective of the rank group of `step` receives.
  Buffer readReceiver(const JsonReader &json, const Step &step);
  std::vector<Buffer> readBuffers(const JsonReader &json) {
    return json.list<Buffer>(
        [&](const JsonReader &b) { return readBuffer(b); });
  }
  /// Reads numbers or buffers, of the count and kinds of `like`.
  std::vector<Operand> readOperands(const JsonReader &json,
                                    const std::vector<Operand> &like);
  /// Returns the reason why `number` is undefined here, or "".
  std::string explainMissing(const Number &number) const;

  std::vector<Step> readSteps(const JsonReader &json);
  Step readStep(const JsonReader &json);
  void readLaunch(const JsonReader &json, Step &step);
  void readAllGather(const JsonReader &json, Step &step);
  void readAllToAll(const JsonReader &json, Step &step);
  void readMemset(const JsonReader &json, Step &step);
  void readCopy(const JsonReader &json, Step &step);
  void readCompute(const JsonReader &json, Step &step);
  void readRequire(const JsonReader &json, Step &step);
  void readEncode(const JsonReader &json, Step &step);
  void readRead(const JsonReader &json, Step &step);
  void readChoose(const JsonReader &json, Step &step);
  void readTake(const JsonReader &json, Step &step);
  void readIf(const JsonReader &json, Step &step);
  void readSwitch(const JsonReader &json, Step &step);
  void readFor(const JsonReader &json, Step &step);
  void readWhile(const JsonReader &json, Step &step);
  /// Reads a nested block with as many yields as `results`.
  Block readBlock(const JsonReader &json, const std::vector<Operand> &results);
  /// Read names that a step defines; `define` makes them visible.
  std::vector<Operand> readNames(const JsonReader &json);
  std::vector<Operand> readBufferName(const JsonReader &json);
  Number readValueName(const JsonReader &json);
  void define(const std::vector<Operand> &names);
  /// Reserves names that are not visible yet, and toggles their visibility.
  void reserve(const std::vector<Operand> &names);
  void setKnown(const std::vector<Operand> &names, bool areKnown);

  const Manifest &manifest;
  Entry &entry;
  size_t resultCount = 0, bufferCount = 0;
  /// Values in the table that depend on an address.
  std::vector<bool> addresses;
  /// Visible definitions by number; numbers are assigned in order.
  std::vector<bool> values, chosen, maps;
};

} // namespace mx::plan

#endif // MX_LIB_PLAN_ENTRYREADER_H
