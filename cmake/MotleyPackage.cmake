# SPDX-License-Identifier: Apache-2.0
# Builds the C API as a shared library, and installs files with `cmake --install`. Files find each
# other by relative paths, so the installed tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Programs of this build see the C++ inside; other programs see only motley_*.
add_library(motley_shared SHARED $<TARGET_OBJECTS:motley_api>)
set_target_properties(motley_shared PROPERTIES
  OUTPUT_NAME motley EXPORT_NAME motley
  VERSION ${PROJECT_VERSION} SOVERSION 1  # motley_abi_version()
  LINKER_LANGUAGE CXX LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/motley.map
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(motley_shared PRIVATE $<BUILD_INTERFACE:motley_api>)
target_link_options(motley_shared PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/motley.map -Wl,-Bsymbolic-functions
  -Wl,-z,nodelete)  # Threads may still run when a program closes the library (docs/decisions/0061).
if(NOT MOTLEY_SANITIZE)
  target_link_options(motley_shared PRIVATE -Wl,-z,defs)
endif()
target_include_directories(motley_shared INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS motley RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS motley_shared EXPORT motleyTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
get_property(motley_modules GLOBAL PROPERTY MOTLEY_KERNEL_MODULES)
install(TARGETS ${motley_modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/motley)
install(DIRECTORY include/motley DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

set(motley_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/motley)
install(EXPORT motleyTargets NAMESPACE motley:: DESTINATION ${motley_package_dir})
configure_package_config_file(cmake/motleyConfig.cmake.in ${CMAKE_BINARY_DIR}/motleyConfig.cmake
                              INSTALL_DESTINATION ${motley_package_dir})
# Before 1.0 every minor version may break compatibility.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/motleyConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/motleyConfig.cmake ${CMAKE_BINARY_DIR}/motleyConfigVersion.cmake
        DESTINATION ${motley_package_dir})

file(RELATIVE_PATH MOTLEY_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/motley.pc.in ${CMAKE_BINARY_DIR}/motley.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/motley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# A worker as a service (docs/how-to/service.md), in systemd's folder for units of packages.
install(FILES packaging/systemd/motley-worker@.service DESTINATION lib/systemd/system)
# A batch job (docs/how-to/run.md), to copy and adapt.
install(FILES packaging/slurm/motley.sbatch DESTINATION ${CMAKE_INSTALL_DATADIR}/motley/slurm)

# Files that the documentation names, and those that shells and man look for.
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB motley_profiles CONFIGURE_DEPENDS profiles/*.toml)
install(FILES ${motley_profiles} DESTINATION ${CMAKE_INSTALL_DATADIR}/motley/profiles)
install(FILES ${CMAKE_BINARY_DIR}/motley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/motley.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME motley OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/motley.zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _motley OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/motley.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)

# Removes the files of this build's last `cmake --install`.
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
          -P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake)
