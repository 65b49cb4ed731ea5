# KLU by header and library: target KLU::KLU.
include(${CMAKE_CURRENT_LIST_DIR}/find_header_and_library.cmake)
find_header_and_library(KLU klu.h klu)
