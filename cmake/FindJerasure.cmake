# SPDX-License-Identifier: Apache-2.0
# Defines Jerasure::Jerasure, including GF-Complete. Neither has a pkg-config file.
find_path(Jerasure_INCLUDE_DIR jerasure.h)
find_path(Jerasure_PARTS_INCLUDE_DIR galois.h PATH_SUFFIXES jerasure)
find_library(Jerasure_LIBRARY Jerasure)
find_library(Jerasure_GF_LIBRARY gf_complete)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jerasure
  REQUIRED_VARS Jerasure_LIBRARY Jerasure_GF_LIBRARY Jerasure_INCLUDE_DIR Jerasure_PARTS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libjerasure-dev and libgf-complete-dev")
if(Jerasure_FOUND AND NOT TARGET Jerasure::Jerasure)
  add_library(Jerasure::Jerasure UNKNOWN IMPORTED)
  set_target_properties(Jerasure::Jerasure PROPERTIES
    IMPORTED_LOCATION ${Jerasure_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${Jerasure_INCLUDE_DIR};${Jerasure_PARTS_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES ${Jerasure_GF_LIBRARY})
endif()
