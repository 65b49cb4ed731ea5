# SuiteSparse as far as trine_direct uses it: target CHOLMOD::CHOLMOD (CHOLMOD, COLAMD, BTF), by header and library:
# distributions ship no package files with it.
find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
set(_required CHOLMOD_INCLUDE_DIR)
foreach(_name cholmod colamd btf suitesparseconfig)
  find_library(CHOLMOD_${_name}_LIBRARY ${_name})
  list(APPEND _required CHOLMOD_${_name}_LIBRARY)
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CHOLMOD REQUIRED_VARS ${_required})
mark_as_advanced(${_required})
if(CHOLMOD_FOUND AND NOT TARGET CHOLMOD::CHOLMOD)
  add_library(CHOLMOD::CHOLMOD INTERFACE IMPORTED)
  set_target_properties(CHOLMOD::CHOLMOD PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CHOLMOD_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES
      "${CHOLMOD_cholmod_LIBRARY};${CHOLMOD_colamd_LIBRARY};${CHOLMOD_btf_LIBRARY};${CHOLMOD_suitesparseconfig_LIBRARY}")
endif()
