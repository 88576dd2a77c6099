//===- Devices.cpp - Selection of devices ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "mx/Launch/EntryCall.h"
#include "mx/Launch/RuntimeStatus.h"

using namespace mx;

llvm::Error mx::takeRuntimeError() {
  int status = 0;
  std::string text = takeRuntimeMessage(status);
  return makeError(text, getExitStatus(status));
}

llvm::StringRef mx::stringifyDeviceKind(DeviceKind device) {
  constexpr llvm::StringLiteral kNames[] = {"cpu", "sim", "cuda"};
  return kNames[unsigned(device)];
}

std::string mx::selectChip(llvm::StringRef device) {
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  bool isGpu =
      device != "cpu" && device != "sim" && !device.starts_with("sim:");
  for (const target::TargetInfo &target : target::getTargets()) {
    mxDeviceInfo info = mxSized<mxDeviceInfo>();
    if (isGpu && target.hasMma() &&
        mxSetDeviceForTarget(device.str().c_str(), target.chip) == MX_SUCCESS &&
        mxGetDeviceInfo(&info) == MX_SUCCESS &&
        llvm::StringRef(info.kind) != "sim" && mxCanRunTarget(target.chip))
      return target.chip;
  }
  // Drop the errors, because selectDevice reports them again.
  mxClearError();
  return target::kDefaultChip;
}

llvm::Expected<DeviceKind> mx::selectDevice(llvm::StringRef name,
                                            const std::string &chip) {
  if (name == "cpu")
    return DeviceKind::CPU;
  if (name != "auto" && name != "sim" && name != "cuda" &&
      !name.starts_with("cuda:") && !name.starts_with("sim:"))
    return makeError(
        "expected device auto, sim, sim:N, cuda, cuda:N or cpu, found '" +
        name + "': a GPU is cuda or cuda:N");
  // Return errors as statuses: tools print them.
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  if (mxSetDeviceForTarget(name.str().c_str(), chip.c_str()) != MX_SUCCESS ||
      mxGetDeviceInfo(&info) != MX_SUCCESS)
    return takeRuntimeError();
  return llvm::StringRef(info.kind) == "sim" ? DeviceKind::Sim
                                             : DeviceKind::CUDA;
}
