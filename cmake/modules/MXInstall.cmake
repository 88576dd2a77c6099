# Install rules, and the package that find_package(MX) finds in the build tree
# and in the install tree.

include(CMakePackageConfigHelpers)
include(CollectTargets)

set(MX_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/mx)
set(MX_BUILD_CMAKEDIR ${CMAKE_BINARY_DIR}/lib/cmake/mx)

# --- Libraries, programs, headers ---------------------------------------------

get_property(_mx_libraries GLOBAL PROPERTY MX_LIBRARIES)
get_property(_mx_tools GLOBAL PROPERTY MX_TOOLS)

# The runtime's shared libraries.
mx_collect_targets(_mx_runtime ${CMAKE_SOURCE_DIR}/runtime)
set(_mx_shared)
foreach(target ${_mx_runtime})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    list(APPEND _mx_shared ${target})
  endif()
endforeach()

# The runtime is exported by itself: its users need neither LLVM nor MLIR.
install(TARGETS ${_mx_libraries} ${_mx_tools} EXPORT MXTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(_mx_shared)
  install(TARGETS ${_mx_shared} EXPORT MXRuntimeTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET MXPlugin)
  install(TARGETS MXPlugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Headers and .td files, ours and those that tablegen wrote.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ ${CMAKE_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)
if(EXISTS ${CMAKE_SOURCE_DIR}/runtime/include)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endif()
# The Python package finds the runtime two directories up.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/mx
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/python FILES_MATCHING PATTERN "*.py")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/mx)

# --- The package --------------------------------------------------------------

set(_mx_exports MXTargets)
if(_mx_shared)
  list(APPEND _mx_exports MXRuntimeTargets)
endif()
foreach(name ${_mx_exports})
  install(EXPORT ${name} NAMESPACE MX:: DESTINATION ${MX_INSTALL_CMAKEDIR})
  export(EXPORT ${name} NAMESPACE MX:: FILE ${MX_BUILD_CMAKEDIR}/${name}.cmake)
endforeach()

write_basic_package_version_file(${MX_BUILD_CMAKEDIR}/MXConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

# The build tree keeps headers in several places, the install tree in one.
set(MX_CONFIG_INCLUDE_DIRS "${CMAKE_SOURCE_DIR}/include;${CMAKE_BINARY_DIR}/include;${CMAKE_SOURCE_DIR}/runtime/include")
set(MX_CONFIG_TOOLS_DIR ${CMAKE_BINARY_DIR}/bin)
set(MX_CONFIG_PLUGIN ${CMAKE_BINARY_DIR}/lib/MXPlugin${CMAKE_SHARED_MODULE_SUFFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/MXConfig.cmake.in
  ${MX_BUILD_CMAKEDIR}/MXConfig.cmake @ONLY)

file(RELATIVE_PATH _mx_up /prefix/${MX_INSTALL_CMAKEDIR} /prefix)
set(_mx_prefix "\${CMAKE_CURRENT_LIST_DIR}/${_mx_up}")
set(MX_CONFIG_INCLUDE_DIRS "${_mx_prefix}${CMAKE_INSTALL_INCLUDEDIR}")
set(MX_CONFIG_TOOLS_DIR "${_mx_prefix}${CMAKE_INSTALL_BINDIR}")
set(MX_CONFIG_PLUGIN "${_mx_prefix}${CMAKE_INSTALL_LIBDIR}/MXPlugin${CMAKE_SHARED_MODULE_SUFFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/MXConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake-install/MXConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake-install/MXConfig.cmake
  ${MX_BUILD_CMAKEDIR}/MXConfigVersion.cmake DESTINATION ${MX_INSTALL_CMAKEDIR})
