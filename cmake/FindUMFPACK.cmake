# UMFPACK by header and library: target UMFPACK::UMFPACK.
include(${CMAKE_CURRENT_LIST_DIR}/find_header_and_library.cmake)
find_header_and_library(UMFPACK umfpack.h umfpack)
