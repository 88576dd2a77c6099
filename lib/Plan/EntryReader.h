//===- EntryReader.h - Read one entry of a manifest -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows what is there at each place of an entry: values, chosen buffers and
// tensor maps that the steps of a block define are gone where it ends.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_ENTRYREADER_H
#define MX_LIB_PLAN_ENTRYREADER_H

#include "mx/Plan/Plan.h"
#include "mxsim/io/Json.h"

namespace mx::plan {

/// Of a table that no call changes: an offset and a size have a sum.
inline constexpr int64_t kMaxBytes = INT64_MAX / 2;

/// A multiple of kWorkspaceAlignment.
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
  /// A number that is needed before addresses are known.
  Number readSize(const JsonReader &json);
  std::vector<Number> readNumbers(const JsonReader &json) {
    return json.list<Number>(
        [&](const JsonReader &n) { return readNumber(n); });
  }
  Buffer readBuffer(const JsonReader &json);
  /// One that a step writes.
  Buffer readTarget(const JsonReader &json);
  /// The number of a group of the manifest.
  unsigned readRankGroup(const JsonReader &json);
  Window readWindow(const JsonReader &json);
  /// One in which a collective of the group of `step` puts what arrives.
  Buffer readReceiver(const JsonReader &json, const Step &step);
  std::vector<Buffer> readBuffers(const JsonReader &json) {
    return json.list<Buffer>(
        [&](const JsonReader &b) { return readBuffer(b); });
  }
  /// A number or a buffer; as many and of the same kinds as `like`.
  std::vector<Operand> readOperands(const JsonReader &json,
                                    const std::vector<Operand> &like);
  /// Why nothing has that name, or nothing.
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
  /// A block of its own, which gives as many values as `results`.
  Block readBlock(const JsonReader &json, const std::vector<Operand> &results);
  /// The names that a step defines; `define` makes them known.
  std::vector<Operand> readNames(const JsonReader &json);
  std::vector<Operand> readBufferName(const JsonReader &json);
  Number readValueName(const JsonReader &json);
  void define(const std::vector<Operand> &names);
  /// Takes names that mean nothing yet, and later says whether they do.
  void reserve(const std::vector<Operand> &names);
  void setKnown(const std::vector<Operand> &names, bool areKnown);

  const Manifest &manifest;
  Entry &entry;
  size_t resultCount = 0, bufferCount = 0;
  /// Of the values in the table, which follow from an address.
  std::vector<bool> addresses;
  /// What can be referred to here, by number; names are given in order.
  std::vector<bool> values, chosen, maps;
};

} // namespace mx::plan

#endif // MX_LIB_PLAN_ENTRYREADER_H
