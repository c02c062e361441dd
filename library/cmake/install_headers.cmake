cmake_minimum_required(VERSION 3.25)
# Run by the installation: copies the public headers, each to where <tessera/...> finds it.
include(${CMAKE_CURRENT_LIST_DIR}/public_headers.cmake)
public_headers(headers ${TESSERA_SOURCE})
foreach(header ${headers})
  string(REGEX REPLACE "^library/public/" "" place ${header})
  get_filename_component(folder ${TESSERA_HEADERS}/${place} DIRECTORY)
  file(INSTALL ${TESSERA_SOURCE}/${header} DESTINATION ${folder})
endforeach()
