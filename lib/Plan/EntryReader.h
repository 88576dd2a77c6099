//===- EntryReader.h - Reader of manifest entries ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tracks the values, chosen buffers and tensor maps defined at each
// point of an entry. Definitions in a block are visible until its end.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_ENTRYREADER_H
#define MX_LIB_PLAN_ENTRYREADER_H

#include "mx/Plan/Plan.h"
#include "mxsim/io/Json.h"

namespace mx::plan {

/// Maximum offset and maximum size in constant tables. The sum of an offset and
/// a size does not overflow.
inline constexpr int64_t kMaxBytes = INT64_MAX / 2;

/// Reads an offset, which must be a multiple of kWorkspaceAlignment.
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
  /// Reads the buffer in which a collective receives data. The buffer must
  /// belong to the rank group of `step`.
  Buffer readReceiver(const JsonReader &json, const Step &step);
  std::vector<Buffer> readBuffers(const JsonReader &json) {
    return json.list<Buffer>(
        [&](const JsonReader &b) { return readBuffer(b); });
  }
  /// Reads numbers and buffers. Their count and kinds must match `like`.
  std::vector<Operand> readOperands(const JsonReader &json,
                                    const std::vector<Operand> &like);
  /// Returns the reason why `number` is undefined at this point, or "".
  std::string explainMissing(const Number &number) const;

  std::vector<Step> readSteps(const JsonReader &json);
  Step readStep(const JsonReader &json);
  void readLaunch(const JsonReader &json, Step &step);
  void readAllGather(const JsonReader &json, Step &step);
  void readAllToAll(const JsonReader &json, Step &step);
  void readWait(const JsonReader &json, Step &step);
  void readToken(const JsonReader &json, Step &step);
  void readBarrier(const JsonReader &json, Step &step);
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
  /// Reads a nested block. Its yields must match `results`.
  Block readBlock(const JsonReader &json, const std::vector<Operand> &results);
  /// Read the names defined by a step. `define` makes the names visible.
  std::vector<Operand> readNames(const JsonReader &json);
  std::vector<Operand> readBufferName(const JsonReader &json);
  Number readValueName(const JsonReader &json);
  void define(const std::vector<Operand> &names);
  /// `reserve` reserves invisible names. `setKnown` shows or hides names.
  void reserve(const std::vector<Operand> &names);
  void setKnown(const std::vector<Operand> &names, bool areKnown);

  const Manifest &manifest;
  Entry &entry;
  size_t resultCount = 0, bufferCount = 0;
  /// True for each table value computed from an address.
  std::vector<bool> addresses;
  /// True for each visible definition. Numbers are assigned in order.
  std::vector<bool> values, chosen, maps;
  RunningCollectives running;
};

} // namespace mx::plan

#endif // MX_LIB_PLAN_ENTRYREADER_H
