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
install(TARGETS MXUsage ${_mx_libraries} ${_mx_tools} EXPORT MXTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(_mx_shared)
  install(TARGETS ${_mx_shared} EXPORT MXRuntimeTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# So is the compiler's C interface: what it needs is within it.
if(TARGET MXCAPI)
  install(TARGETS MXCAPI EXPORT MXCAPITargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET MXPlugin)
  install(TARGETS MXPlugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Headers and .td files, ours and those that tablegen wrote.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ ${CMAKE_BINARY_DIR}/include/
  ${CMAKE_SOURCE_DIR}/simulator/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)
if(EXISTS ${CMAKE_SOURCE_DIR}/runtime/include)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endif()
# The Python package finds the runtime two directories up.
mx_install_package(${CMAKE_INSTALL_LIBDIR}/python)
# What other compilers' tests use, and a project to begin with.
set(_mx_lit_files
  ${CMAKE_SOURCE_DIR}/test/python/mx_suite.py ${CMAKE_SOURCE_DIR}/simulator/scripts/find_ptxas.py)
install(FILES ${_mx_lit_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/mx/lit)
if(MX_BUILD_COMPILER)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/template
    DESTINATION ${CMAKE_INSTALL_DATADIR}/mx PATTERN "__pycache__" EXCLUDE)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/mx)

# --- The package --------------------------------------------------------------

set(_mx_exports MXTargets)
if(_mx_shared)
  list(APPEND _mx_exports MXRuntimeTargets)
endif()
if(TARGET MXCAPI)
  list(APPEND _mx_exports MXCAPITargets)
endif()
foreach(name ${_mx_exports})
  install(EXPORT ${name} NAMESPACE MX:: DESTINATION ${MX_INSTALL_CMAKEDIR})
  export(EXPORT ${name} NAMESPACE MX:: FILE ${MX_BUILD_CMAKEDIR}/${name}.cmake)
endforeach()

write_basic_package_version_file(${MX_BUILD_CMAKEDIR}/MXConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

# The build tree keeps things in several places; the install tree in folders
# that are named from where the package lies, so that a prefix may move.
file(RELATIVE_PATH _mx_up /prefix/${MX_INSTALL_CMAKEDIR} /prefix)
set(MX_CONFIG_INCLUDE_DIRS "${CMAKE_SOURCE_DIR}/include;${CMAKE_BINARY_DIR}/include;${CMAKE_SOURCE_DIR}/simulator/include;${CMAKE_SOURCE_DIR}/runtime/include")
set(MX_CONFIG_TOOLS_DIR ${CMAKE_BINARY_DIR}/bin)
set(MX_CONFIG_LIBRARY_DIR ${CMAKE_BINARY_DIR}/lib)
set(MX_CONFIG_PYTHON_DIR ${CMAKE_SOURCE_DIR}/python)
set(MX_CONFIG_LIT_DIR ${CMAKE_BINARY_DIR}/lit)
foreach(file ${_mx_lit_files})
  get_filename_component(name ${file} NAME)
  configure_file(${file} ${MX_CONFIG_LIT_DIR}/${name} COPYONLY)
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/MXConfig.cmake.in
  ${MX_BUILD_CMAKEDIR}/MXConfig.cmake @ONLY)

set(MX_CONFIG_INCLUDE_DIRS "\${_mx_prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
set(MX_CONFIG_TOOLS_DIR "\${_mx_prefix}/${CMAKE_INSTALL_BINDIR}")
set(MX_CONFIG_LIBRARY_DIR "\${_mx_prefix}/${CMAKE_INSTALL_LIBDIR}")
set(MX_CONFIG_PYTHON_DIR "\${_mx_prefix}/${CMAKE_INSTALL_LIBDIR}/python")
set(MX_CONFIG_LIT_DIR "\${_mx_prefix}/${CMAKE_INSTALL_DATADIR}/mx/lit")
configure_file(${CMAKE_CURRENT_LIST_DIR}/MXConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake-install/MXConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake-install/MXConfig.cmake
  ${MX_BUILD_CMAKEDIR}/MXConfigVersion.cmake DESTINATION ${MX_INSTALL_CMAKEDIR})
