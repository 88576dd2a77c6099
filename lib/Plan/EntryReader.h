//===- EntryReader.h - Read one entry of a manifest -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows what is there at each place of an entry: values, chosen buffers and
// tensor maps that the steps of a block define are gone where it ends.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_ENTRYREADER_H
#define MX_LIB_PLAN_ENTRYREADER_H

#include "Reader.h"
#include "mx/Plan/Plan.h"

namespace mx::plan {

/// Of a table that no call changes: an offset and a size have a sum.
inline constexpr int64_t kMaxBytes = INT64_MAX / 2;

/// A multiple of kWorkspaceAlignment.
int64_t readOffset(const Reader &json);

class EntryReader {
public:
  EntryReader(const Manifest &manifest, Entry &entry)
      : manifest(manifest), entry(entry) {}

  void read(const Reader &json);

private:
  void readValue(const Reader &json, Value &value);
  Argument readArgument(const Reader &json);
  void readResult(const Reader &json, Result &result);
  void readOperator(const Reader &json, Expression &expression);
  Expression readExpression(const Reader &json);
  Requirement readRequirement(const Reader &json);
  TensorMap readTensorMap(const Reader &json, bool isStep = false);
  Parameter readParameter(const Reader &json);
  Number readNumber(const Reader &json);
  /// A number that is needed before addresses are known.
  Number readSize(const Reader &json);
  std::vector<Number> readNumbers(const Reader &json) {
    return json.list<Number>([&](const Reader &n) { return readNumber(n); });
  }
  Buffer readBuffer(const Reader &json);
  /// One that a step writes.
  Buffer readTarget(const Reader &json);
  /// The number of a group of the manifest.
  unsigned readGroup(const Reader &json);
  Window readWindow(const Reader &json);
  /// One in which a collective of the group of `step` puts what arrives.
  Buffer readReceiver(const Reader &json, const Step &step);
  std::vector<Buffer> readBuffers(const Reader &json) {
    return json.list<Buffer>([&](const Reader &b) { return readBuffer(b); });
  }
  /// A number or a buffer; as many and of the same kinds as `like`.
  std::vector<Operand> readOperands(const Reader &json,
                                    const std::vector<Operand> &like);
  /// Why nothing has that name, or nothing.
  std::string explainMissing(const Number &number) const;

  std::vector<Step> readSteps(const Reader &json);
  Step readStep(const Reader &json);
  void readLaunch(const Reader &json, Step &step);
  void readAllGather(const Reader &json, Step &step);
  void readAllToAll(const Reader &json, Step &step);
  void readMemset(const Reader &json, Step &step);
  void readCopy(const Reader &json, Step &step);
  void readCompute(const Reader &json, Step &step);
  void readRequire(const Reader &json, Step &step);
  void readEncode(const Reader &json, Step &step);
  void readRead(const Reader &json, Step &step);
  void readChoose(const Reader &json, Step &step);
  void readTake(const Reader &json, Step &step);
  void readIf(const Reader &json, Step &step);
  void readSwitch(const Reader &json, Step &step);
  void readFor(const Reader &json, Step &step);
  void readWhile(const Reader &json, Step &step);
  /// A block of its own, which gives as many values as `results`.
  Block readBlock(const Reader &json, const std::vector<Operand> &results);
  /// The names that a step defines; `define` makes them known.
  std::vector<Operand> readNames(const Reader &json);
  Number readValueName(const Reader &json);
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
