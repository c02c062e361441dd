# What is installed: libtessera (all parts but LLVM's) and libtessera_emit, the public headers, and the package that
# find_package(Tessera) finds. Both libraries export the project's public names alone.
include(CMakePackageConfigHelpers)

set(parts tessera_ir tessera_mask tessera_passes tessera_lang tessera_backend tessera_runtime tessera_library)
foreach(part ${parts})
  list(APPEND part_objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(tessera SHARED ${part_objects})
set_target_properties(tessera PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH "$ORIGIN")
target_link_libraries(tessera PRIVATE tessera_emit fmt::fmt Threads::Threads ${CMAKE_DL_LIBS}
                      $<BUILD_INTERFACE:tessera_options>)
target_include_directories(tessera INTERFACE $<BUILD_INTERFACE:${TESSERA_INCLUDE}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(tessera INTERFACE cxx_std_20)
add_library(Tessera::tessera ALIAS tessera)

# What is public in the library is marked TESSERA_API. The language's templates live in a user's program and call these
# parts as a whole, so all their names are visible to the linker; exports.map says which of them leave it.
set_target_properties(tessera_ir tessera_mask tessera_lang PROPERTIES CXX_VISIBILITY_PRESET default)

function(export_names library map)
  target_link_options(${library} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${map}
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()
export_names(tessera ${CMAKE_CURRENT_LIST_DIR}/exports.map)
export_names(tessera_emit ${CMAKE_CURRENT_LIST_DIR}/exports_emit.map)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
install(TARGETS tessera tessera_emit EXPORT TesseraTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package})
if(TARGET tessera_cli)
  set_target_properties(tessera_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tessera_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TesseraConfig.cmake.in ${PROJECT_BINARY_DIR}/TesseraConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TesseraConfig.cmake ${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package})

install(CODE "set(TESSERA_SOURCE \"${PROJECT_SOURCE_DIR}\")
set(TESSERA_HEADERS \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/tessera\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake)
