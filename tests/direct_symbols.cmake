# usage: cmake -DNM=nm -DLIBRARY=libtrine_direct.so -P direct_symbols.cmake
# The solves are trine's own: fails when the library refers to a solve of CHOLMOD, KLU, SuperLU or UMFPACK, but for the
# one of each that TRINE_SOLVER_LIBRARY calls.
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
foreach(used cholmod_l_factorize klu_factor dgstrf umfpack_dl_numeric trine_triangular_solve trine_supernodal_solve) # else the pattern below proves nothing
  if(NOT symbols MATCHES "U ${used}")
    message(FATAL_ERROR "${LIBRARY} does not refer to ${used}:\n${symbols}")
  endif()
endforeach()
string(REGEX MATCHALL "U (cholmod_[a-z0-9_]*solve[a-z0-9_]*|umfpack_[a-z_]*solve[a-z_]*|klu_[a-z_]*solve[a-z_]*|[sdcz]gs(trs|sv|svx|rfs|con)|sp_[sdcz]trsv)" solves "${symbols}")
list(REMOVE_ITEM solves "U cholmod_solve2" "U cholmod_l_solve2" "U klu_solve" "U klu_tsolve" "U klu_z_solve" "U klu_z_tsolve" "U umfpack_dl_solve"
  "U umfpack_zl_solve")
if(solves)
  message(FATAL_ERROR "${LIBRARY} refers to ${solves}")
endif()
