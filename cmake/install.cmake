# What `cmake --install` gives: headers, libraries, find_package(trine), pkg-config. Everything in it is relative to the
# prefix, so that an installed tree may be moved.
include(CMakePackageConfigHelpers)
set(trine_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/trine)

install(TARGETS trine EXPORT trineTargets)
if(TRINE_HAVE_CUDA) # its functions are in such a library alone
  install(FILES include/tridigpu.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(DIRECTORY include/trine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "direct.h" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT trineTargets NAMESPACE trine:: DESTINATION ${trine_package_dir})

# lib/pkgconfig/trine.pc -> the way back to the prefix.
cmake_path(SET trine_pc_dir NORMALIZE "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH trine_pc_dir BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE trine_pc_from_prefix)
string(REGEX REPLACE "[^/]+" ".." trine_prefix_from_pc ${trine_pc_from_prefix})
function(trine_pkg_config name)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
# What a static library leaves to the program; of CUDA's runtime the static one, in its folder.
set(trine_pc_libs "")
set(trine_direct_pc_libs "")
if(NOT BUILD_SHARED_LIBS)
  set(trine_pc_libs " ${OpenMP_C_FLAGS} -lz -lm")
  if(TRINE_HAVE_CUDA)
    string(APPEND trine_pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -lrt -lpthread -ldl")
  endif()
  set(trine_direct_pc_libs " -lumfpack -lklu -lcholmod -lcolamd -lbtf -lsuitesparseconfig -lsuperlu -lm")
endif()
trine_pkg_config(trine)

# The optional second library keeps its targets in a file of their own: it is there or it is not.
if(TRINE_HAVE_DIRECT)
  set_target_properties(trine_direct PROPERTIES EXPORT_NAME direct)
  install(TARGETS trine_direct EXPORT trineDirectTargets)
  install(FILES include/trine/direct.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trine)
  install(EXPORT trineDirectTargets NAMESPACE trine:: DESTINATION ${trine_package_dir})
  trine_pkg_config(trine-direct)
  if(NOT BUILD_SHARED_LIBS)
    install(FILES cmake/FindCHOLMOD.cmake cmake/FindKLU.cmake cmake/FindSuperLU.cmake cmake/FindUMFPACK.cmake
      cmake/find_header_and_library.cmake DESTINATION ${trine_package_dir})
  endif()
endif()

configure_package_config_file(cmake/trineConfig.cmake.in ${PROJECT_BINARY_DIR}/trineConfig.cmake INSTALL_DESTINATION ${trine_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/trineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/trineConfig.cmake ${PROJECT_BINARY_DIR}/trineConfigVersion.cmake DESTINATION ${trine_package_dir})
