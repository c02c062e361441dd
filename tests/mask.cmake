add_library(tessera_test_predicates STATIC ${CMAKE_CURRENT_SOURCE_DIR}/dsl/mask/catalogue.cpp)
target_include_directories(tessera_test_predicates PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(tessera_test_predicates PUBLIC tessera_mask PRIVATE tessera_options)

file(GLOB mask_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/dsl/mask/*_test.cpp)
tessera_test(mask_test unit SOURCES ${mask_tests} DEPENDS tessera_mask tessera_test_predicates)
